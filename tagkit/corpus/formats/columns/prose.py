"""Whether lines of as many words are texts, and not rows of words with their tags.

A column file without a blank line between sentences has the shape of such a text, and short texts
with a blank line between some of them have that of a column file. What the lines end with
distinguishes the two, where there is enough of it.
"""

from collections.abc import Sequence

import regex

from tagkit.text.schemes import OUTSIDE, is_span_tag, split_tag

_SENTENCE_ENDS = ".?!"
# The tags of a sentence this long repeat each other, in the finest of usual tag sets as well.
_ENOUGH_LINES = 30
_LOOKED_AT = 300  # lines: in more of them the words of a small subject repeat each other too
# A letter of the scripts without blanks between words, and how many of them a word may have: nine
# of ten Chinese and Japanese words have four at most. Marks are not counted.
_LONG = (
    (regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}]"), 4),
    (regex.compile(r"(?=\p{L})[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"), 10),
)
# Punctuation behind a word, or between two words without a blank. "Mr." is one as well, but few
# words of a text are.
_ENDS = frozenset(".?!,;:…।。！？，、；：")
_BETWEEN = regex.compile(r"[。！？，；：]\w")


def looks_like_prose(lines: Sequence[str]) -> bool:
    """Whether the last words of these lines are no tags.

    Nine of ten end as a sentence does; or most are in lower case, and more than half of them are
    different. In doubt they are tags.
    """
    last = [words[-1] for line in lines if (words := line.split())]
    ends = sum(word[-1] in _SENTENCE_ENDS for word in last)
    if len(last) > 1 and 10 * ends >= 9 * len(last):
        return True
    lower = sum(word.islower() for word in last)
    return len(last) >= _ENOUGH_LINES and 2 * len(set(last)) > len(last) and 2 * lower > len(last)


def is_ended(cell: str) -> bool:
    """Whether a line without blanks ends with punctuation behind a word, as "Yes." and "Mr." do."""
    return cell[-1:] in _ENDS and any(map(str.isalnum, cell))


def is_long(cell: str) -> bool:
    """Whether a line of a script without blanks is more than a word."""
    if cell.isascii():
        return False
    return bool(_BETWEEN.search(cell)) or any(len(one.findall(cell)) > n for one, n in _LONG)


def are_words(cells: Sequence[str]) -> bool:
    """Whether lines without blanks are words, but for a few, and not texts."""
    # Of a few tokens, abbreviations and initials may be a good part.
    return 10 * sum(map(is_long, cells)) <= len(cells) >= 3 * sum(map(is_ended, cells))


def are_tagged(rows: Sequence[Sequence[str]], *, in_groups: bool) -> bool:
    """Whether lines of as many words are those of a column file, and not short texts.

    Tags repeat each other more than the words do. In doubt there are none.

    Args:
        rows: the lines as words.
        in_groups: whether they are in groups with blank lines between them, as sentences are.
    """
    columns = list(zip(*rows, strict=True))
    varied = max(len({*column}) for column in columns)  # as words are, after a number or before
    if in_groups and _repeat_half(columns[0], columns[-1]):
        return True
    return _repeat_often(columns[0], columns[-1]) or any(
        _are_labels(column, varied) for column in columns[1:]
    )


def _are_labels(tags: Sequence[str], varied: int) -> bool:
    """Whether a column holds tags of spans, or labels in capitals.

    Args:
        tags: the column.
        varied: number of different words.
    """
    spans = [tag for tag in tags if is_span_tag(tag)]
    if 10 * len(spans) >= 9 * len(tags):
        labels = [split_tag(tag)[1] for tag in spans if tag != OUTSIDE]
        # I-95 and B-52 are names.
        if 10 * sum(any(map(str.isalpha, label)) for label in labels) < 9 * len(labels):
            return False
        return len(labels) < len(spans) or _repeat(labels, varied)
    # As NN and PRP$ are written, and punctuation; one alone may be a word, such as I.
    capitals = {tag for tag in tags if tag.isupper()}
    are_capitals = 10 * sum(tag == tag.upper() for tag in tags) >= 9 * len(tags)
    named = sum(map(capitals.__contains__, tags))
    return are_capitals and len(capitals) > 1 and 2 * named > len(tags) and _repeat(tags, varied)


def _repeat(labels: Sequence[str], varied: int) -> bool:
    """Whether at most two of three labels are different, and fewer than words are."""
    kinds = len({*labels})
    return 3 * kinds <= 2 * len(labels) and kinds < varied


def _repeat_half(words: Sequence[str], tags: Sequence[str]) -> bool:
    """Whether of tags, of any letters, at most every second one is new, and of words more are."""
    kinds, of_words = len({*tags}), len({*words})
    return 1 < kinds < of_words and 2 * kinds <= len(tags)


def _repeat_often(words: Sequence[str], tags: Sequence[str]) -> bool:
    """Whether there are enough tags, of any letters, and at most one in five of them is new."""
    words, tags = words[:_LOOKED_AT], tags[:_LOOKED_AT]
    kinds, of_words = len({*tags}), len({*words})
    varied = kinds < of_words and 3 * of_words >= len(words)
    return len(tags) >= _ENOUGH_LINES and varied and 5 * kinds <= len(tags)
