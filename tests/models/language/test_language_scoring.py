"""Scores of pairs and of a cache, against loops over single units."""

from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
import torch
from random_language_model import UNITS, context_of
from says import refuses

from tagkit.config import load_config
from tagkit.corpus.records.dataset import Split
from tagkit.corpus.records.unit_lines import UnitLines
from tagkit.corpus.source.text_lines import TextLines
from tagkit.errors import ConfigError, DataError
from tagkit.models.base.device import to_tensors
from tagkit.models.base.task_records import ModelContext
from tagkit.models.language import text_scoring
from tagkit.models.language.language_model import LanguageTask
from tagkit.models.language.language_network import LanguageModel
from tagkit.models.language.language_scoring import language_report, never_continued
from tagkit.models.language.text_scoring import units_of
from tagkit.nn.softmax.neural_cache import CacheOptions, NeuralCache
from tagkit.text.pairs import DELIMITER
from tagkit.text.units import UNKNOWN

TASK = LanguageTask()
PAIRS = [("a b", "b"), ("c", "c a b"), ("a b c x", "a"), ("b", "x"), ("c b a", "b b")]


def split_of(context: ModelContext, path: Path, lines: list[str]) -> Split:
    path.write_text("".join(f"{line}\n" for line in lines))
    units = UnitLines(TextLines(str(path)), units_of(context.vocabulary))
    return Split(path=str(path), sentences=units, detection=None)


def model_of(context: ModelContext) -> LanguageModel:
    assert isinstance(context.model, LanguageModel)
    return context.model


def steps(context: ModelContext, units: list[str]) -> list[torch.Tensor]:
    """The distribution after each unit of a text, one step at a time from zeros."""
    model, numbers = model_of(context), {unit: n for n, unit in enumerate(UNITS, 1)}
    found, state = [], None
    for unit in units:
        states, state = model.read_on(torch.tensor([[numbers.get(unit, 0)]]), state)
        found.append(model.log_probs(states[0])[0])
    return found


def by_hand(context: ModelContext) -> tuple[list[float], list[float], list[bool]]:
    """Nats of all units and of continuations, and whether greedy search writes each of these."""
    numbers = {unit: n for n, unit in enumerate(UNITS, 1)}
    every, counted, exact = [], [], []
    for prefix, continuation in PAIRS:
        units = ["</s>", *prefix.split(), DELIMITER, *continuation.split(), "</s>"]
        begun, right = False, True
        for log_probs, (read, wanted) in zip(
            steps(context, units[:-1]), pairwise(units), strict=True
        ):
            nats = -float(log_probs[numbers.get(wanted, 0)])
            every.append(nats)
            begun = begun or read == DELIMITER
            if begun:
                counted.append(nats)
                allowed = log_probs.clone()
                allowed[[0, numbers[DELIMITER]]] = -torch.inf
                right = right and int(allowed.argmax()) == numbers.get(wanted, 0)
        exact.append(right)
    return every, counted, exact


@torch.no_grad()
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_loss_and_scores_are_those_of_a_loop_over_the_units_that_count(
    tmp_path: Path, cell: str
) -> None:
    pairs = ["data.pairs=true", "data.context=line", f"encoder.cell={cell}"]
    contexts = {on: context_of(*pairs, f"data.loss_on={on}") for on in ("all", "continuation")}
    lines = [f"{prefix}\t{continuation}" for prefix, continuation in PAIRS]
    every, counted, exact = by_hand(contexts["all"])
    for on, expected in (("all", every), ("continuation", counted)):
        context = contexts[on]
        split = split_of(context, tmp_path / "pairs.tsv", lines)
        stream = TASK.encode(context.config, split.sentences, context.vocabulary, None)
        loss, count = TASK.loss(context.model, to_tensors(stream.batch(np.arange(len(PAIRS)))))
        assert loss.item() == pytest.approx(sum(expected))
        assert int(count) == stream.target_count == len(expected)
        found = language_report(context, split).to_dict()
        assert found["cross_entropy"] == pytest.approx(sum(expected) / len(expected))
        assert (found["units"], found["counted"]) == (len(expected), on)
        mean = sum(counted) / len(counted)
        assert found["continuation_perplexity"] == pytest.approx(np.exp(mean))
        assert found["exact_match"] == sum(exact) / len(PAIRS)
        assert found["unknown"] == (1 if on == "continuation" else 2)
        texts = [text.partition("\t")[2] if on == "continuation" else text for text in lines]
        assert found["characters"] == sum(len(text) + 1 for text in texts)


def test_continuations_that_are_the_most_probable_ones_match_exactly(tmp_path: Path) -> None:
    context = context_of("data.pairs=true", "data.context=line")
    banned = never_continued(context.vocabulary)
    assert banned == [0, UNITS.index(DELIMITER) + 1]
    lines = []
    with torch.no_grad():
        for prefix in map(" ".join, product("abc", repeat=3)):
            units = ["</s>", *prefix.split(), DELIMITER]
            for _ in range(6):
                last = steps(context, units)[-1].index_fill(0, torch.tensor(banned), -torch.inf)
                units.append((UNKNOWN, *UNITS)[int(last.argmax())])
                if units[-1] == "</s>":
                    break
            after = units[units.index(DELIMITER) + 1 :]
            lines.append((f"{prefix}\t{' '.join(after).removesuffix('</s>')}", after[-1] == "</s>"))
    split = split_of(context, tmp_path / "pairs.tsv", [line for line, _ in lines])
    assert 0 < sum(ends for _, ends in lines) < len(lines)
    report = language_report(context, split)
    assert report.to_dict()["exact"] == sum(ends for _, ends in lines)


@torch.no_grad()
@pytest.mark.parametrize("at_once", [1, 7, 512])
def test_a_cache_is_that_of_the_whole_text_however_it_is_read(
    tmp_path: Path, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_scoring, "_SCORED_AT_ONCE", at_once)
    context, cache = context_of(), CacheOptions(window=9, theta=0.7, share=0.3)
    lines = ["a b c", "c b a a", "b b x c", "a b c"]
    split = split_of(context, tmp_path / "a.txt", lines)
    units = ["</s>", *(unit for line in lines for unit in [*line.split(), "</s>"])]
    numbers = torch.tensor([UNITS.index(unit) + 1 if unit in UNITS else 0 for unit in units])
    model = model_of(context)
    states, _ = model.read_on(numbers[None, :-1], None)
    own = model.log_prob_of(states[0], numbers[1:])
    expected = -float(NeuralCache(cache).mix(states[0], numbers[1:], own).sum())
    report = language_report(context, split, cache)
    assert report.nats == pytest.approx(expected, rel=1e-9)
    assert report.nats != pytest.approx(language_report(context, split).nats, rel=1e-3)
    assert report.to_dict()["cache"] == {"window": 9, "theta": 0.7, "share": 0.3}
    none = CacheOptions(window=9, theta=0.7, share=0.0)
    plain = language_report(context, split)
    assert language_report(context, split, none).nats == pytest.approx(plain.nats, rel=1e-12)
    assert "cache" not in plain.to_dict()


@torch.no_grad()
@pytest.mark.parametrize("option", ["context=stream", "direction=backward", "context=line"])
def test_the_scores_of_several_files_are_the_sums_of_theirs(tmp_path: Path, option: str) -> None:
    context = context_of(f"data.{option}")
    cache = CacheOptions(window=9, theta=0.7, share=0.3)
    texts = [["a b c", "c b a a"], ["b b x c"], ["a", "c c a"]]
    one, paths = [], []
    for number, lines in enumerate(texts):
        paths.append(str(tmp_path / f"{number}.txt"))
        one.append(split_of(context, Path(paths[-1]), lines))
    units = UnitLines(TextLines(paths), units_of(context.vocabulary))
    several = Split(path=str(tmp_path), sentences=units, detection=None)
    joined = split_of(context, tmp_path / "all.txt", [line for lines in texts for line in lines])
    for used in [None] if option == "context=line" else [None, cache]:
        whole = language_report(context, several, used)
        parts = [language_report(context, part, used) for part in one]
        assert whole.nats == pytest.approx(sum(part.nats for part in parts), rel=1e-12)
        for name in ("units", "unknown", "characters", "lines"):
            assert getattr(whole, name) == sum(getattr(part, name) for part in parts)
        assert (whole.units, whole.unknown, whole.to_dict()["files"]) == (20, 1, 3)
        assert "files" not in parts[0].to_dict()
        # In one file each line has those before it; lines by themselves do not.
        other = language_report(context, joined, used).nats
        assert (whole.nats == pytest.approx(other, rel=1e-6)) == (option == "context=line")


def test_a_cache_needs_a_model_that_reads_on(tmp_path: Path) -> None:
    context = context_of("data.context=line")
    split = split_of(context, tmp_path / "a.txt", ["a b"])
    with refuses(DataError, "cache", "data.context=line"):
        language_report(context, split, CacheOptions(window=9, theta=1, share=0.1))


@pytest.mark.parametrize(
    ("option", "needed"),
    [("data.context=stream", "context=line"), ("data.direction=backward", "direction=forward")],
)
def test_pairs_are_lines_that_are_read_forward(option: str, needed: str) -> None:
    found = option.partition("=")[2]
    given = ["data.pairs=true", "data.context=line"]
    config = load_config(None, [*given, option], {"task": "language-model"})
    with refuses(ConfigError, "data.pairs", needed, found):
        TASK.resolve(config, None)  # type: ignore[arg-type]
