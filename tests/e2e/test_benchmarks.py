"""The scripts that measure are run by hand, and rarely: what they share is tested here."""

import argparse
import ast
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tagkit.config import load_config
from tagkit.corpus.dataset import LabelKinds
from tagkit.corpus.splits import load_corpus

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


@pytest.mark.parametrize(
    ("name", "size", "train", "dev", "test"),
    [
        ("conll2003", "50", 50, 500, 1000),
        ("atis", "200", 200, 500, 893),
        ("wnut17", "all", 3394, 500, 509),
        ("gdt", "400", 400, 201, 202),
        ("trec", "100", 100, 500, 500),
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
    with pytest.raises(argparse.ArgumentTypeError, match=r"expected NAME:.*found 'train.lr=1'"):
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
    assert module.still_to_do([first, second], path, with_test=False) == [second]
    assert module.still_to_do([first], path, with_test=True) == [first]  # its test is missing
    other = module.Trial("gdt", "50", "none", 1, "default", ("train.lr=1",))
    with pytest.raises(SystemExit, match="the setting default is there with no options"):
        module.still_to_do([other], path, with_test=False)


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
    with pytest.raises(SystemExit, match=r"^slower than recorded: second$"):
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
