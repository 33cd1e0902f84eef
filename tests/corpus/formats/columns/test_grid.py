"""Lines of as many words: sentences of a text, or words with their tags."""

import pytest

from tagkit.corpus.formats.columns.grid import are_words, looks_like_prose

PROSE = {
    "sentences": ["the cat sat .", "", "is it here ?"],
    "untokenised sentences": ["The cat sat.", "A dog ran!"],
    "lines without an end": [f"the {word} is {word}er" for word in map(chr, range(97, 123))]
    + [f"we saw a{letter}" for letter in "bcde"],
}
COLUMNS = {
    "tags of a short sentence": ["the DT", "cat NN", "sat VBD", ". ."],
    "one full stop": [". ."],
    "labels in lower case": [f"{word} {tag}" for word in "abcdefgh" for tag in "xyzv"],
    "a tag for each token of a long sentence": [f"w{number} TAG{number}" for number in range(40)],
    "nothing": [],
}  # fmt: skip


@pytest.mark.parametrize("lines", PROSE.values(), ids=PROSE)
def test_lines_that_end_as_sentences_do_or_with_other_words_are_prose(
    lines: list[str],
) -> None:
    assert looks_like_prose(lines)


@pytest.mark.parametrize("lines", COLUMNS.values(), ids=COLUMNS)
def test_lines_that_end_with_tags_are_not(lines: list[str]) -> None:
    assert not looks_like_prose(lines)


def test_a_few_words_may_look_like_texts() -> None:
    assert are_words(["U.N.", "official", "left", "John", "came"])
    assert not are_words(["U.N.", "official", "left.", "John", "came"])
    assert are_words([*"abcdefghi", "我要去北京"])
    assert not are_words([*"abcdefgh", "我要去北京"])
