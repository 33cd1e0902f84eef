"""Alterations of texts, of values of JSON, and of bytes."""

import gzip
import json
from random import Random
from typing import Any

# Combining marks, directions, joiners, spaces that are none, line ends that are none, marks of
# byte order, halves of surrogate pairs, escape sequences, what a parser may take for its own.
ODD = (
    "\u0301", "e\u0301", "\u202e", "\u2066", "\u200d", "\u200b", "\u00ad", "\ufeff", "\x00", "\r",
    "\x85", "\xa0", "\u2028", "\u2029", "\x0b", "\x0c", "\x1b[31m", "\x1b]0;x\x07", "\x7f", "\x9b",
    "\x1c", "\ud800", "\udfff", "\ufffd", "\uffff", "\U0010ffff", "🧑🏽", "👩\u200d💻", "日本",
    "ไทย",
    "नमस्ते", "ﷺ", "ß", "İ", "ſ", "Ⅷ", "²", "٣", "१", "½", "", " ", "  ", "\t", "\n", "\n\n", "\r\n",
    ":pear:", ":+1:", "[bold]", "[/]", "{}", "%s", "\\", "\\/", "\\n", "/", "//", "|", "_", "-",
    "--",
    "#", "# text = ", '"', '""', "'", ",", ";", ":", "=", "(", ")", "((", "))", "<", "&amp;",
    "-LRB-",
    "-DOCSTART-", "__label__", "__label__x ", "O", "B-", "-X", "B-X", "I-X", "E-X", "S-X", "M-X",
    "L-X",
    "U-X", "B", "I", "B--", "null", "true", "NaN", "Infinity", "-Infinity", "1e999", "-1", "0",
    "00",
    "1-2", "1.1", "2-1", "1-", "-2", "1-99999999999999999999", "99999999999999999999", "9" * 30,
    "0.5", "1_000", "+1", "0x10", "nan", "inf", "text", "label", "T1", "R1", "..", ".", "/x/y",
)  # fmt: skip
_SEPARATORS = ("\t", " ", ",", "/", ":", "|", "-", "(", ")", '"', "=", ";", "_")
ENCODINGS = (
    "utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "shift_jis",
    "gb18030", "koi8-r", "utf-7", "ascii", "big5", "iso2022_jp",
)  # fmt: skip
# Those that read what is no text into text: half surrogate pairs, escapes, other alphabets.
ODD_ENCODINGS = (
    "unicode_escape", "raw_unicode_escape", "idna", "utf-16-be", "utf-32-be", "hz", "cp037",
    "cp932", "euc_kr", "ptcp154",
)  # fmt: skip
_WORDS = (
    "Ada",
    "visits",
    "Oslo",
    ".",
    "New",
    "York",
    "likes",
    "tea",
    "don't",
    "U.S.",
    "3,000",
    "a-b",
)


def odd(rng: Random) -> str:
    """A string that may be taken for something else; now and then a long one."""
    kind = rng.random()
    if kind < 0.9:
        return rng.choice(ODD)
    if kind < 0.96:
        return chr(rng.choice((rng.randrange(0xD800), rng.randrange(0xE000, 0x110000))))
    return rng.choice(
        ("a", "日", "\u0301", "(", "[", "{", "9", "x ", "-", "\u200d", '"')
    ) * rng.choice((50, 300, 5000))


def word(rng: Random, oddness: float = 0.1) -> str:
    """A word: a usual one or, with this probability, one that holds something odd."""
    chosen = rng.choice(_WORDS)
    if rng.random() >= oddness:
        return chosen
    at = rng.randrange(len(chosen) + 1)
    return chosen[:at] + odd(rng) + (chosen[at:] if rng.random() < 0.7 else "")


def altered_text(rng: Random, text: str, most: int = 3) -> str:
    """The text with a few alterations of its lines, cells and characters; sometimes with none."""
    for _ in range(rng.choice((0, 1, 1, 1, 2, most))):
        text = rng.choice(_OF_TEXT)(rng, text)
    return text


def _lines(rng: Random, text: str) -> str:
    lines = text.split("\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(8):
        case 0:
            del lines[at]
        case 1:
            lines.insert(other, lines[at])
        case 2:
            lines[at], lines[other] = lines[other], lines[at]
        case 3:
            lines[at : at + 2] = ["".join(lines[at : at + 2])]
        case 4:
            cut = rng.randrange(len(lines[at]) + 1)
            lines[at : at + 1] = [lines[at][:cut], lines[at][cut:]]
        case 5:
            lines.insert(at, rng.choice(("", " ", "\t", "\r", "\xa0", "#", "# x", odd(rng))))
        case 6:
            lines[at] = rng.choice(("", odd(rng)))
        case _:
            lines[at] += rng.choice(("\r", " ", "\t", "\\", '"'))
    return "\n".join(lines)


def _cells(rng: Random, text: str) -> str:
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    present = [separator for separator in _SEPARATORS if separator in lines[at]]
    if not present:
        return _characters(rng, text)
    separator = rng.choice(present[:2] if rng.random() < 0.7 else present)
    cells = lines[at].split(separator)
    i, j = rng.randrange(len(cells)), rng.randrange(len(cells))
    match rng.randrange(7):
        case 0:
            del cells[i]
        case 1:
            cells.insert(j, cells[i])
        case 2:
            cells[i], cells[j] = cells[j], cells[i]
        case 3:
            cells[i] = odd(rng)
        case 4:
            cells[i] = ""
        case 5:
            cells[i] += odd(rng)
        case _:
            cells *= rng.choice((2, 3, 40))
    lines[at] = separator.join(cells)
    if rng.random() < 0.1:  # all lines alike
        other = rng.choice(_SEPARATORS)
        return text.replace(separator, other)
    return "\n".join(lines)


def _characters(rng: Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    end = min(len(text), at + rng.choice((1, 1, 2, 5, 40)))
    match rng.randrange(6):
        case 0:
            return text[:at] + odd(rng) + text[at:]
        case 1:
            return text[:at] + odd(rng) + text[end:]
        case 2:
            return text[:at] + text[end:]
        case 3:
            return text[:at] + text[at:end] * rng.choice((2, 3, 50)) + text[end:]
        case 4:
            return text[:at]
        case _:
            digits = [i for i, char in enumerate(text) if char.isdecimal()]
            if not digits:
                return text[:at] + odd(rng) + text[at:]
            i = rng.choice(digits)
            number = rng.choice(("0", "-1", "9" * 20, "1.5", "", "٣", "²", "7", "00", "1e9"))
            return text[:i] + number + text[i + 1 :]


def _ends(rng: Random, text: str) -> str:
    if rng.random() < 0.5:
        return text.replace("\n", rng.choice(("\r\n", "\r", "\n\n", "\u2028", "\n ")))
    return (
        rng.choice(("\ufeff", "\n", "\n\n", " ", "#\n", "\x00")) + text
        if rng.random() < 0.5
        else (text.rstrip("\n"))
    )


_OF_TEXT = (_lines, _lines, _cells, _cells, _cells, _characters, _characters, _ends)


def altered_value(rng: Random, value: Any) -> Any:
    """A value of JSON with one alteration somewhere in it."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        found = dict(value)
        match rng.randrange(6):
            case 0:
                del found[key]
            case 1:
                found[word(rng, 1.0)] = found.pop(key)
            case 2:
                found[rng.choice(list(found))] = found[key]
            case 3:
                found[odd(rng)] = odd_value(rng)
            case _:
                found[key] = altered_value(rng, found[key])
        return found
    if isinstance(value, list) and value and rng.random() < 0.85:
        items = list(value)
        at = rng.randrange(len(items))
        match rng.randrange(7):
            case 0:
                del items[at]
            case 1:
                items.insert(rng.randrange(len(items) + 1), items[at])
            case 2:
                items.reverse()
            case 3:
                items.append(odd_value(rng))
            case _:
                items[at] = altered_value(rng, items[at])
        return items
    if isinstance(value, str) and rng.random() < 0.6:
        at = rng.randrange(len(value) + 1)
        return value[:at] + odd(rng) + value[at:]
    if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.6:
        return rng.choice(
            (value - 1, value + 1, -value, value * 10, 10**9, 10**30, 0, float(value))
        )
    return odd_value(rng)


def odd_value(rng: Random) -> Any:
    """A value of JSON that is likely to be of the wrong kind."""
    return rng.choice(_VALUES)(rng)


_VALUES = (
    lambda rng: None,
    lambda rng: rng.random() < 0.5,
    lambda rng: rng.choice((0, 1, -1, 2, 10**6, 10**12, 10**25, -(2**63))),
    lambda rng: rng.choice((0.0, -0.0, 0.5, 1.5, 1e308, float("nan"), float("inf"), -float("inf"))),
    odd,
    lambda rng: [],
    lambda rng: {},
    lambda rng: [odd(rng)],
    lambda rng: {odd(rng): odd(rng)},
    lambda rng: nested(rng.choice((2, 60, 600))),
    lambda rng: [1, 2, 3],
    lambda rng: [[1, 2, "X"]],
)


def nested(depth: int) -> Any:
    """Lists inside lists."""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def json_line(rng: Random, value: Any) -> str:
    """A value as JSON, which writers spell in several ways."""
    try:
        return json.dumps(value, ensure_ascii=rng.random() < 0.3)
    except RecursionError:
        return "[" * 100_000


def altered_bytes(rng: Random, data: bytes, most: int = 3) -> bytes:
    """Bytes with a few of them altered, left out or added."""
    for _ in range(rng.randint(1, most)):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(6):
            case 0:
                data = data[:at]
            case 1:
                data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
            case 2:
                data = data[:at] + bytes([rng.randrange(256)]) + data[at:]
            case 3:
                data = data[:at] + data[at + rng.choice((1, 2, 8)) :]
            case 4:
                data = (
                    data[:at]
                    + rng.choice(
                        (
                            b"\x00",
                            b"\xff\xfe",
                            b"\xef\xbb\xbf",
                            b"\x1f\x8b",
                            b"\n",
                            b"\xed\xa0\x80",
                            b"\xc3",
                            b"\x80" * 9,
                        )
                    )
                    + data[at:]
                )
            case _:
                bit = 1 << rng.randrange(8)
                data = (
                    data[:at] + bytes([byte ^ bit for byte in data[at : at + 1]]) + data[at + 1 :]
                )
    return data  # fmt: skip


def encode(text: str, encoding: str) -> bytes:
    """The text in an encoding; what that does not have becomes something else."""
    try:
        errors = (
            "surrogatepass" if encoding.startswith("utf-") and encoding != "utf-7" else "replace"
        )
        return text.encode(encoding, errors=errors)
    except UnicodeError:
        return text.encode(errors="replace")


def packed(rng: Random, data: bytes) -> bytes:
    """The bytes as gzip, sometimes damaged, sometimes in two members."""
    half = rng.randrange(len(data) + 1) if rng.random() < 0.1 else 0
    found = (gzip.compress(data[:half], 1, mtime=0) if half else b"") + gzip.compress(
        data[half:], 1, mtime=0
    )
    return altered_bytes(rng, found, 1) if rng.random() < 0.25 else found
