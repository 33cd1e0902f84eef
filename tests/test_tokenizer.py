"""Raw text -> tokens that know their place."""

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tagkit.tokenizer import Token, tokenize

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
        assert count == 1 or (count == 0 and char.isspace())


@given(st.text(alphabet=" \t\n\r\x0b\x0c\x85\xa0\u2003\u2028"))
def test_a_blank_text_has_no_sentences(text: str) -> None:
    assert tokenize(text) == []


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
