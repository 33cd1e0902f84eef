"""`tagkit learning-curve`: its options, its progress and what it prints."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from program import Program
from says import Says

from tagkit.cli.shown.several_progress import curve_lines
from tagkit.config import Config
from tagkit.evaluation.analysis.power_law import LearningCurve, Point, fit
from tagkit.training.several.learning_curve import CurveListener

SCORES = {875: 0.75, 1750: 0.80, 3500: 0.84, 7000: 0.872, 14_000: 0.8975}
CURVE = fit("F1", [Point(size, 1, score) for size, score in SCORES.items()], "sentence")
TRAIN = ("learning-curve", "--train", "train.conll", "--dev", "dev.conll", "-o", "curve")


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the command gives to `learning_curve`, which returns a curve without any training."""
    calls: list[Any] = []

    def measured(
        config: Config,
        sizes: list[int | Fraction] | None,
        *,
        listener: CurveListener,
        **options: Any,
    ) -> LearningCurve:
        calls.append((config, sizes, options))
        listener.on_start([875], [1], "F1", "sentence")
        listener.on_point(CURVE.points[0], was_there=False)
        listener.on_point(CURVE.points[1], was_there=True)
        return CURVE

    monkeypatch.setattr("tagkit.training.several.learning_curve.learning_curve", measured)
    return calls


def test_the_scores_the_law_and_the_forecasts_are_printed(
    model: Path, tagkit: Program, given: list[Any]
) -> None:
    ended = tagkit(*TRAIN)
    twice, four = CURVE.forecasts
    law = CURVE.law
    assert ended.code == 0
    assert ended.out.splitlines() == [
        " sentences    dev F1",
        "       875     75.00",
        "     1,750     80.00",
        "     3,500     84.00",
        "     7,000     87.20",
        "    14,000     89.75",
        "",
        f"error = {100 * law.asymptote:.1f} + {100 * law.factor:,.0f} / sentences ** "
        f"{law.exponent:.2f}, in percent",
        f"With twice the data, 28,000 sentences: about {100 * twice.score:.1f} "
        f"({100 * twice.low:.1f} to {100 * twice.high:.1f}): {100 * twice.score - 89.75:+.1f}",
        f"With four times the data, 56,000 sentences: about {100 * four.score:.1f} "
        f"({100 * four.low:.1f} to {100 * four.high:.1f}): {100 * four.score - 89.75:+.1f}",
        "The interval holds 90 % of trainings on more sentences of this kind. What texts",
        "of another kind would bring, or a model for these, it does not know.",
        "",
        "saved curve/learning-curve.svg",
    ]
    assert 0.905 < twice.score < 0.925
    assert ended.err.splitlines() == [
        " sentences  seed    dev F1",
        "       875     1     75.00",
        "     1,750     1     80.00  (measured before)",
    ]


def test_several_seeds_have_a_mean_a_deviation_and_warnings_name_the_flag(
    model: Path, tagkit: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = [Point(size, seed, score + 0.01 * seed) for size, score in
              ((10, 0.5), (20, 0.6), (40, 0.55)) for seed in (1, 2, 3)]  # fmt: skip
    curve = fit("F1", points, "sentence")
    monkeypatch.setattr(
        "tagkit.training.several.learning_curve.learning_curve", lambda *_, **__: curve
    )
    lines = tagkit(*TRAIN, "-q").out.splitlines()
    assert lines[:3] == [
        " sentences    dev F1  deviation  seeds",
        "        10     52.00       1.00      3",
        "        20     62.00       1.00      3",
    ]
    assert "warning: a smaller part of the corpus scores more than all that was" in "\n".join(lines)
    assert "more seeds (--seeds 1,2,3) would tell" in " ".join(lines)
    assert all(len(line) <= 80 for line in lines)


def test_forecasts_of_less_than_one_percent_of_errors_have_two_decimals(tmp_path: Path) -> None:
    points = [Point(size, 1, score) for size, score in ((10, 0.98), (20, 0.99), (40, 0.995))]
    curve = fit("F1", points, "sentence")
    (line,) = (line for line in curve_lines(curve, tmp_path) if line.startswith("With twice"))
    assert f"80 sentences: about {100 * curve.forecasts[0].score:.2f} (" in line


def test_of_a_dev_without_errors_no_forecast_is_shown(tmp_path: Path) -> None:
    perfect = fit("F1", [Point(size, 1, 1.0) for size in (10, 20, 40)], "sentence")
    lines = [*curve_lines(perfect, tmp_path)]
    assert [line.split() for line in lines[1:4]] == [
        [size, "100.00"] for size in ("10", "20", "40")
    ]
    assert lines[5].startswith("warning: dev finds no error at any size")
    assert not any("interval" in line or "error =" in line for line in lines)


def test_without_sizes_the_library_chooses_them(
    model: Path, tagkit: Program, given: list[Any]
) -> None:
    assert tagkit(*TRAIN, "-q").code == 0
    assert given[0][1] is None


def test_options_and_sizes_reach_the_library(
    model: Path, tagkit: Program, given: list[Any]
) -> None:
    ended = tagkit(
        *TRAIN, "--sizes", "100, 1/2,1/1", "--seeds", "1,2", "--resume", "--set",
        "encoder.hidden=9", "--tag-column", "1", "--json", "-q",
    )  # fmt: skip
    assert ended.code == 0
    assert ended.err == ""
    assert json.loads(ended.out) == CURVE.to_dict()
    ((config, sizes, options),) = given
    assert sizes == [100, Fraction(1, 2), Fraction(1)]
    assert (config.train.seeds, config.encoder.hidden, config.data.tag_column) == ((1, 2), 9, 1)
    assert config.output.dir == "curve"
    assert (options["resume"], options["force"]) == (True, False)


@pytest.mark.parametrize("text", ["", "10,,20", "1/0,1/2,1/1", "all", "1/x"])
def test_sizes_are_numbers_and_shares(model: Path, tagkit: Program, text: str) -> None:
    ended = tagkit(*TRAIN, "--sizes", text)
    assert ended.code == 1
    assert Says("--sizes", "1", "8", "sentences").within(ended.err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seed", "1", "--seeds", "1,2"],
         Says("--seed", "--seeds")),
        (["--resume", "--force"],
         Says("--resume", "--force")),
        (["--sizes", "20,40,81"],
         Says("train.conll", "80", "--sizes", "20", "40", "81")),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_a_sentence(
    model: Path, tagkit: Program, arguments: list[str], message: str
) -> None:
    ended = tagkit(*TRAIN, *arguments)
    assert (ended.code, ended.out, ended.err) == (1, "", message)
    assert not Path("curve").exists()
