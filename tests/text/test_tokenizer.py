"""Raw text -> tokens that know their place."""

import sys
import time
from itertools import chain

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tagkit.text.tokenizer import TOKENIZERS, Token, lacks_blanks, split_multilingual, tokenize

WHITE_SPACE = "".join(filter(str.isspace, map(chr, range(sys.maxunicode + 1))))
# What tokenizers trip on: apostrophes, hyphens of all kinds, marks that combine, controls,
# case mappings that change the length, lone surrogates, white space that is none in ASCII.
odd = st.text(
    alphabet="ab.A1-_'’n’t ’‐‑–—\u00ad\u200b\u200d\u0301 \n\r\t\x00\x1c\x85\xa0\u2028\u3000"
    "?!()…/@:,\ud800😀ßİﬁ日;#&\ufeff"
)
contractions = st.lists(
    st.sampled_from(["don't", "can’t", "n't", "Dr.", "e.g.", "-", "--", "x-ray", "U.S.", "a_b"])
    | st.sampled_from(["..", "http://a.b/c-d_e", "@me", "3,5", "I'm", " ", "  ", "\n", "\n\n"])
).map("".join)


@settings(max_examples=500)
@given(st.text() | odd | contractions)
@example("")
@example("\u00ad-\u00ad")
@example("cannot don't o’clock")
def test_tokens_are_the_text_between_their_offsets_and_leave_out_only_white_space(
    text: str,
) -> None:
    covered = [0] * len(text)
    end = 0
    for sentence in tokenize(text):
        assert sentence
        for token in sentence:
            assert token.text
            assert text[token.start : token.end] == token.text
            assert token.start >= end
            end = token.end
            for place in range(token.start, token.end):
                covered[place] += 1
    for char, count in zip(text, covered, strict=True):
        assert count == (0 if char.isspace() else 1)


@given(st.text(alphabet=WHITE_SPACE))
def test_a_blank_text_has_no_sentences(text: str) -> None:
    assert tokenize(text) == []


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("blank", WHITE_SPACE, ids=ascii)
def test_white_space_of_every_kind_separates_tokens_and_is_in_none(name: str, blank: str) -> None:
    for left, right in (
        ("Oslo", "Rome"),
        ("我", "你"),
        ("né", "e\u0301"),
        ("don", "'t"),
        ("x", "-"),
    ):
        text = f"{blank}{left}{blank}{blank}{right}{blank}"
        start = 3 + len(left)
        tokens = [token for sentence in TOKENIZERS[name](text) for token in sentence]
        sides = [[each for each in tokens if (each.start < start) == is_left] for is_left in (1, 0)]
        for side, word, place in zip(sides, (left, right), (1, start), strict=True):
            assert "".join(token.text for token in side) == word
            assert (side[0].start, side[-1].end) == (place, place + len(word))
        if name != "characters":
            assert len(sides[0]) == 1


def words(text: str) -> list[list[str]]:
    return [[token.text for token in sentence] for sentence in tokenize(text)]


def test_punctuation_stands_alone_and_sentences_are_parted() -> None:
    assert words("Any flight from Oslo to São Paulo? No, none.") == [
        ["Any", "flight", "from", "Oslo", "to", "São", "Paulo", "?"],
        ["No", ",", "none", "."],
    ]


def test_nothing_is_rewritten() -> None:
    assert "".join(words("It isn't a well-known e-mail_address.")[0]) == (
        "Itisn'tawell-knowne-mail_address."
    )


def test_what_syntok_leaves_out_is_a_token_of_its_sentence() -> None:
    assert words("\u200bHi\u200b!\u200b") == [["\u200b", "Hi", "\u200b", "!", "\u200b"]]
    assert words("\u200b") == [["\u200b"]]


def test_offsets_count_code_points() -> None:
    assert tokenize("😀  né à") == [
        [Token("😀", 0, 1), Token("né", 3, 5), Token("à", 6, 7)],
    ]


@pytest.mark.parametrize("piece", ["a", "a-", ".", "-", "aB", "n't", "a.", "1,"])
def test_long_words_take_no_long_time(piece: str) -> None:
    text = piece * (10_000 // len(piece))
    start_s = time.perf_counter()
    sentences = tokenize(text)
    assert time.perf_counter() - start_s < 5
    assert "".join(token.text for tokens in sentences for token in tokens) == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Un cafe\u0301s noir.", ["Un", "cafe\u0301s", "noir", "."]),
        ("E\u0301COLE", ["E\u0301COLE"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("\u0301 a", ["\u0301", "a"]),
    ],
)
def test_combining_marks_stay_with_their_letters(text: str, words: list[str]) -> None:
    assert [token.text for sentence in tokenize(text) for token in sentence] == words


@pytest.mark.parametrize("name", ["multilingual", "syntok"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I \u2764\ufe0f you", ["I", "\u2764\ufe0f", "you"]),
        ("\u2600\ufe0f", ["\u2600\ufe0f"]),
        ("sun \u2600\ufe0f.", ["sun", "\u2600\ufe0f", "."]),
        ("Oslo\u2764\ufe0f!", ["Oslo", "\u2764\ufe0f", "!"]),
        ("\u2764\ufe0f\u2764\ufe0f", ["\u2764\ufe0f", "\u2764\ufe0f"]),
        ("\u2764\ufe0fOslo", ["\u2764\ufe0f", "Oslo"]),
        ("\u2764\ufe0foslo", ["\u2764\ufe0f", "oslo"]),
        ("No!\u20e3", ["No", "!\u20e3"]),
        ("I\u2764\ufe0fyou", ["I\u2764\ufe0fyou"]),
        ("\u2764\ufe0fa\u2764\ufe0f", ["\u2764\ufe0f", "a", "\u2764\ufe0f"]),
        ("x-\u0301 a \u0301b", ["x", "-\u0301", "a", "\u0301b"]),
    ],
)
def test_marks_stay_with_a_symbol_too(name: str, text: str, words: list[str]) -> None:
    tokens = [token for sentence in TOKENIZERS[name](text) for token in sentence]
    assert [token.text for token in tokens] == words


@given(
    st.lists(
        st.sampled_from(
            ["\u2764\ufe0f", "\u2600\ufe0f", "(\u0301", ".\ufe0f", "1\u20e3", "\u3002\u0301"]
        )
        | st.sampled_from(["a", "B", " ", "!", "\u6211", "don't", "-", "...", "\u2764"])
    ).map("".join)
)
def test_no_token_begins_with_a_mark_of_the_character_before_it(text: str) -> None:
    edges = {cluster.start() for cluster in regex.finditer(r"\X", text)}
    for split in (tokenize, split_multilingual):
        assert all(token.start in edges for sentence in split(text) for token in sentence)


# Scripts with and without blanks, their marks and ends, and what joins and modifies.
mixed = st.text(
    alphabet="aB1.' !?()\n我是学。！？「」、，（）ーァアｱﾞ々〆ก\u0e31\u0e33เ๑ក្ខែ។က\u1039န်ာ။ກ\u0eb3"
    "한한\u0905\u094d\u200b\u200c\u200d\ufe0f\U000e0100👨👩🏽🇩🇪\u0301\u3099"
)
JOINED = regex.compile("[\u200d\U0001f1e6-\U0001f1ff]")
planes = st.text(alphabet=st.characters(exclude_categories=["Cs"]))
BOTH = (split_multilingual, tokenize)
SAME_AS_SYNTOK = regex.compile(
    r"[^\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tai_Le}"
    r"\p{New_Tai_Lue}\p{Tai_Tham}\p{Tai_Viet}。｡！？\u3006\u303c\u30fc\uff70"
    r"।॥۔؟։።፧'\u2019\xad\u200d\U0001f1e6-\U0001f1ff\U000e0020-\U000e007f]*"
)


@given(mixed | planes)
def test_characters_are_grapheme_clusters_in_the_sentences_of_multilingual(text: str) -> None:
    found = TOKENIZERS["characters"](text)
    whole = split_multilingual(text)
    assert [(each[0].start, each[-1].end) for each in found] == [
        (each[0].start, each[-1].end) for each in whole
    ]
    for sentence in found:
        assert all(len(regex.findall(r"\X", token.text)) == 1 for token in sentence)


@pytest.mark.parametrize("name", TOKENIZERS)
@settings(max_examples=200)
@given(text=mixed | planes | odd | st.lists(mixed | contractions, max_size=4).map("".join))
@example(text="❤\u103a\u200d❤\u1019")  # a joiner behind a mark, with an emoji before them
@example(text="\u0301我\u0301\u0301a\u0301")
def test_every_tokenizer_covers_all_but_white_space_in_order(name: str, text: str) -> None:
    end = 0
    for sentence in TOKENIZERS[name](text):
        assert sentence
        for token in sentence:
            assert token.text
            assert text[token.start : token.end] == token.text
            assert text[end : token.start].strip() == ""
            assert token.start >= end
            end = token.end
    assert text[end:].strip() == ""


@settings(max_examples=300)
@given(planes | odd | contractions)
def test_multilingual_has_the_tokens_of_syntok_where_scripts_have_blanks(text: str) -> None:
    if SAME_AS_SYNTOK.fullmatch(text):
        found, expected = ([*chain.from_iterable(split(text))] for split in BOTH)
        assert found == expected
        # Sentences go on where syntok ends them, and end nowhere else.
        starts, of_syntok = ({sentence[0].start for sentence in split(text)} for split in BOTH)
        assert starts <= of_syntok


@given(planes | mixed | st.text(alphabet="👨🏽⚕\ufe0f\u200d🇩🇪🇫a .!"))
def test_a_token_divides_a_grapheme_cluster_at_the_end_of_a_sentence_at_most(text: str) -> None:
    if JOINED.search(text):
        edges = {cluster.start() for cluster in regex.finditer(r"\X", text)}
        for sentence in split_multilingual(text):
            assert all(
                token.start in edges or text[token.start - 1].isspace() for token in sentence[1:]
            )


@given(st.text(alphabet="ก\u0e31\u0e33ເກ\u0eb3ក\u17d2ែက\u1039\u103a\u102fかﾞｶ\u3099我\U000e0100"))
def test_no_grapheme_cluster_is_parted(text: str) -> None:
    text = f"我{text}"  # a voicing mark wants something before it
    edges = {cluster.start() for cluster in regex.finditer(r"\X", text)}
    for sentence in split_multilingual(text):
        assert all(token.start in edges for token in sentence)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我是学生。他是老师！真的？是。", "我 是 学 生 。|他 是 老 师 ！|真 的 ？|是 。"),
        ("iPhone手机2024年3月。", "i Phone 手 机 2024 年 3 月 。"),
        ("「好。」他说（笑）：“对！”走", "「 好 。 」|他 说 （ 笑 ） ： “ 对 ！ ”|走"),
        ("コーヒーを買う。", "コ ー ヒ ー を 買 う 。"),
        ("東京タワー(Tokyo)へ行く", "東 京 タ ワ ー ( Tokyo ) へ 行 く"),
        ("สวัสดี ครับ", "ส วั ส ดี ค รั บ"),
        ("น้ำ ๓.๕", "น้ำ ๓.๕"),
        ("ខ្មែរ ស្អាត។ បាទ", "ខ្មែ រ ស្អា ត ។|បា ទ"),
        ("မြန်မာစကား။ ဟုတ်", "မြ န် မာ စ ကား ။|ဟု တ်"),
        ("ພາສາ", "ພ າ ສ າ"),
        ("I like 東京. It is big.", "I like 東 京 .|It is big ."),
        ("你好!我是谁?", "你 好 !|我 是 谁 ?"),
        ("Hello。World", "Hello 。|World"),
        ("한국어는 있다. 그렇다.", "한국어는 있다 .|그렇다 ."),
        ("大韓民國은 나라다", "大 韓 民 國 은 나라다"),
        ("葛\U000e0100城 👩\u200d🚀", "葛\U000e0100 城 👩\u200d🚀"),
        ("好👩\u200d🚀……", "好 👩\u200d🚀 ……"),
    ],
)
def test_scripts_without_blanks_are_tokenised_by_letters(text: str, expected: str) -> None:
    found = [" ".join(token.text for token in tokens) for tokens in split_multilingual(text)]
    assert "|".join(found) == expected


@pytest.mark.parametrize("name", ["multilingual", "syntok"])
@pytest.mark.parametrize(
    "piece", ["a", "\u0301", "我", "ก\u0e31", "ក\u17d2", "。", "「", "\u200d", "a\u0301我", "(我"]
)
def test_time_grows_with_the_length_alone(name: str, piece: str) -> None:
    text = piece * (20_000 // len(piece))
    start_s = time.perf_counter()
    sentences = TOKENIZERS[name](text)
    assert time.perf_counter() - start_s < 5
    assert "".join(token.text for tokens in sentences for token in tokens) == text


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["a", "\u0301", "a\u0301", "1,", "é", "가", "ក\u17d2"])
def test_a_word_of_three_million_characters_is_tokenised_in_seconds(piece: str) -> None:
    text = piece * (3_000_000 // len(piece))
    start_s = time.perf_counter()
    sentences = split_multilingual(text)
    assert time.perf_counter() - start_s < 20
    assert "".join(token.text for tokens in sentences for token in tokens) == text


@pytest.mark.parametrize("text", ["我", "a 北京", "コーヒー", "สวัสดี"])
def test_scripts_without_blanks_are_told_by_their_letters(text: str) -> None:
    assert lacks_blanks(text)


@pytest.mark.parametrize(
    "text", ["Oslo", "São Paulo", "यह है।", "هل هذا؟", "Սա է։", "서울", "。", ""]
)
def test_scripts_with_blanks_have_them_whatever_ends_a_sentence(text: str) -> None:
    assert not lacks_blanks(text)


def words_joined(text: str) -> str:
    """Tokens with blanks between them, sentences with bars."""
    found = split_multilingual(text)
    return "|".join(" ".join(token.text for token in sentence) for sentence in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Elisions: French, Italian, Catalan. The apostrophe belongs to the word before it.
        ("Le frère d'Olivier vit à l’école.", "Le frère d' Olivier vit à l’ école ."),
        ("l'e\u0301cole, cafe\u0301'x", "l' e\u0301cole , cafe\u0301' x"),
        ("C'è dell'Italia", "C' è dell' Italia"),
        ("rock'n'roll", "rock' n' roll"),
        # English contractions stay as they are.
        ("Ann's I'm he'd we'll don't", "Ann 's I 'm he 'd we 'll do n't"),
        ("they’ve you’re", "they ’ve you ’re"),
        ("O'Brien left at five o’clock", "O'Brien left at five o’clock"),
        ("the dogs' 5'10", "the dogs ' 5'10"),
        # Cyrillic: a letter like others.
        ("п'ять об’єктів", "п'ять об’єктів"),
        # Emoji of several parts, and soft hyphens.
        ("👨‍⚕️ 🇫🇷🇩🇪 a", "👨‍⚕️ 🇫🇷🇩🇪 a"),
        ("in\xadter\xadest \xad x\xad", "in\xadter\xadest \xad x \xad"),
    ],
)  # fmt: skip
def test_words_have_what_belongs_to_them(text: str, expected: str) -> None:
    assert words_joined(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Am 17. Juni kam er. Dann", "Am 17 . Juni kam er .|Dann"),
        ("Der 2. Weltkrieg", "Der 2 . Weltkrieg"),
        ("He was 17. Then he left.", "He was 17 .|Then he left ."),
        ("En EE. UU. vive", "En EE . UU . vive"),
        ("He turned it on. Then", "He turned it on .|Then"),
        ("It gives 5 MW. Then", "It gives 5 MW .|Then"),
        ("La S.p.A. di Milano", "La S.p . A . di Milano"),
        ("So it is.Then he left.", "So it is .|Then he left ."),
        ("Il Dott. Rossi", "Il Dott . Rossi"),
        ("ул. Ленина", "ул . Ленина"),
        # Ends of sentences that are no full stop.
        ("यह है। वह है।", "यह है ।|वह है ।"),
        ("یہ ہے۔ وہ ہے۔", "یہ ہے ۔|وہ ہے ۔"),
        ("«هل هذا؟» نعم، هذا", "« هل هذا ؟ »|نعم ، هذا"),
        ("Սա է։ Նա է։", "Սա է ։|Նա է ։"),
        ("ይህ ነው። እሱ", "ይህ ነው ።|እሱ"),
    ],
)
def test_sentences_end_where_they_do(text: str, expected: str) -> None:
    assert words_joined(text) == expected


pieces = st.sampled_from(
    [
        "'",
        "\u2019",
        "d",
        "s",
        "O",
        "п",
        "e\u0301",
        "\xad",
        "👨‍⚕️",
        "🇫🇷",
        ".",
        " ",
        "17",
        "Juni",
        "der",
        "EE",
    ]
)


@given(st.lists(pieces, max_size=12).map("".join))
def test_every_character_but_white_space_is_in_one_token(text: str) -> None:
    tokens = [token for sentence in split_multilingual(text) for token in sentence]
    assert "".join(token.text for token in tokens) == "".join(text.split())
    assert all(token.text and text[token.start : token.end] == token.text for token in tokens)
    assert [token.start for token in tokens] == sorted({token.start for token in tokens})


@pytest.mark.parametrize("piece", ["d'a", "a\xad", "👨‍⚕️", "EE. ", "п'"])
def test_the_time_is_linear_in_the_length(piece: str) -> None:
    def seconds(count: int) -> float:
        taken = []
        for _ in range(3):  # the shortest: other programs may run beside a measurement
            start_s = time.perf_counter()
            split_multilingual(piece * count)
            taken.append(time.perf_counter() - start_s)
        return min(taken)

    assert seconds(8_000) < 40 * max(seconds(1_000), 0.01)
