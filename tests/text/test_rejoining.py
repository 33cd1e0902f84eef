"""Words and sentences of languages that syntok has no rules for."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagkit.text.tokenizer import split_multilingual


def words(text: str) -> str:
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
    assert words(text) == expected


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
    assert words(text) == expected


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
        start_s = time.perf_counter()
        split_multilingual(piece * count)
        return time.perf_counter() - start_s

    seconds(100)
    assert seconds(8_000) < 40 * max(seconds(1_000), 0.01)
