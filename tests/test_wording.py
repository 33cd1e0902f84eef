"""What messages quote is safe to display, of bounded length, and counted in English."""

import os
import pickle
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tagkit.errors import (
    ConfigError,
    DataError,
    FormatError,
    SpanErrors,
    TagkitError,
)
from tagkit.wording import (
    LONGEST_LINE,
    as_path_argument,
    clipped,
    first_of,
    joined,
    listed,
    message_line,
    once,
    plural,
    shortened,
    visible,
)


def pickled(item: Any) -> Any:
    """What another process receives."""
    return pickle.loads(pickle.dumps(item))  # noqa: S301


@pytest.mark.parametrize(
    "error",
    [
        TagkitError("a", "b"),
        ConfigError("file", ["a", "b"]),
        FormatError("file", 3, "odd"),
        SpanErrors([FormatError("file", 3, "odd")], "mend it"),
    ],
)
def test_an_error_can_be_sent_to_another_process(error: TagkitError) -> None:
    again = pickled(error)
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.lines == error.lines
    assert vars(again).keys() == vars(error).keys()


def test_a_message_is_displayed_safely_and_of_bounded_length() -> None:
    assert message_line("\x1b[1m bold") == "\\x1b[1m bold"
    (line,) = DataError("x" * 9000).lines
    assert len(line) < 4000


EVIL = "\x1b[31m:+1:[red]x[/red][/]\u202e\x9b\u2028\x7f\x07"
SEEN = r"\x1b[31m:+1:[red]x[/red][/]\u202e\x9b\u2028\x7f\x07"
# Everything that a terminal may obey, or that reorders what it shows; line feeds end lines.
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def test_all_that_is_unsafe_is_escaped_and_nothing_else() -> None:
    for code in range(0x110000):
        shown = visible(chr(code))
        assert not UNSAFE.search(shown)
        assert "\n" not in shown
        shown.encode()  # no lone surrogate
    for text in ("naïve 日本語 العربية עברית हिन्दी 👩‍👩‍👧 e\u0301 \xa0", "a\\b", ""):
        assert visible(text) == text
    assert visible(visible(EVIL)) == visible(EVIL) == SEEN


def test_lines_of_messages_are_bounded() -> None:
    long = "x" * 2_000_000
    assert len(message_line(long)) < LONGEST_LINE
    assert len(str(DataError(f"{long}: no such file"))) < LONGEST_LINE
    assert len(str(ConfigError(long, [long, long]))) < 2 * LONGEST_LINE
    assert str(DataError("a: b", "c: d")) == "a: b\nc: d"
    assert clipped("abc" * 100, 8) == "abca...bc"


@pytest.mark.parametrize(
    ("count", "unit", "expected"),
    [(0, "type", "0 types"), (1, "type", "1 type"), (2, "class", "2 classes"),
     (1, "class", "1 class"), (1200, "entity", "1,200 entities"), (2, "key", "2 keys"),
     (2, "label of column 1", "2 labels of column 1"),
     (2, "end of day of rest", "2 ends of day of rest")],
)  # fmt: skip
def test_counts_agree_with_their_units(count: int, unit: str, expected: str) -> None:
    assert plural(count, unit) == expected


def test_the_last_of_several_things_has_a_word_before_it() -> None:
    assert joined(["a"]) == "a"
    assert joined(["a", "b"]) == "a or b"
    assert joined(("a", "b", "c"), "and") == "a, b and c"


def test_a_long_list_is_cut() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"


def test_a_name_loses_its_middle() -> None:
    assert shortened("location_of_departure", 30) == "location_of_departure"
    assert shortened("location_of_departure", 12) == "locati...ure"
    assert [len(shortened("x" * 90, limit)) for limit in (3, 4, 5, 20)] == [3, 4, 5, 20]


def test_what_is_not_shown_is_counted() -> None:
    assert first_of(["a", "b"], 2) == "a, b"
    assert first_of(["a", "b"], 1_236) == "a, b and 1,234 more"


def test_a_sentence_is_noted_once() -> None:
    noted: list[str] = []
    note = once(noted.append)
    for text in ("one", "two", "one"):
        note(text)
    assert noted == ["one", "two"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("models/a", "models/a"),
        ("a b", "'a b'"),
        ("~x", "'~x'"),
        ("-x/m", "./-x/m"),
        ("-x y", "'./-x y'"),
        ("a\nb", "$'a\\nb'"),
        ("-it's\x1b[1m\\", "$'./-it\\'s\\x1b[1m\\\\'"),
        ("\x0b0f", "$'\\x0b0f'"),  # the digits behind an escape are none of its own
        ("é\u202e", "$'é\\xe2\\x80\\xae'"),
        (os.fsdecode(b"a\xff"), "$'a\\xff'"),
    ],
)
def test_a_shell_reads_a_path_that_is_shown_as_that_path(name: str, typed: str) -> None:
    shown = as_path_argument(Path(name))
    assert shown == typed == visible(shown)
    read = subprocess.run(["bash", "-c", f"printf %s {shown}"], stdout=subprocess.PIPE, check=True)
    assert os.path.normpath(read.stdout) == os.fsencode(name)
    assert not read.stdout.startswith(b"-")
