"""`--format show`: labels in the text, with colours and without, on a terminal and elsewhere."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pty_terminal import COLOURS, Terminal

from tagkit.cli.shown import highlighting
from tagkit.cli.shown.highlighting import (
    Segment,
    coloured_segments,
    colours_of,
    lines_of,
    plain_segments,
    shown_by,
)
from tagkit.models.answers.pieces import Highlighted, TextPiece
from tagkit.text.records import LabelScore
from tagkit.wording import cells

OSLO = Highlighted(
    (TextPiece("From "), TextPiece("Oslo", "LOC", 0.876), TextPiece(" to\nRome.")),
    spans=True,
    classes=None,
    confidence=False,
)
TAGS = Highlighted(
    (TextPiece("Go", "VERB"), TextPiece(" "), TextPiece(".", "")),
    spans=False,
    classes=None,
    confidence=False,
)


def plain(shown: Highlighted, width: int | None = None) -> list[str]:
    lines = lines_of(plain_segments(shown), width)
    return ["".join(part.text for part in line).replace("\x01", " ") for line in lines]


def classified(*labels: str, confidence: bool = False) -> Highlighted:
    scores = tuple(LabelScore(label, 0.75) for label in labels)
    return Highlighted((TextPiece("some text"),), True, scores, confidence)


def test_without_colours_labels_are_in_brackets_or_behind_a_slash() -> None:
    assert plain(OSLO) == ["From [Oslo LOC 0.88] to", "Rome."]
    assert plain(TAGS) == ["Go/VERB ./_"]
    assert plain(Highlighted((TextPiece("Go", "V", 0.5),), False, None, False)) == ["Go/V/0.50"]


def test_classes_stand_before_the_text() -> None:
    assert plain(classified("sport")) == ["sport | some text"]
    assert plain(classified("a", "b", confidence=True)) == ["a 0.75, b 0.75 | some text"]
    assert plain(classified()) == ["- | some text"]


def test_nothing_in_a_text_or_a_label_is_obeyed_by_a_terminal() -> None:
    shown = Highlighted(
        (TextPiece("a\x1b[2J\tb\r\n\u202ec"), TextPiece("x\x01\ny", "L\x1b]0;t\x07")), True,
        (LabelScore("k\x1b[m", 0.5),), False,
    )  # fmt: skip
    assert plain(shown) == [
        r"k\x1b[m | a\x1b[2J\tb", r"\u202ec[x\x01 y L\x1b]0;t\x07]",
    ]  # fmt: skip
    written = "".join(part.text for part in coloured_segments(shown, {}))
    assert not re.search(r"[^\x01\n\x20-\U0010ffff]", written)


def test_a_carriage_return_that_ends_no_line_is_shown() -> None:
    shown = Highlighted((TextPiece("is\rat\r"), TextPiece("Rome", "LOC")), True, None, False)
    assert plain(shown) == [r"is\rat\r[Rome LOC]"]


def test_colours_depend_on_the_labels_of_the_model_alone() -> None:
    colours = colours_of(["PER", "LOC", "PER"])
    assert colours == {"LOC": "cyan", "PER": "yellow"}
    found = [*coloured_segments(OSLO, colours)]
    assert found[1:3] == [
        Segment("\x01Oslo\x01", "black on cyan"),
        Segment("LOC\x010.88\x01", "bold black on cyan"),
    ]
    assert len({*colours_of(map(str, range(30))).values()}) == 10  # they are used again


words = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=12)


@given(
    st.lists(words, min_size=1, max_size=30), st.integers(30, 90), st.sets(st.integers(0, 29))
)  # fmt: skip
def test_lines_are_broken_between_words_and_lose_none(
    found: list[str], width: int, labelled: set[int]
) -> None:
    pieces = []
    for number, word in enumerate(found):
        pieces += [TextPiece(word, "LOC" if number in labelled else None), TextPiece(" ")]
    shown = Highlighted(tuple(pieces), True, None, False)
    lines = plain(shown, width)
    assert all(cells(line) <= width for line in lines)
    assert " ".join(line.strip() for line in lines).split() == " ".join(plain(shown)).split()
    assert all(line.startswith("  ") for line in lines[1:])
    # Greedy: the first word of a line did not fit on the line before it.
    for before, line in pairwise(lines):
        first = re.findall(r"\[[^ ]+ LOC\]|[^ ]+", line)[0]
        assert cells(before) + 1 + cells(first) > width


def test_a_word_that_is_wider_than_the_line_stays_whole() -> None:
    shown = Highlighted((TextPiece("ab " + "x" * 50 + " c"),), True, None, False)
    assert plain(shown, 20) == ["ab", "  " + "x" * 50, "  c"]


def rendered(monkeypatch: pytest.MonkeyPatch, shown: Highlighted, no_color: str) -> str:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.delenv("COLUMNS", raising=False)
    terminal, written = Terminal(30), list[str]()
    monkeypatch.setattr(highlighting.sys, "stdout", terminal.stream)  # type: ignore[attr-defined]
    shown_by(written.append, None, ["LOC", "PER"])(f"{shown.to_line()}\n\n")
    terminal.close()
    return "".join(written)


def test_a_terminal_gets_colours_unless_they_are_unwanted(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Highlighted(
        (TextPiece("A long way from "), TextPiece("Oslo", "LOC"), TextPiece(" to us")), True, None,
        False,
    )  # fmt: skip
    text = rendered(monkeypatch, shown, "")
    assert text == ("A long way from \x1b[30;46m Oslo \x1b[0m\x1b[1;30;46mLOC \x1b[0m to\n  us\n\n")
    assert COLOURS.sub("", text) == "A long way from  Oslo LOC  to\n  us\n\n"
    assert rendered(monkeypatch, shown, "1") == "A long way from [Oslo LOC] to\n  us\n\n"


def test_a_file_gets_whole_lines_and_a_text_of_several_lines_a_blank_one(tmp_path: Path) -> None:
    written: list[str] = []
    write = shown_by(written.append, tmp_path / "out", ["LOC"])
    write(f"{OSLO.to_line()}\n{TAGS.to_line()}\n")
    assert written == ["From [Oslo LOC 0.88] to\nRome.\n\nGo/VERB ./_\n"]
