"""Characters and lines: what nobody means to have in a corpus, and sentences that run on."""

import unicodedata
from collections.abc import Callable, Iterator

from tagkit.errors import TagkitError, shorten
from tagkit.formats.layout import BLANK
from tagkit.formats.lines import STDIN, Source, has_mark
from tagkit.lint.reading import ReadFile, line_of
from tagkit.lint.report import Finding, plural

_INVISIBLE = frozenset("\u00ad\u200b\u200c\u200e\u200f\u2060\ufeff\u180e")
_MOST_KINDS = 10


def check_characters(read: ReadFile) -> Iterator[Finding]:
    """Characters in words that are controls, invisible, private or signs of a wrong encoding."""
    # Distinct words are few; only those that hold something are looked up again.
    distinct = {word for sentence in read.sentences for word in sentence.words}
    odd_words = {word: odd for word in distinct if (odd := {c for c in word if _is_odd(c)})}
    lines: dict[str, list[int]] = {}
    example: dict[str, str] = {}
    if odd_words:
        for sentence in read.sentences:
            for place, word in enumerate(sentence.words):
                for char in odd_words.get(word, ()):
                    lines.setdefault(char, []).append(line_of(sentence, place))
                    example.setdefault(char, word)
    ordered = sorted(lines, key=lambda char: -len(lines[char]))
    for char in ordered[:_MOST_KINDS]:
        yield Finding(
            "warning",
            "odd-character",
            read.path,
            f"U+{ord(char):04X} ({_name(char)}) in "
            f"{plural(len(lines[char]), 'word')} such as {shorten(example[char], 40)}",
            len(lines[char]),
            tuple(lines[char]),
        )
    if rest := ordered[_MOST_KINDS:]:
        numbers = sorted(line for char in rest for line in lines[char])
        message = f"{plural(len(rest), 'more odd character')}"
        yield Finding("warning", "odd-character", read.path, message, len(numbers), tuple(numbers))
    yield from _not_composed(read, distinct)


def _name(char: str) -> str:
    if "\x80" <= char <= "\x9f":
        return "a control character, where Windows-1252 has quotes and dashes: a wrong encoding?"
    return unicodedata.name(char, "a control character")


def _is_odd(char: str) -> bool:
    if char < "\x7f" and char >= " ":  # most characters of most corpora
        return False
    kind = unicodedata.category(char)
    return kind in ("Cc", "Co", "Cn", "Zl", "Zp") or char in _INVISIBLE or char == "\ufffd"


def _not_composed(read: ReadFile, distinct: set[str]) -> Iterator[Finding]:
    """Words whose letters and accents are characters of their own, where one could be."""
    odd = {word for word in distinct if not unicodedata.is_normalized("NFC", word)}
    if not odd:
        return
    lines = [
        line_of(sentence, place)
        for sentence in read.sentences
        for place, word in enumerate(sentence.words)
        if word in odd
    ]
    yield Finding(
        "note",
        "not-NFC",
        read.path,
        f"{plural(len(lines), 'word')} such as {shorten(min(odd), 40)} not in the composed form of "
        f"Unicode (NFC): they are other words than those that look the same",
        len(lines),
        tuple(lines),
    )


def check_lengths(read: ReadFile) -> Iterator[Finding]:
    """Sentences so long that blank lines may be missing in them."""
    if not read.has_tags or not read.sentences:
        return
    lengths = sorted(len(sentence) for sentence in read.sentences)
    usual = lengths[int(0.9 * (len(lengths) - 1))]
    limit = max(200, min(512, 10 * usual))
    long = [sentence for sentence in read.sentences if len(sentence) > limit]
    if long:
        lines = [line_of(sentence, 0) for sentence in long]
        longest = max(len(sentence) for sentence in long)
        yield Finding(
            "warning",
            "long-sentence",
            read.path,
            f"{plural(len(long), 'sentence')} over {limit} tokens, the longest of {longest:,} "
            "(are blank lines missing?)",
            len(long),
            tuple(lines),
        )


_LINES: dict[str, tuple[str, Callable[[str], bool]]] = {
    "crlf": ("with the line end of Windows (CRLF)", lambda line: line.endswith("\r")),
    "blank-separator": (
        "between sentences with blanks or tabs in it",
        lambda line: bool(line.removesuffix("\r")) and not line.strip(BLANK),
    ),
    "trailing-blank": (
        "with blanks or tabs at the end",
        lambda line: line.rstrip("\r").endswith((" ", "\t")) and bool(line.strip(BLANK)),
    ),
}


def check_lines(read: ReadFile, encoding: str) -> Iterator[Finding]:
    """Line ends, blanks and the byte order mark of a column file."""
    if read.format.name not in ("columns", "conllu") or read.path == STDIN:
        return
    lines: dict[str, list[int]] = {}
    number = 0
    try:
        mark = has_mark(read.path)
        for piece in Source(read.path, encoding).pieces():
            for number, line in enumerate(piece, number + 1):  # noqa: B020 - it goes on counting
                if line and line[-1] in BLANK:
                    for kind, (_, holds) in _LINES.items():
                        if holds(line):
                            lines.setdefault(kind, []).append(number)
    except TagkitError:  # which is told of elsewhere
        return
    if mark:
        message = "begins with a byte order mark"
        yield Finding("note", "byte-order-mark", read.path, message, 1, (1,))
    for kind, found in lines.items():
        message = f"{plural(len(found), 'line')} {_LINES[kind][0]}"
        yield Finding("note", kind, read.path, message, len(found), tuple(found))
