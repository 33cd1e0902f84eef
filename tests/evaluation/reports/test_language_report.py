"""Scores of a language model, by hand."""

import json
import math
import sys
from dataclasses import replace

import pytest
from says import refuses

from tagkit.errors import DataError
from tagkit.evaluation.analysis.by_sentence import parts_of
from tagkit.evaluation.reports.language_report import LanguageReport, PairFigures, perplexity
from tagkit.evaluation.reports.report import stored_headlines
from tagkit.evaluation.reports.report_text import report_lines

# Four units, of probability 1/8 each, that stand for 6 characters.
REPORT = LanguageReport(
    nats=4 * math.log(8), units=4, unknown=1, characters=6, lines=2, unit="word", context="stream"
)


def test_perplexity_of_what_is_impossible_is_infinite() -> None:
    assert perplexity(math.inf) == perplexity(1e9) == math.inf
    assert perplexity(math.log(4)) == pytest.approx(4)


@pytest.mark.parametrize("nats", [math.nan, math.inf])
def test_the_parts_of_a_model_that_has_diverged_are_finite(nats: float) -> None:
    found = replace(REPORT, nats=nats).parts()
    assert [*found.values()] == [sys.float_info.max] * 3


def test_a_uniform_model_of_eight_units_has_perplexity_eight() -> None:
    assert REPORT.cross_entropy == pytest.approx(math.log(8))
    assert REPORT.perplexity == pytest.approx(8)
    assert REPORT.bits_per_character == pytest.approx(12 / 6)  # three bits a unit
    assert REPORT.headline == REPORT.cross_entropy
    found = json.loads(json.dumps(REPORT.to_dict()))
    assert found["perplexity"] == pytest.approx(8)
    assert (found["units"], found["unknown"], found["characters"]) == (4, 1, 6)
    (headline,) = stored_headlines(found)
    assert (headline.measure, headline.value) == ("perplexity", REPORT.perplexity)
    assert (headline.mode, headline.is_share) == ("per word", False)


def test_the_report_says_what_was_counted() -> None:
    assert [*report_lines(REPORT)] == [
        "cross-entropy           2.0794 nats a unit",
        "perplexity                8.00",
        "bits per character      2.0000",
        "4 words, the end of each line among them; 1 unknown",
        "2 lines, 6 characters; each unit is predicted from what stands before it in the whole "
        "text",
    ]
    for context, end in (("stream", "in its file"), ("line", "in its line")):
        *_, last = report_lines(replace(REPORT, files=3, context=context))
        assert last.startswith("3 files, 2 lines,")
        assert last.endswith(end)


def test_a_cache_is_named_with_its_numbers() -> None:
    cache = {"window": 1_000_000, "theta": 0.4, "share": 0.15}
    assert "with a neural cache: window 1,000,000, theta 0.4, share 0.15" in [
        *report_lines(replace(REPORT, cache=cache))
    ]


def test_a_perplexity_beyond_all_numbers_is_said_to_be_one() -> None:
    pairs = PairFigures(nats=1e9, units=2, unknown=0, exact=0, pairs=1)
    beyond = replace(REPORT, nats=1e9, pairs=pairs)
    assert beyond.perplexity == math.inf
    lines = [*report_lines(beyond)]
    assert lines[1] == "perplexity          over 1.8e+308"
    assert lines[3] == "perplexity of continuations over 1.8e+308"
    found = json.loads(json.dumps(beyond.to_dict(), allow_nan=False))
    assert found["perplexity"] is found["continuation_perplexity"] is None
    assert found["cross_entropy"] == 2.5e8
    (headline,) = stored_headlines(found)
    assert headline.value == math.inf
    # A checkpoint, which has these, refuses what is not finite.
    assert beyond.parts()["perplexity"] == sys.float_info.max


def test_a_large_perplexity_has_no_more_digits_than_it_is_exact_to() -> None:
    assert [*report_lines(replace(REPORT, nats=4 * 705.0))][1] == "perplexity          1.5053e+306"


@pytest.mark.parametrize(
    ("unit", "mode"),
    [("bpe", "per byte pair"), ("character", "per character"), ("verse", None), ([], None)],
)
def test_a_stored_perplexity_is_per_unit(unit: object, mode: str | None) -> None:
    (headline,) = stored_headlines({**REPORT.to_dict(), "unit": unit})
    assert headline.mode == mode


def test_there_are_no_analyses_of_a_perplexity() -> None:
    with refuses(DataError, "predicts no labels"):
        parts_of(REPORT)
