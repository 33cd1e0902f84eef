"""Checks of characters that a corpus has by accident, and of sentences without an end."""

import unicodedata
from collections.abc import Iterator
from itertools import pairwise

from tagkit.corpus.lint.file_contents import ReadFile, line_of
from tagkit.corpus.lint.findings import CorpusFinding, Search
from tagkit.text.records import Sentence
from tagkit.wording import plural, quoted

# Joins no letters where it stands, which Persian and Hindi need inside words; elsewhere it is odd.
_NON_JOINER = "\u200c"
# Soft hyphen, zero-width space, marks of direction, word joiner, byte order mark, and the Mongolian
# vowel separator: a word with one of them looks like the word without, and is another one.
_INVISIBLE = frozenset("\u00ad\u200b\u200e\u200f\u2060\ufeff\u180e")
_MOST_KINDS = 10


def check_characters(read: ReadFile) -> Search:
    """Characters in words that are controls, invisible, private or signs of a wrong encoding."""
    # Distinct words are few; only those that hold something are looked for again.
    texts = read.counts.words | read.column.tags.keys() | read.column.classes.keys()
    odd_in = {text: odd for text in texts if (odd := _odd_characters(text))}
    lines: dict[tuple[str, str], list[int]] = {}
    example: dict[tuple[str, str], str] = {}

    def see(sentence: Sentence) -> None:
        for what, text, line in _texts(sentence):
            for char in odd_in.get(text, ()):
                lines.setdefault((char, what), []).append(line)
                example.setdefault((char, what), text)

    def findings() -> Iterator[CorpusFinding]:
        # The commonest first: one wrong encoding produces hundreds of kinds, of which ten tell
        # enough.
        ordered = sorted(lines, key=lambda place: -len(lines[place]))
        for char, what in ordered[:_MOST_KINDS]:
            found = lines[char, what]
            message = f"U+{ord(char):04X} ({_name(char)}) in {plural(len(found), what)} such as "
            message += quoted(example[char, what], 40)
            yield CorpusFinding(
                "warning", "odd-character", read.path, message, len(found), tuple(found)
            )
        if rest := ordered[_MOST_KINDS:]:
            numbers = tuple(sorted(line for place in rest for line in lines[place]))
            message = f"{plural(len({char for char, _ in rest}), 'more odd character')}"
            yield CorpusFinding(
                "warning", "odd-character", read.path, message, len(numbers), numbers
            )

    return Search(findings, see if odd_in else None)


def _name(char: str) -> str:
    # C1 controls, which nobody types: bytes of Windows-1252 that were read as Latin-1.
    if "\x80" <= char <= "\x9f":
        return "a control character, where Windows-1252 has quotes and dashes: a wrong encoding?"
    return unicodedata.name(char, "a control character")


def _odd_characters(word: str) -> set[str]:
    """Those of a word; the non-joiner is one unless it parts letters, as in Persian and Hindi."""
    if word.isascii() and word.isprintable():  # most words of most corpora
        return set()
    odd = {char for char in word if _is_odd(char)}
    if _NON_JOINER in word and not all(
        before and after and _is_letter(before[-1]) and _is_letter(after[0])
        for before, after in pairwise(word.split(_NON_JOINER))
    ):
        odd.add(_NON_JOINER)
    return odd


def _is_letter(char: str) -> bool:
    return char > "\u024f" and unicodedata.category(char)[0] in "LM"  # not of the Latin script


def _is_odd(char: str) -> bool:
    if " " <= char < "\x7f":
        return False
    # Controls, private use, unassigned, line and paragraph separators, and U+FFFD, which decoders
    # put in place of what they cannot read.
    kind = unicodedata.category(char)
    return kind in ("Cc", "Co", "Cn", "Zl", "Zp") or char in _INVISIBLE or char == "\ufffd"


def _texts(sentence: Sentence) -> Iterator[tuple[str, str, int]]:
    """Each word and label, what it is, and its line."""
    for place, word in enumerate(sentence.words):
        yield "word", word, line_of(sentence, place)
    for place, tag in enumerate(sentence.tags or ()):
        yield "label", tag, line_of(sentence, place)
    for label in sentence.labels:
        yield "label", label, line_of(sentence, 0)


def check_twice_encoded(read: ReadFile) -> Search:
    """Words whose bytes were UTF-8 and were read as those of Windows-1252: BelgiÃ« for België."""
    texts = read.counts.words | read.column.tags.keys() | read.column.classes.keys()
    meant = {text: better for text in texts if (better := _read_as_utf8(text))}
    lines: list[int] = []

    def see(sentence: Sentence) -> None:
        lines.extend(line for _, text, line in _texts(sentence) if text in meant)

    def findings() -> Iterator[CorpusFinding]:
        if meant:
            first = min(meant)
            message = (
                f"{plural(len(lines), 'word')} such as {quoted(first, 40)}, which is "
                f"{quoted(meant[first], 40)} if its bytes are read as UTF-8: the text was decoded "
                "wrongly, here or before"
            )
            yield CorpusFinding(
                "warning", "twice-encoded", read.path, message, len(lines), tuple(lines)
            )

    return Search(findings, see if meant else None)


def _read_as_utf8(text: str) -> str:
    """The text that its bytes in Windows-1252 are in UTF-8; empty if they are none."""
    if text.isascii():
        return ""
    try:
        # Five bytes are no characters of Windows-1252; decoders keep them as controls.
        codes = [char if "\x80" <= char < "\xa0" else char.encode("cp1252").decode("latin-1")
                 for char in text]  # fmt: skip
        return "".join(codes).encode("latin-1").decode("utf-8")
    except UnicodeError:
        return ""


def check_composed(read: ReadFile) -> Search:
    """Words whose letters and accents are characters of their own, where one could be."""
    # UAX #15. Both spellings of an accented letter look alike and have different vectors.
    odd = {word for word in read.counts.words if not unicodedata.is_normalized("NFC", word)}
    lines: list[int] = []

    def see(sentence: Sentence) -> None:
        if not odd.isdisjoint(sentence.words):
            for place, word in enumerate(sentence.words):
                if word in odd:
                    lines.append(line_of(sentence, place))

    def findings() -> Iterator[CorpusFinding]:
        if odd:
            yield CorpusFinding(
                "note",
                "not-NFC",
                read.path,
                f"{plural(len(lines), 'word')} such as {quoted(min(odd), 40)} not in the composed "
                f"form of Unicode (NFC): they are other words than those that look the same",
                len(lines),
                tuple(lines),
            )

    return Search(findings, see if odd else None)


def check_lengths(read: ReadFile) -> Search:
    """Sentences so long that blank lines may be missing in them."""
    counts = read.counts
    usual = counts.length_at(int(0.9 * (counts.number - 1)))
    # Ten times the usual length; between 200, as some sentences of the law are that long, and 512,
    # over which tagging goes in windows anyway.
    limit = max(200, min(512, 10 * usual))
    longest = max(counts.lengths)
    is_odd = read.has_tags and longest > limit
    lines: list[int] = []

    def see(sentence: Sentence) -> None:
        if len(sentence) > limit:
            lines.append(line_of(sentence, 0))

    def findings() -> Iterator[CorpusFinding]:
        if is_odd:
            yield CorpusFinding(
                "warning",
                "long-sentence",
                read.path,
                f"{plural(len(lines), 'sentence')} over {limit} tokens, the longest of "
                f"{longest:,} (are blank lines missing?)",
                len(lines),
                tuple(lines),
            )

    return Search(findings, see if is_odd else None)
