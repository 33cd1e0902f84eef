"""Options as lines: whole for a file or a pipe, wrapped for a terminal."""

import pytest

from tagkit.cli.shown.option_list import chosen_options, one_option_lines, option_lines
from tagkit.errors import ConfigError


def test_a_terminal_gets_meanings_wrapped_in_a_column_of_their_own() -> None:
    blanks = " " * 32
    assert list(option_lines(chosen_options("head"), 80))[:4] == [
        "[head]",
        '  kind = "crf"                  How a sequence of tags is scored and decoded:',
        f"{blanks}crf, softmax, viterbi or feedback. Only with",
        f'{blanks}task = "tag" or "both".',
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal_and_no_word_is_lost(width: int) -> None:
    options = chosen_options(None)
    lines = list(option_lines(options, width))
    assert max(map(len, lines)) <= width
    words = " ".join(option_lines(options, None)).split()
    assert " ".join(lines).split() == words


def test_a_long_setting_stands_above_its_meaning() -> None:
    lines = list(option_lines(chosen_options("data"), 60))
    assert lines[lines.index('  tokenizer = "multilingual"') + 1] == (
        "      Tokenizer of raw texts: multilingual; syntok, for"
    )


def test_one_option_is_said_with_what_may_be_done_with_it() -> None:
    said = list(one_option_lines(chosen_options("encoder.hidden")[0], None))
    assert said == [
        "encoder.hidden = 200",
        "  Hidden units for each direction.",
        "  A run that is resumed must have the same value.",
        "  A model that starts from another one's weights has that one's value.",
        "  A search (tagkit tune) may try values of it.",
    ]
    first, *_ = one_option_lines(chosen_options("head.threshold")[0], None)
    assert first == "head.threshold, unset by default"


def test_what_is_no_section_and_no_option_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"unknown option train\.sed; did you mean train\.seed"):
        chosen_options("train.sed")
