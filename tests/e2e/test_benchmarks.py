"""The scripts that measure are run by hand, and rarely: what they share is tested here."""

import argparse
import ast
import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from says import refuses

from tagkit.config import default_threads, load_config
from tagkit.config.loading import with_options
from tagkit.corpus.records.dataset import LabelKinds
from tagkit.corpus.splits.splits import load_corpus
from tagkit.models.language.text_scoring import unit_nats
from tagkit.training.setup.setup import prepare

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = sorted(BENCHMARKS.glob("*.py"))


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a script by its name, as python benchmarks/NAME.py does."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield import_module
    for path in SCRIPTS:  # their names are common ones
        sys.modules.pop(path.stem, None)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_what_a_script_imports_from_tagkit_is_there(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tagkit"):
            module = import_module(node.module or "")
            for name in node.names:
                assert hasattr(module, name.name), f"{path.name}:{node.lineno}: {name.name}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size", "train", "dev", "test"),
    [
        ("atis", "200", 200, 500, 893),
        ("trec", "100", 100, 500, 500),
        ("conll2003", "50", 50, 500, 1000),
        ("wnut17", "all", 3394, 500, 509),
        ("gdt", "400", 400, 201, 202),
    ],
)
def test_a_subset_of_a_corpus_is_read_as_it_was_written(
    name: str, size: str, train: int, dev: int, test: int,
    script: Any, corpora: Path, tmp_path: Path,
) -> None:  # fmt: skip
    module = script("corpora")
    parts = module.read_parts(name, corpora)
    config = load_config(None, flags=module.subset(name, size, tmp_path, corpora))
    tags = config.task == "tag"
    found = load_corpus(config, LabelKinds(tags=tags, classes=not tags))
    assert found.test is not None
    splits = found.train, found.dev, found.test
    assert [len(split.sentences) for split in splits] == [train, dev, test]
    for split, part in zip(splits, (parts.train, parts.dev, parts.test), strict=True):
        for read, meant in zip(split.sentences, part, strict=False):
            assert (read.words, read.tags, read.labels) == (meant.words, meant.tags, meant.labels)


def test_spans_of_iob1_are_learned_in_iob2(script: Any, tmp_path: Path) -> None:
    folder = tmp_path / "conll2003"
    folder.mkdir()
    for name in ("eng.train", "eng.testa", "eng.testb"):
        lines = "EU NNP I-NP I-ORG\nin IN I-PP O\nRome NNP I-NP I-LOC\nParis NNP I-NP B-LOC\n\n"
        (folder / name).write_text(lines * 3, encoding="utf-8")
    parts = script("corpora").read_parts("conll2003", tmp_path)
    assert parts.scheme == "iob2"
    for part in (parts.train, parts.dev, parts.test):
        assert [sentence.tags for sentence in part] == [("B-ORG", "O", "B-LOC", "B-LOC")] * 3


def test_texts_are_shuffled_before_dev_is_taken_since_files_may_be_sorted(
    script: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "trec"
    folder.mkdir()
    lines = [f"{label}:x how many {label} {n} ?" for label in ("HUM", "NUM") for n in range(20)]
    for name in ("train.txt", "test.txt"):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="latin-1")
    module = script("corpora")
    parts = module.read_parts("trec", tmp_path)
    assert (len(parts.train), len(parts.dev), len(parts.test)) == (36, 4, 40)
    words = [sentence.words for sentence in parts.train + parts.dev]
    assert sorted(words) == sorted(tuple(line.split(" ")[1:]) for line in lines)
    assert 5 < sum(s.labels == ("HUM",) for s in module.first(parts.train, "20")) < 15


def test_crfsuite_gets_words_affixes_case_and_neighbours(script: Any) -> None:
    module = script("crfsuite")
    assert module.shape("McDonald-07x!") == "XxXx-dx!"
    found = module.FEATURES["sparse"](["U.N.", "official", "Ekeus", "2-1"])
    assert found[0] == [
        "bias", "lower=u.n.", "prefix1=U", "suffix1=.", "prefix2=U.", "suffix2=N.",
        "prefix3=U.N", "suffix3=.N.", "BOS", "+1:lower=official", "isupper=True", "istitle=True",
    ]  # fmt: skip
    assert found[3][-5:] == ["-1:lower=ekeus", "EOS", "hasdigit=True", "hashyphen=True",
                             "-1:istitle=True"]  # fmt: skip
    full = module.FEATURES["full"](["official"])[0]
    assert {"shape=x", "suffix4=cial", "isupper=False", "BOS", "EOS"} <= {*full}


def test_a_setting_is_a_name_with_options(script: Any) -> None:
    parse = script("sizes").parse_setting
    assert parse("default:") == ("default", ())
    assert parse("b8:train.batch_size=8,head.hidden=[50, 20],train.lr=0.1") == (
        "b8",
        ("train.batch_size=8", "head.hidden=[50, 20]", "train.lr=0.1"),
    )
    with refuses(argparse.ArgumentTypeError, "NAME", "'train.lr=1'"):
        parse("train.lr=1")


def _row(**more: Any) -> dict[str, Any]:
    return {
        "model": "tagkit", "corpus": "gdt", "size": "50", "vectors": "none", "seed": 1,
        "setting": "default", "options": [], "sentences": 50, "dev": 0.5, "test": None, **more,
    }  # fmt: skip


def _file(tmp_path: Path, *rows: dict[str, Any]) -> Path:
    path = tmp_path / "sizes.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_runs_that_are_in_the_file_are_not_repeated(script: Any, tmp_path: Path) -> None:
    module = script("sizes")
    path = _file(tmp_path, _row())
    first, second = (module.Trial("gdt", "50", "none", seed, "default", ()) for seed in (1, 2))
    assert module.still_to_do([first, second], path, scored="") == [second]
    assert module.still_to_do([first], path, scored="test") == [first]  # its test is missing
    other = module.Trial("gdt", "50", "none", 1, "default", ("train.lr=1",))
    with refuses(SystemExit, "setting"):
        module.still_to_do([other], path, scored="")


def test_a_corpus_whose_dev_has_no_rest_is_left_out_before_it_is_trained_on(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = script("sizes")
    parts = {"wnut17": SimpleNamespace(train=range(60), rest=()),
             "ewt": SimpleNamespace(train=range(60), rest=(1,))}  # fmt: skip
    monkeypatch.setattr(module, "read_parts", lambda name, _: parts[name])
    asked = SimpleNamespace(corpora=[*parts], sizes=["50"], vectors=["none"], setting=None,
                            seeds=[1], data=tmp_path, rest=True)  # fmt: skip
    assert [trial.corpus for trial in module.trials(asked)] == ["ewt"]
    assert capsys.readouterr().err == "wnut17: left out, all of its dev selects epochs\n"
    asked.rest = False
    assert [trial.corpus for trial in module.trials(asked)] == ["wnut17", "ewt"]


def test_a_table_has_means_and_deviations_over_seeds(script: Any, tmp_path: Path) -> None:
    rows = [
        _row(),
        _row(seed=2, dev=0.52),
        _row(size="400", dev=0.7),
        _row(vectors="glove", corpus="conll2003", size="all", sentences=14_041),
        {"model": "crfsuite", "corpus": "gdt", "size": "50", "features": "full", "dev": 0.6},
        _row(seed=2, dev=0.54),  # a later line replaces an earlier one of the same run
    ]
    module = script("curves")
    table = module.make_table(module.read_rows([_file(tmp_path, *rows)]), "dev")
    assert table.splitlines() == [
        "| dev | | 50 | 400 | all |",
        "| --- | --- | ---: | ---: | ---: |",
        "| CoNLL-2003 English NER | tagkit, GloVe | - | - | 50.0 |",
        "| UD Greek GDT UPOS | CRFsuite | 60.0 | - | - |",
        "|  | tagkit | 52.0 ± 2.8 | 70.0 | - |",
    ]


def test_a_tagger_without_its_crf_of_word_features_has_a_line_of_its_own(
    script: Any, tmp_path: Path
) -> None:
    shares = {"0.5": {"dev": 0.62, "test": 0.61}, "0": {"dev": 0.6, "test": 0.58}}
    rows = [
        _row(dev=0.62, test=0.61, by_share=shares),
        _row(dev=0.7, setting="b8", by_share=shares),  # not of the defaults
    ]
    module = script("curves")
    table = module.make_table(module.read_rows([_file(tmp_path, *rows)]), "test")
    assert table.splitlines()[2:] == [
        "| UD Greek GDT UPOS | tagkit | 61.0 |",
        "|  | tagkit, network alone | 58.0 |",
    ]


@pytest.mark.slow
def test_the_plot_has_a_panel_a_corpus_and_a_line_a_system(script: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = [_row(corpus=name, size=size, sentences=int(size)) for name in ("gdt", "trec")
            for size in ("50", "100")]  # fmt: skip
    path = tmp_path / "sizes.svg"
    script("curves").draw(rows, "dev", path)
    svg = path.read_text("utf-8")
    ElementTree.fromstring(svg)
    for text in (
        ">UD Greek GDT UPOS<",
        ">TREC question types<",
        ">tagkit<",
        ">training sentences<",
    ):
        assert svg.count(text) == 1
    assert len(svg) < 16_000


def test_a_ratio_over_its_bound_is_measured_again_and_then_fails(
    script: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = script("guard")
    ours, theirs = iter([3.0] * 3 + [1.1] * 3 + [5.0] * 20), iter([1.0] * 40)

    def pair(folder: Path) -> Any:
        return ours.__next__, theirs.__next__

    guards = tuple(module.Guard(name, f"a {name}", 1.0, pair) for name in ("first", "second"))
    monkeypatch.setattr(module, "GUARDS", guards)
    monkeypatch.setattr(sys, "argv", ["guard.py"])
    with refuses(SystemExit, "recorded"):
        module.main()
    assert capsys.readouterr().out.splitlines()[2:] == [
        "| a first | 1.10 | 1.00 | 1.20 |  |",
        "| a second | 5.00 | 1.00 | 1.20 | over the bound |",
    ]


def test_the_yardstick_of_scoring_finds_the_f1_of_the_report(script: Any, tmp_path: Path) -> None:
    module = script("guard")
    gold = module.column_file(tmp_path, 40, seed=3)
    assert gold.read_text("utf-8") == module.column_file.__wrapped__(
        tmp_path, 40, seed=3
    ).read_text("utf-8")
    ours, theirs = module.evaluation_of(tmp_path, gold)
    assert ours() == pytest.approx(theirs())


@pytest.mark.slow
def test_the_figures_of_a_gpu_can_be_taken_on_a_cpu(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = script("gpu")
    for name, value in (
        ("LARGE", ("encoder.hidden=8", "encoder.layers=2")),
        ("BATCHES", (4,)),
        ("CHAINS", ((2, 3, 4),)),
    ):
        monkeypatch.setattr(module, name, value)
    path = tmp_path / "figures.jsonl"
    monkeypatch.setattr(
        sys, "argv", ["gpu.py", "--device", "cpu", "--sentences", "12", "-o", str(path)]
    )
    module.main()
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [row.pop("subject") for row in rows] == [
        "equality", "training", "training", "decoding", "decoding", "chains", "large", "large",
    ]  # fmt: skip
    assert rows[0]["tags that differ"] == 0
    assert all(
        value > 0 for row in rows[1:] for value in row.values() if value not in ("fp32", "bf16")
    )


def test_remember_asks_for_the_first_symbol_after_others_that_are_never_asked_for(
    script: Any,
) -> None:
    module = script("long_range")
    inputs, targets = module.draw_remember(7, 5, torch.Generator().manual_seed(1))
    assert inputs.shape == (5, 8, 16)
    assert torch.equal(inputs.sum(2), torch.ones(5, 8))  # one-hot
    symbols = inputs.argmax(2)
    assert torch.equal(symbols[:, :1], targets)
    assert (symbols[:, 0] < 8).all()
    assert (symbols[:, 1:] >= 8).all()


def test_adding_asks_for_the_sum_of_a_marked_number_of_each_half(script: Any) -> None:
    module = script("long_range")
    inputs, targets = module.draw_adding(9, 200, torch.Generator().manual_seed(1))
    numbers, marks = inputs.unbind(2)
    assert numbers.min() >= 0
    assert numbers.max() < 1
    rows, places = marks.nonzero(as_tuple=True)
    assert rows.tolist() == [row for row in range(200) for _ in range(2)]
    first, second = places.view(200, 2).unbind(1)
    assert {*first.tolist()} == {0, 1, 2, 3}  # T = 9: halves of 4 and 5
    assert {*second.tolist()} == {4, 5, 6, 7, 8}
    marked = numbers[rows, places].view(200, 2)
    torch.testing.assert_close(targets, marked.sum(1, keepdim=True))
    # The variance of a sum of two uniform numbers is the error of always answering their mean.
    far = module.draw_adding(9, 20_000, torch.Generator().manual_seed(1))[1]
    assert module.PROBLEMS["adding"].baseline(9) == pytest.approx(1 / 6)
    assert ((far - 1) ** 2).mean().item() == pytest.approx(1 / 6, abs=0.004)


def test_copy_repeats_ten_symbols_after_a_mark(script: Any) -> None:
    module = script("long_range")
    inputs, targets = module.draw_copy(4, 3, torch.Generator().manual_seed(1))
    symbols = inputs.argmax(2)
    assert symbols.shape == targets.shape == (3, 24)
    assert torch.equal(symbols[:, :10], targets[:, 14:])
    assert symbols[0, 10:].tolist() == [8, 8, 8, 9] + [8] * 10
    assert targets[0, :14].tolist() == [8] * 14
    assert symbols[:, :10].max() < 8


def test_the_baseline_of_copy_is_the_loss_of_blanks_and_then_of_guesses(script: Any) -> None:
    module = script("long_range")
    problem = module.PROBLEMS["copy"]
    _, targets = problem.draw(6, 2, torch.Generator().manual_seed(1))
    scores = torch.full((2, 26, 9), -1e4)
    scores[:, :16, 8] = 0
    scores[:, 16:, :8] = 0
    loss = problem.loss(scores.flatten(0, 1), targets.flatten())
    assert loss.item() == pytest.approx(module.copy_baseline(6)) == pytest.approx(0.79979, abs=1e-5)
    assert problem.is_solved(0.0799, 6)
    assert not problem.is_solved(0.0800, 6)


def test_tasks_of_a_memory_ask_for_what_was_shown(script: Any) -> None:
    module, generator = script("memory_tasks"), torch.Generator().manual_seed(1)
    inputs, targets = module.draw_copy((5, 1), 3, generator)
    assert inputs.shape == (3, 12, 10)
    shown = inputs.argmax(2)
    assert torch.equal(shown[:, 1:6], targets)
    assert (shown[:, 0].tolist(), shown[:, 6].tolist()) == ([8] * 3, [9] * 3)
    assert not inputs[:, 7:].any()
    inputs, targets = module.draw_repeat((2, 3), 4, generator)
    assert inputs.shape == (4, 4 + 7, 11)
    shown = inputs.argmax(2)[:, 1:3]
    assert torch.equal(targets, torch.cat((*[shown] * 3, torch.full((4, 1), 8)), 1))
    assert inputs[:, 3, 10].tolist() == pytest.approx([0.3] * 4)
    inputs, targets = module.draw_recall((4, 1), 50, generator)
    assert inputs.shape == (50, 16 + 5 + 3, 10)
    shown = inputs.argmax(2)
    for row, answer in zip(shown.tolist(), targets.tolist(), strict=True):
        assert (row[:16:4], row[16], row[20]) == ([8] * 4, 9, 9)
        items = [row[place : place + 3] for place in (1, 5, 9, 13)]
        assert any(pair == (row[17:20], answer) for pair in pairwise(items))


@pytest.mark.parametrize("name", ["remember", "adding", "copy"])
def test_batches_of_a_problem_follow_from_the_seed(name: str, script: Any) -> None:
    problem = script("long_range").PROBLEMS[name]
    first, again, other = (problem.draw(12, 4, torch.Generator().manual_seed(n)) for n in (1, 1, 2))
    assert torch.equal(first[0], again[0])
    assert torch.equal(first[1], again[1])
    assert not torch.equal(first[0], other[0])


@pytest.mark.slow
def test_learning_ends_when_the_mean_of_twenty_batches_solves_the_problem(script: Any) -> None:
    module = script("long_range")
    budget = module.Budget(hidden=16, batch=8, steps=30, seconds=60)
    figures = iter([0.0] * 3 + [1.0] * 30)  # 0.99 of 20 needs twenty times 1
    problem = replace(module.PROBLEMS["remember"], measure=lambda *_: next(figures))
    found = module.learn(problem, 3, ["encoder.cell=elman"], budget, lr=0.01, seed=1)
    assert (found["ended"], found["steps"], found["figure"]) == ("solved", 23, 1.0)
    short = replace(budget, steps=5)
    found = module.learn(module.PROBLEMS["copy"], 3, [], short, lr=0.01, seed=1)
    assert (found["ended"], found["steps"], found["baseline"]) == ("steps", 5, 0.90411)
    skip = ["encoder.cell=skip", "encoder.skip={T}"]
    found = module.learn(module.PROBLEMS["adding"], 7, skip, short, lr=0.01, seed=1)
    assert found["weights"] == 16 * 2 + 16 + 2 * 16 * 16
    with refuses(ValueError, "train.lr=1", "synthetic"):
        module.Reader(problem, ["train.lr=1"], 8)
    none = replace(budget, seconds=0)
    assert module.learn(module.PROBLEMS["adding"], 3, [], none, lr=0.01, seed=1)["ended"] == "time"


def test_encoders_are_as_large_as_the_lstm(script: Any) -> None:
    module = script("recurrent_tasks")
    inputs = 150
    lstm = load_config(None, ["encoder.hidden=40"])  # fewer than usual: quick to draw
    wanted = module.count_weights(lstm, inputs)
    assert wanted == 2 * (4 * 40 * (150 + 40) + 2 * 4 * 40)
    assert module.equal_size(lstm, inputs, wanted) == 40
    for cell in ("gru", "elman", "skip"):
        config = load_config(None, [f"encoder.cell={cell}"])
        hidden = module.equal_size(config, inputs, wanted)
        assert hidden % 8 == 0
        sizes = [
            abs(module.count_weights(with_options(config, {"encoder.hidden": n}), inputs) - wanted)
            for n in (hidden - 8, hidden, hidden + 8)
        ]
        assert sizes[1] == min(sizes)


def _synthetic(**more: Any) -> dict[str, Any]:
    return {
        "kind": "synthetic", "problem": "copy", "length": 10, "setting": "lstm",
        "options": ["encoder.cell=lstm"], "seed": 1, "lr": 0.001, "hidden": 100, "batch": 32,
        "max_steps": 100, "max_seconds": 60.0, "ended": "solved", "steps": 40, "figure": 0.01,
        **more,
    }  # fmt: skip


def test_the_table_of_a_problem_has_the_steps_at_the_best_rate(script: Any) -> None:
    failed = {"ended": "time", "steps": 90}
    rows = [
        _synthetic(),
        _synthetic(seed=2, steps=60),
        _synthetic(lr=0.003, steps=20),  # faster, and one of two seeds alone
        _synthetic(lr=0.003, seed=2, **failed),
        _synthetic(length=20, **failed, figure=0.04),
        _synthetic(length=20, steps=1234, max_steps=2000),  # the same run with a wider limit
        _synthetic(length=20, seed=2, **failed, figure=0.05),
        _synthetic(setting="elman", **failed, figure=0.5),
        _synthetic(setting="elman", length=50, ended="diverged", figure=3e34),
    ]
    module = script("recurrent_results")
    assert module.tables(rows).splitlines() == [
        "| copy: T = | 10 | 20 | 50 |",
        "| --- | ---: | ---: | ---: |",
        "| lstm | 50 | 1,234 (1 of 2) |  |",
        "| elman | no (0.500) |  | diverged |",
    ]


def test_the_tables_of_tasks_and_speeds_have_means_and_ratios(script: Any) -> None:
    task = {
        "kind": "task", "corpus": "trec", "sentences": "all", "epochs": None, "setting": "lstm",
        "seed": 1, "units": 200, "weights": 5000, "dev": 0.8, "test": 0.9, "best_epoch": 4,
    }  # fmt: skip
    speed = {"kind": "speed", "corpus": "trec", "setting": "lstm", "round": 1, "units": 200}
    rows = [
        task,
        task | {"seed": 2, "dev": 0.81, "test": 0.92, "best_epoch": 6},
        task | {"setting": "gru", "corpus": "ewt", "units": 240},
        speed | {"training": 4000, "decoding": 30_000},
        speed | {"setting": "gru", "training": 1000, "decoding": 10_000},
        speed | {"setting": "gru", "training": 2000, "decoding": 20_000, "round": 2},
        speed | {"setting": "gru", "training": 7000, "decoding": 20_000, "round": 3},
    ]
    assert script("recurrent_results").tables(rows).splitlines() == [
        "All sentences of train, default epochs:",
        "",
        "| cell | units | weights of the encoder | seeds | UD English EWT UPOS, dev "
        "| UD English EWT UPOS, test | TREC question types, dev | TREC question types, test "
        "| best epoch |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| lstm | 200 | 5,000 | 2 | - | - | 80.50 ± 0.71 | 91.00 ± 1.41 | 5 |",
        "| gru | 240 | 5,000 | 1 | 80.00 | 90.00 | - | - | 4 |",
        "",
        "| cell | corpus | units | training | beside lstm | decoding | beside lstm |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
        "| lstm | TREC question types | 200 | 4,000 | 1.00 | 30,000 | 1.00 |",
        "| gru | TREC question types | 200 | 2,000 | 0.50 | 20,000 | 0.67 |",
    ]


@pytest.mark.slow
def test_the_plot_of_the_problems_has_a_bar_and_a_line_for_each_cell(
    script: Any, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    rows = [_synthetic(), _synthetic(length=20), _synthetic(setting="elman", ended="steps")]
    path = tmp_path / "recurrent.svg"
    script("recurrent_results").draw(rows, path)
    svg = path.read_text("utf-8")
    ElementTree.fromstring(svg)
    for text, times in ((">copy: longest T solved<", 1), (">none<", 1), (">elman<", 1),
                        (">lstm<", 2)):  # fmt: skip
        assert svg.count(text) == times, text


def _command(script: Any, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Callable[[], int]:
    module = script("recurrent")
    monkeypatch.setattr(sys, "argv", ["recurrent.py", *arguments])
    main: Callable[[], int] = module.main
    return main


def test_lengths_rise_until_a_setting_has_failed_twice_and_runs_are_not_repeated(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    solved = {"elman": (10, 50), "lstm": (10, 20, 50, 100, 200)}

    def learn(problem: Any, length: int, options: Any, budget: Any, **_: Any) -> dict[str, Any]:
        name = options[0].rpartition("=")[2]
        return {"ended": "solved" if length in solved[name] else "steps", "steps": 1}

    path = tmp_path / "cells.jsonl"
    arguments = ("synthetic", "elman", "lstm", "--problems", "remember", "-o", str(path))
    monkeypatch.setattr(script("recurrent"), "learn", learn)
    main = _command(script, monkeypatch, *arguments, "--lengths", "200", "100", "50", "20", "10")
    assert main() == 0
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [row["length"] for row in rows if row["setting"] == "elman"] == [10, 20, 50, 100, 200]
    assert main() == 0  # all are there
    assert len(path.read_text("utf-8").splitlines()) == len(rows) == 10
    solved["elman"] = (10,)
    assert _command(script, monkeypatch, *arguments, "--seeds", "2")() == 0
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()[10:]]
    assert [row["length"] for row in rows if row["setting"] == "elman"] == [10, 20, 50]
    other = ("synthetic", "--setting", "lstm:encoder.cell=gru", *arguments[3:])
    with refuses(SystemExit, "encoder.cell=lstm", "setting"):
        _command(script, monkeypatch, *other)()


@pytest.mark.slow
def test_a_run_that_fails_is_named_and_the_others_go_on(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    path = tmp_path / "cells.jsonl"
    main = _command(
        script, monkeypatch, "synthetic", "--problems", "copy", "--lengths", "1", "--hidden", "4",
        "--setting", "none:encoder.cell=none", "--setting", "relu:encoder.cell=elman",
        "--steps", "2", "-o", str(path),
    )  # fmt: skip
    assert main() == 1
    assert "copy 1 none 1 0.003 4 32 2 60: ConfigError: " in capsys.readouterr().err
    assert len(path.read_text("utf-8").splitlines()) == 1


@pytest.mark.slow
def test_every_command_of_the_cells_runs(
    script: Any, tmp_path: Path, corpora: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    path = tmp_path / "cells.jsonl"
    cells = ["lstm", "clockwork"]
    data = ["--data", str(corpora), "--sentences", "30", "-o", str(path)]
    for arguments in (
        ["tasks", *cells, "--corpora", "trec", "ewt", "--epochs", "1", *data],
        ["speed", *cells, "--corpora", "trec", "--rounds", "1", *data],
        ["synthetic", "--steps", "2", "--hidden", "16", "--lengths", "20", "-o", str(path)],
    ):
        assert _command(script, monkeypatch, *arguments)() == 0
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    kinds = [row["kind"] for row in rows]
    assert [kinds.count(kind) for kind in ("task", "speed", "synthetic")] == [4, 2, 13]
    assert all(row["training"] > 0 and row["decoding"] > 0 for row in rows if "training" in row)
    sizes = [row["weights"] for row in rows if row["kind"] == "task" and row["corpus"] == "ewt"]
    assert max(sizes) < 1.02 * min(sizes)
    capsys.readouterr()
    assert _command(script, monkeypatch, "table", str(path))() == 0
    assert capsys.readouterr().out.count("| --- |") == 5
    svg = tmp_path / "cells.svg"
    assert _command(script, monkeypatch, "plot", str(path), "-o", str(svg))() == 0
    ElementTree.parse(svg)


def _kneser_ney_by_hand(text: list[int], symbols: int, order: int) -> Callable[..., float]:
    """The definition of Chen and Goodman 1998 with dictionaries: p(symbol | context)."""
    padded = [text[0]] * (order - 2) + text
    counts: list[Counter[tuple[int, ...]]] = [Counter() for _ in range(order + 1)]
    for end in range(order, len(padded) + 1):
        counts[order][tuple(padded[end - order : end])] += 1
    for length in range(order - 1, 0, -1):
        counts[length] = Counter(gram[1:] for gram in counts[length + 1])

    def discount(length: int, count: int) -> float:
        of = Counter(counts[length].values())
        if not all(of[number] for number in (1, 2, 3, 4)):
            return [0, 0.5, 1.0, 1.5][min(count, 3)]
        share = of[1] / (of[1] + 2 * of[2])
        return [0, *(n - (n + 1) * share * of[n + 1] / of[n] for n in (1, 2, 3))][min(count, 3)]

    def probability(context: tuple[int, ...], symbol: int) -> float:
        length = len(context) + 1
        shorter = probability(context[1:], symbol) if context else 1 / symbols
        seen = [counts[length][(*context, other)] for other in range(symbols)]
        if not sum(seen):
            return shorter
        left = sum(discount(length, count) for count in seen)
        count = counts[length][(*context, symbol)]
        return (count - discount(length, count) + left * shorter) / sum(seen)

    return probability


@pytest.mark.parametrize("order", [2, 3, 5])
def test_the_n_grams_are_those_of_the_definition_and_their_probabilities_sum_to_one(
    order: int, script: Any
) -> None:
    generator, symbols = np.random.default_rng(1), 7
    # A text with a memory, and with n-grams that occur once and often; the last symbol never does.
    text = (generator.integers(0, 3, 300).cumsum() % 6).tolist()
    model = script("kneser_ney").KneserNey(np.array(text), order=order, symbols=symbols)
    expected = _kneser_ney_by_hand(text, symbols, order)
    for _ in range(30):
        context = tuple(generator.integers(0, symbols, order - 1).tolist())
        found = [float(model.probabilities(np.array((*context, s)))[-1]) for s in range(symbols)]
        assert found == pytest.approx([expected(context, s) for s in range(symbols)])
        assert sum(found) == pytest.approx(1)
        assert min(found) > 0


def test_bits_are_of_all_symbols_after_the_first_and_long_n_grams_are_refused(script: Any) -> None:
    module = script("kneser_ney")
    model = module.KneserNey(np.array([0, 1, 2] * 20), order=3, symbols=4)
    probabilities = model.probabilities(np.array([0, 1, 2, 0]))
    assert len(probabilities) == 3
    assert model.bits(np.array([0, 1, 2, 0])) == pytest.approx(-np.log2(probabilities).sum())
    assert probabilities[1:].min() > 0.85  # the first one's context has been seen once
    with refuses(ValueError, "101", "10", "63", "symbols"):
        module.KneserNey(np.array([0, 1]), order=10, symbols=101)


def test_the_tables_of_language_models_have_means_and_ratios(script: Any) -> None:
    ptb = {
        "kind": "ptb", "setting": "200x2", "seed": 1, "minutes": 30, "epochs": None,
        "weights": 2_653_400, "dev_perplexity": 115.0, "test_perplexity": 110.0,
        "trained_epochs": 6, "elapsed_minutes": 29.0, "tokens_per_s": 3000,
    }  # fmt: skip
    chars = {"kind": "characters", "dev_bits": 1.9, "test_bits": 1.8, "elapsed_minutes": 0.1}
    speed = {"kind": "speed", "setting": "200x2", "steps": 30, "round": 1}
    rows = [
        ptb,
        ptb | {"seed": 2, "test_perplexity": 111.0, "trained_epochs": 7},
        ptb | {"minutes": None},
        chars | {"setting": "kneser-ney", "order": 5},
        chars | {"setting": "512", "seed": 1, "minutes": None, "epochs": 3, "weights": 9000},
        speed | {"ours": 1000, "bare": 1500},
        speed | {"ours": 2000, "bare": 2000, "round": 2},
        speed | {"ours": 3000, "bare": 2700, "round": 3},
    ]
    assert script("language_results").tables(rows).splitlines() == [
        "| PTB, words | weights | limit | seeds | epochs | dev perplexity | test perplexity "
        "| minutes | tokens/s |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| 200x2 | 2,653,400 | 30 min | 2 | 6 ± 1 | 115.0 ± 0.0 | 110.5 ± 0.7 | 29 | 3,000 |",
        "| 200x2 | 2,653,400 | default | 1 | 6 | 115.0 | 110.0 | 29 | 3,000 |",
        "",
        "| War and Peace, characters | weights | limit | seeds | dev bits | test bits | minutes |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| 5-gram, Kneser-Ney | - | - | - | 1.900 | 1.800 | 0.1 |",
        "| 512 | 9,000 | 3 epochs | 1 | 1.900 | 1.800 | 0.1 |",
        "",
        "| training steps | tagkit, tokens/s | torch, tokens/s | torch / tagkit | rounds |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| 200x2 | 2,000 | 2,000 | 1.00 (0.90 to 1.50) | 3 |",
    ]


def test_the_yardstick_of_language_models_has_the_same_loss(script: Any, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("the old cats often eat fish\nthe cows eat grass\n" * 30, encoding="utf-8")
    sizes = ["embeddings.word_dim=6", "encoder.hidden=5", "encoder.layers=2", "train.bptt=7"]
    files = {"task": "language-model", "data.train_file": str(text)}
    module = script("language_speed")
    prepared = prepare(load_config(None, sizes, files), torch.device("cpu"))
    model = prepared.model.eval()
    bare = module.Bare(len(prepared.vocabulary.words) + 1, 6, 5, 2, tied=True)
    with torch.no_grad():
        bare.embed.weight.copy_(model.embed.words.trained.weight[1:])
        bare.project.weight.copy_(model.head.project.weight)
        bare.output.bias.copy_(model.head.bias)
        for name, weight in bare.lstm.named_parameters():
            layer = model.encoder.layers[int(name[-1])]
            weight.copy_(layer.forwards.get_parameter(f"{name[:-1]}0"))
        ids = torch.from_numpy(np.array(prepared.encoded.ids, np.int64) - 1)
        loss, _ = bare(ids[None, :-1], ids[None, 1:], None)
        nats = sum(float(part.sum()) for part in unit_nats(model, prepared.encoded.ids))
    assert float(loss) == pytest.approx(nats / (len(ids) - 1), rel=1e-5)


@pytest.mark.slow
def test_every_command_of_language_models_runs(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    for folder, start in (("ptb", "ptb"), ("war-and-peace", "wap")):
        (tmp_path / folder).mkdir()
        for part in ("train", "valid", "test"):
            path = tmp_path / folder / f"{start}.{part}.txt"
            path.write_text("the old cats eat fish\nthe cows eat grass\n" * 40, encoding="utf-8")
    path = tmp_path / "language.jsonl"
    small = ["--setting", "small:encoder.hidden=8,embeddings.word_dim=8"]
    data = ["--data", str(tmp_path), "-o", str(path)]

    def run(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["language.py", *arguments])
        status: int = script("language").main()
        return status

    for arguments in (
        ["ptb", *small, "--epochs", "1", "--seeds", "1", "2", *data],
        ["characters", *small, "--epochs", "1", "--orders", "2", "3", *data],
        ["speed", *small, "--rounds", "2", "--steps", "2", *data],
    ):
        assert run(*arguments) == 0
        assert run(*arguments) == 0  # all are there
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [row["kind"] for row in rows] == ["ptb"] * 2 + ["characters"] * 3 + ["speed"] * 2
    assert [row["order"] for row in rows if "order" in row] == [2, 3]
    assert rows[3]["test_bits"] < rows[2]["test_bits"] < rows[4]["test_bits"]
    assert run("speed", "--setting", "gru:encoder.cell=gru", *data) == 1
    capsys.readouterr()
    assert run("table", str(path)) == 0
    assert capsys.readouterr().out.count("| --- |") == 3


def test_the_first_sentences_of_a_file_are_counted_without_its_marks_of_documents(
    script: Any, tmp_path: Path
) -> None:
    path = tmp_path / "eng.train"
    document = "-DOCSTART- -X- -X- O\n\n"
    path.write_text(f"{document}a O\nb O\n\nc O\n\n{document}d O\n\ne O\n\n", "utf-8")
    first = script("contextual").first
    found = first(path, "3", tmp_path).read_text("utf-8")
    assert found == f"{document}a O\nb O\n\nc O\n\n{document}d O\n"
    assert first(path, "all", tmp_path) == path


@pytest.mark.slow
@pytest.mark.skipif(default_threads() < 2, reason="numpy costs less where it starts no thread")
def test_importing_the_configuration_costs_about_as_much_as_importing_numpy(
    script: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    costs = script("costs")
    programs = {name: costs.IMPORTS[name] for name in ("nothing", "numpy", "tagkit.config")}
    seconds = costs.import_seconds(programs, rounds=9)
    # The fastest: other work on the machine only ever adds. 1.1 to 1.3 were measured.
    nothing, numpy, config = (min(seconds[name]) for name in programs)
    assert config - nothing <= 1.6 * (numpy - nothing)
