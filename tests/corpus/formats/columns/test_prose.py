"""Lines of as many words: sentences of a text, or words with their tags."""

import pytest

from tagkit.corpus.formats.columns.prose import (
    are_tagged,
    are_words,
    is_ended,
    is_long,
    looks_like_prose,
)

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


TAGGED = {
    "spans": ["a B-LOC", "b I-LOC", "c O"],
    "spans without a word outside": ["EU B-NP", "says B-VP", "the B-NP", "budget I-NP"],
    "O alone": ["a O", "b O"],
    "labels in capitals, and punctuation": ["a DT", "b NN", "c NN", "d VB", "e VB", ". ."],
    "tags before another column": ["a NN aa", "b NN bb", "c VB cc"],
    "many labels in lower case": [f"w{n % 20} {'noun verb adj'.split()[n % 3]}" for n in range(40)],
}
UNTAGGED = {
    "names": ["New York", "Los Angeles", "San Diego", "San Jose"],
    "names with the form of tags": ["Take I-95", "Fly B-52", "See U-2", "Take I-95"],
    "a name that comes again": ["New York", "Los Angeles", "San Diego", "East York", "Old York"],
    "Korean": ["서울 부산", "대구 인천", "광주 대전", "울산 부산"],
    "sentences split into tokens": ["hello .", "yes .", "no .", "no ?"],
    "a word in capitals": ["Should I", "Can I", "Must I"],
    "capitals throughout": ["NEW YORK", "LOS ANGELES", "SAN DIEGO", "SAN JOSE"],
    "many requests": [f"{'turn dim switch'.split()[n % 3]} {'on off'.split()[n % 2]}"
                      for n in range(99)],
}  # fmt: skip


@pytest.mark.parametrize("lines", TAGGED.values(), ids=TAGGED)
def test_tags_repeat_each_other_and_words_do_not(lines: list[str]) -> None:
    assert are_tagged([line.split() for line in lines], in_groups=False)


@pytest.mark.parametrize("lines", UNTAGGED.values(), ids=UNTAGGED)
def test_the_last_words_of_short_texts_are_no_tags(lines: list[str]) -> None:
    assert not are_tagged([line.split() for line in lines], in_groups=False)


def test_of_lines_in_groups_fewer_are_enough_for_tags_of_any_letters() -> None:
    lines = "das det|Auto noun|ist verb|neu adj|das det|Haus noun|ist verb|alt adj".split("|")
    rows = [line.split() for line in lines]
    assert are_tagged(rows, in_groups=True)
    assert not are_tagged(rows, in_groups=False)
    for name in ("names", "a name that comes again", "Korean", "a word in capitals"):
        assert not are_tagged([line.split() for line in UNTAGGED[name]], in_groups=True), name


@pytest.mark.parametrize(
    "cell",
    ["Hello!", "Yes.", "好的。", "是。不是", "我要去北京", "コーヒーを買う",
     "สวัสดีครับคุณสบายดีไหม", "नमस्ते।"],
)  # fmt: skip
def test_punctuation_and_many_letters_of_a_script_without_blanks_make_a_text(cell: str) -> None:
    assert is_ended(cell) or is_long(cell)


@pytest.mark.parametrize(
    "cell",
    [
        "Hello",
        "...",
        "。",
        "！？",
        "北京",
        "プログラム"[:4],
        "ประเทศ",
        "3.5",
        "e-mail",
        "서울에서부터",
    ],
)
def test_a_word_and_punctuation_by_itself_are_no_text(cell: str) -> None:
    assert not is_ended(cell)
    assert not is_long(cell)


def test_a_few_words_may_look_like_texts() -> None:
    assert are_words(["U.N.", "official", "left", "John", "came"])
    assert not are_words(["U.N.", "official", "left.", "John", "came"])
    assert are_words([*"abcdefghi", "我要去北京"])
    assert not are_words([*"abcdefgh", "我要去北京"])
