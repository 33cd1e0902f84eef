"""Lines of as many words: sentences of a text, or words with their tags."""

import pytest

from tagkit.corpus.formats.columns.prose import are_tagged, are_words, looks_like_prose

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
    "labels in capitals, and punctuation": [
        "a DT",
        "b NN",
        "c NN",
        "d VB",
        "e VB",
        ". .",
        "f NN",
        "g VB",
    ],
    "tags before another column": ["a NN aa", "b NN bb", "c VB cc", "d VB dd"],
    "labels of any letters": [
        "das det",
        "Auto noun",
        "ist verb",
        "neu adj",
        "das det",
        "Haus noun",
        "ist verb",
        "alt adj",
    ],
}
UNTAGGED = {
    "names": ["New York", "Los Angeles", "San Diego", "San Jose"],
    "a name that comes again": ["New York", "Los Angeles", "San Diego", "East York", "Old York"],
    "Korean": ["서울 부산", "대구 인천", "광주 대전", "울산 부산"],
    "a word in capitals": ["Should I", "Can I", "Must I"],
    "many requests": [f"{'turn dim switch'.split()[n % 3]} {'on off up'.split()[n // 3 % 3]}"
                      for n in range(99)],
}  # fmt: skip


def test_tags_repeat_each_other_and_words_do_not() -> None:
    for lines in TAGGED.values():
        assert are_tagged([line.split() for line in lines]), lines
    for lines in UNTAGGED.values():
        assert not are_tagged([line.split() for line in lines]), lines


def test_punctuation_and_many_letters_of_a_script_without_blanks_make_a_text() -> None:
    for text in ("Hello!", "Yes.", "好的。", "是。不是", "我要去北京", "コーヒーを買う",
                 "สวัสดีครับคุณสบายดีไหม", "नमस्ते।"):  # fmt: skip
        assert not are_words([text] * 3), text
    for word in ("Hello", "...", "。", "！？", "北京", "プログ", "ประเทศ", "3.5", "e-mail",
                 "서울에서부터"):  # fmt: skip
        assert are_words([word] * 3), word
    # A few words may look like texts.
    assert are_words(["U.N.", "official", "left", "John", "came"])
    assert not are_words(["U.N.", "official", "left.", "John", "came"])
    assert are_words([*"abcdefghi", "我要去北京"])
    assert not are_words([*"abcdefgh", "我要去北京"])
