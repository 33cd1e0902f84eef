"""Scores of lines, against the bigrams."""

import math
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from random_language_model import context_of
from says import refuses
from toy_language_model import END, ToyReader

from tagkit.corpus.records.dataset import Split
from tagkit.corpus.records.unit_lines import UnitLines
from tagkit.corpus.source.text_lines import TextLines
from tagkit.errors import DataError
from tagkit.inference.generate.line_scores import LineScore, score_lines
from tagkit.models.language.language_network import LanguageModel
from tagkit.models.language.language_scoring import language_report
from tagkit.models.language.reader import Reader
from tagkit.models.language.text_scoring import units_of
from tagkit.nn.generation.path_score import path_log_probs

LINES = ["the cat sat", "", "a bird sat", "the the the the ran", "dog"]


def expected(reader: ToyReader, line: str) -> float:
    path = [END, *reader.cut(line), END]
    return sum(float(reader.log_probs[a, b]) for a, b in pairwise(path))


def test_each_line_has_its_log_probability_whatever_lines_it_is_read_with() -> None:
    reader = ToyReader()
    for batches in ([LINES], [[line] for line in LINES], [LINES[:2], LINES[2:]]):
        found = [score for scores in score_lines(reader, batches) for score in scores]
        assert [each.text for each in found] == LINES
        for each in found:
            assert each.log_probability == pytest.approx(expected(reader, each.text))
            assert each.units == len(each.text.split()) + 1
            assert each.perplexity == pytest.approx(math.exp(-each.log_probability / each.units))
            assert each.per_unit == pytest.approx(each.log_probability / each.units)
        assert [each.unknown for each in found] == [0, 0, 1, 0, 0]


def test_a_uniform_model_has_the_size_of_its_vocabulary_as_perplexity() -> None:
    reader = ToyReader()
    reader.log_probs = -math.log(reader.vocabulary_size) + 0 * reader.log_probs
    (scores,) = score_lines(reader, [LINES])
    assert [each.perplexity for each in scores] == pytest.approx([reader.vocabulary_size] * 5)


def test_a_model_that_halts_is_scored_with_its_decisions() -> None:
    reader = ToyReader(halt=True)
    ((score,),) = score_lines(reader, [["the cat"]])
    pairs = [(END, *reader.cut("the")), (*reader.cut("the"), *reader.cut("cat"))]
    units = sum(float(reader.log_probs[pair]) for pair in pairs)
    halting = math.log(6 / 7) + math.log(6 / 8) + math.log(3 / 9)
    assert score.log_probability == pytest.approx(units + halting)
    assert score.units == 3


def test_a_score_as_a_dictionary_has_all_figures() -> None:
    score = LineScore("a b", -6.0, 3, 1)
    assert score.to_dict() == {
        "text": "a b", "log_probability": -6.0, "units": 3, "unknown": 1, "per_unit": -2.0,
        "perplexity": pytest.approx(math.exp(2)),
    }  # fmt: skip


PAIRS = ["a b\tc", "c\ta a d b", "d d\td", "b c a b\tb c"]  # d is unknown


@pytest.mark.parametrize(("counted", "units"), [("continuation", 12), ("all", 25)])
def test_scores_of_pairs_are_of_what_eval_counts(tmp_path: Path, counted: str, units: int) -> None:
    context = context_of("data.pairs=true", "data.context=line", f"data.loss_on={counted}")
    assert isinstance(context.model, LanguageModel)
    reader = Reader(context.model, context.vocabulary, context.config.data)
    found = [score for scores in score_lines(reader, [PAIRS[:3], PAIRS[3:]]) for score in scores]
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{line}\n" for line in PAIRS))
    lines = UnitLines(TextLines(str(path)), units_of(context.vocabulary))
    report = language_report(context, Split(path=str(path), sentences=lines, detection=None))
    assert sum(each.units for each in found) == report.units == units
    assert sum(each.unknown for each in found) == report.unknown
    assert -sum(each.log_probability for each in found) == pytest.approx(report.nats)
    # Alone as in company; the prefix is read.
    for line, each in zip(PAIRS, found, strict=True):
        ((alone,),) = score_lines(reader, [[line]])
        assert alone.log_probability == pytest.approx(each.log_probability)
    ((other,),) = score_lines(reader, [["b b\tc"]])
    assert other.log_probability != pytest.approx(found[0].log_probability)


@pytest.mark.parametrize(
    "options",
    [
        ["data.context=stream"],
        ["data.context=line", "head.halt=true"],
        ["data.context=line", "data.condition=label", "decoder.context=both"],
        ["data.context=line", "head.softmax=adaptive"],
        ["data.context=line", "data.pairs=true", "data.loss_on=continuation"],
        ["data.context=line", "data.pairs=true", "data.loss_on=continuation", "head.halt=true"],
        ["encoder.cell=transformer", "encoder.hidden=8", "embeddings.word_dim=8", "train.bptt=3"],
    ],
    ids="+".join,
)
def test_lines_read_in_segments_have_the_scores_of_single_steps(options: list[str]) -> None:
    context = context_of(*options)
    assert isinstance(context.model, LanguageModel)
    label = "bad" if context.vocabulary.classes else None
    reader = Reader(context.model, context.vocabulary, context.config.data, label)
    is_pairs = context.config.data.pairs
    lines = [f"{'a b ' * n}c\tb{' c a' * n}" for n in (0, 3, 40)] if is_pairs else LINES + [
        "a b c " * n for n in (4, 7, 40)
    ]  # fmt: skip
    (found,) = score_lines(reader, [lines])
    units = [reader.cut(line) for line in lines]
    given = [each.index(reader.delimiter) + 1 for each in units] if is_pairs else None
    expected = path_log_probs(
        reader.step,
        torch.tensor([reader.end]),
        reader.begin(),
        units if reader.has_halt else [[*each, reader.end] for each in units],
        by_halt=reader.has_halt,
        given=given,
    )
    assert [each.log_probability for each in found] == pytest.approx(expected)


def test_a_line_is_read_in_few_calls_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    context = context_of("data.context=line")
    assert isinstance(context.model, LanguageModel)
    calls = []
    read_on = context.model.read_on
    monkeypatch.setattr(context.model, "read_on", lambda *given: calls.append(1) or read_on(*given))
    reader = Reader(context.model, context.vocabulary, context.config.data)
    list(score_lines(reader, [["a b c " * 500, "b " * 40, "a"]]))
    assert len(calls) == 3  # with 1,501 units in the longest line


def test_a_line_that_is_no_pair_is_refused_by_a_model_of_pairs() -> None:
    context = context_of("data.pairs=true", "data.context=line")
    assert isinstance(context.model, LanguageModel)
    reader = Reader(context.model, context.vocabulary, context.config.data)
    with refuses(DataError, "tab", "'a b'"):
        next(score_lines(reader, [["a\tb", "", "a b"]]))
