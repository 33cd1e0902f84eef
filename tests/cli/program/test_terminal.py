"""Lines of a given width: where they are broken."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagkit.cli.program.terminal import (
    cells,
    for_terminal,
    has_colours,
    short_paths,
    shown_time,
    width_of,
    wrapped,
)


class Screen(io.StringIO):
    """A terminal without a size of its own."""

    def isatty(self) -> bool:
        return True


def test_a_line_is_broken_at_blanks_and_the_next_one_is_indented() -> None:
    text = "error: corpora/train.conll:12: expected 3 columns, found 2"
    assert wrapped(text, 40) == [
        "error: corpora/train.conll:12: expected",
        "  3 columns, found 2",
    ]
    assert wrapped(text, None) == wrapped(text, 58) == [text]


def test_the_text_of_a_second_column_stays_in_its_column() -> None:
    assert wrapped("vocabulary  1,203 trained words, 48 characters", 32) == [
        "vocabulary  1,203 trained words,",
        "            48 characters",
    ]
    assert wrapped("       train, dev: read as columns: tags of IOB2", 30) == [
        "       train, dev: read as",
        "         columns: tags of IOB2",
    ]


def test_a_path_is_never_broken_even_if_it_is_longer_than_a_line() -> None:
    path = "folder/" * 6 + "train.conll"
    assert wrapped(f"error: {path}: no such file", 30) == ["error:", f"  {path}:", "  no such file"]


def test_a_quoted_path_with_blanks_is_one_word() -> None:
    assert wrapped("Next: tagkit predict 'my models/of May' FILE", 36) == [
        "Next: tagkit predict",
        "  'my models/of May' FILE",
    ]
    # A long one is broken like any text, and an apostrophe begins no quotation.
    assert wrapped(f"found '{'a ' * 40}'", 21)[0] == "found 'a a a a a a a"
    assert wrapped("the users' words and the models' words", 24) == [
        "the users' words and the",
        "  models' words",
    ]


@given(st.text(alphabet="ab \u00e9\u0301日'().,", max_size=120), st.integers(20, 60))
def test_wrapping_loses_no_word_and_fits_where_words_do(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert " ".join(lines).split() == text.split()
    for line in lines:
        assert cells(line) <= width or len(line.split()) == 1 or "'" in line


def test_wide_characters_take_two_cells_and_combining_ones_none() -> None:
    assert [cells(text) for text in ("abc", "日本", "e\u0301")] == [3, 4, 1]
    assert wrapped("日本語 日本語 日本語 日本語", 20) == ["日本語 日本語 日本語", "  日本語"]


def test_a_file_gets_whole_lines_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    line = f"error: {'word ' * 20}end"
    assert for_terminal(line, io.StringIO()) == line
    assert width_of(io.StringIO()) is width_of(None) is None
    closed = io.StringIO()
    closed.close()  # `isatty` of a closed stream raises
    assert not has_colours(closed)


def test_a_terminal_gets_an_error_in_red_and_a_warning_in_yellow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert for_terminal("error: no.conll: no such file anywhere", Screen()) == (
        "\x1b[1;31merror:\x1b[0m no.conll: no such file\n  anywhere"
    )
    path = "folder/" * 6  # which stands on a line of its own
    assert for_terminal(f"error: {path}", Screen()) == f"\x1b[1;31merror:\x1b[0m\n  {path}"
    assert for_terminal("warning: few", Screen()) == "\x1b[33mwarning:\x1b[0m few"
    assert for_terminal("a warning: few", Screen()) == "a warning: few"
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert for_terminal("error: x", Screen()) == "error: x"


def test_a_width_that_is_no_number_is_that_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, expected in (("120", 120), ("0", 80), ("x", 80), ("", 80)):
        monkeypatch.setenv("COLUMNS", value)
        assert width_of(Screen()) == expected


def test_a_path_is_shown_by_its_name_where_that_tells_it_apart() -> None:
    assert short_paths(["a/b/train.conll", "a/b/dev.conll"]) == {
        "a/b/train.conll": "train.conll", "a/b/dev.conll": "dev.conll",
    }  # fmt: skip
    assert short_paths(["d/train/seq.in", "d/dev/seq.in", "d/test.in"]) == {
        "d/train/seq.in": "d/train/seq.in", "d/dev/seq.in": "d/dev/seq.in", "d/test.in": "test.in",
    }  # fmt: skip
    assert short_paths(["standard input", "d/a", "d/a"])["d/a"] == "a"
    assert short_paths(["/"]) == {"/": "/"}


def test_times_are_shown_in_minutes_and_hours() -> None:
    shown = [shown_time(seconds) for seconds in (0, 7.4, 59.6, 754, 3600, 86_399, -3)]
    assert shown == ["0:00", "0:07", "1:00", "12:34", "1:00:00", "23:59:59", "0:00"]
