"""Corpora on which no score means anything are noted; eval --gold alone says what it expects."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest
import tiny
from kinds import TAGS
from says import Says, refuses

from tagkit.cli.commands.check import check_lines
from tagkit.config import DataConfig, load_config
from tagkit.corpus.lint.check import check_files
from tagkit.corpus.records.dataset import Split, with_label_notes
from tagkit.corpus.splits.splits import load_corpus
from tagkit.errors import DataError
from tagkit.evaluation.compare.compare import compare_files
from tagkit.inference.score.score import score_model
from tagkit.training.trainer import train

LONG = "x" * 2_000_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("notes")
    tiny.corpus(place)
    text = (place / "dev.conll").read_text()
    other = text.replace("-PER", "-GENE").replace("-LOC", "-DRUG")
    (place / "other.conll").write_text(other)
    lines = [line.split("\t")[0] + "\tO" if line else "" for line in text.splitlines()]
    (place / "outside.conll").write_text("\n".join(lines) + "\n")
    return place


def notes(folder: Path, **files: str) -> dict[str, tuple[str, ...]]:
    flags = {f"data.{name}_file": str(folder / file) for name, file in files.items()}
    corpus = load_corpus(load_config(flags={"data.train_file": str(folder / "train.conll"),
                                            **flags}), TAGS)  # fmt: skip
    splits: dict[str, Split | None] = {"dev": corpus.dev, "test": corpus.test}
    known = corpus.train.labels(), corpus.train.classes().keys(), corpus.train.path
    return {
        name: tuple(
            note for note in with_label_notes(split, *known).notes if ": read as " not in note
        )
        for name, split in splits.items()
        if split
    }


def test_a_dev_or_test_corpus_without_any_label_is_noted(folder: Path) -> None:
    said = f"{folder}/outside.conll: every tag is O, so that scores on it mean nothing"
    assert notes(folder, dev="outside.conll", test="test.conll") == {"dev": (said,), "test": ()}
    assert notes(folder, dev="dev.conll", test="outside.conll") == {"dev": (), "test": (said,)}


def test_a_dev_or_test_corpus_of_other_labels_is_noted(folder: Path) -> None:
    said = Says(f"{folder}/other.conll: ", f"{folder}/train.conll", "DRUG, GENE")
    assert notes(folder, dev="other.conll", test="other.conll") == {"dev": (said,), "test": (said,)}


def test_classes_that_train_lacks_are_noted() -> None:
    split = Split("a.tsv", (), None)
    assert with_label_notes(split, {"x"}, {"y"}, "b.tsv").notes == ()
    tiny_split = load_split_of_classes()
    assert with_label_notes(tiny_split, set(), {"sport"}, "b.tsv").notes == (
        Says("a.tsv", "b.tsv"),
    )
    assert with_label_notes(tiny_split, set(), {"sport", "tea"}, "b.tsv").notes == ()


def load_split_of_classes() -> Split:
    from tagkit.text.records import Sentence

    return Split("a.tsv", (Sentence(("a",), labels=("tea",)),), None)


@dataclass
class Heard:
    said: list[str] = field(default_factory=list)

    def __call__(self, text: str) -> None:
        self.said.append(text)


def test_eval_notes_such_corpora_too(folder: Path) -> None:
    predictor = train(tiny.small(folder, "train.max_epochs=1")).predictor
    for file, expected in (
        ("outside.conll", "O"),
        ("other.conll", "DRUG, GENE"),
    ):
        heard = Heard()
        score_model(predictor, str(folder / file), DataConfig(), False, 32, heard)
        assert [said for said in heard.said if ": read as " not in said] == [
            Says(f"{folder / file}: ", expected)
        ]


def test_gold_alone_needs_a_third_column(folder: Path) -> None:
    gold = str(folder / "dev.conll")
    with refuses(DataError, "dev.conll", "2", "predictions"):  # fmt: skip
        compare_files(gold, None, DataConfig(), -1, False)
    lines = (folder / "dev.conll").read_text().splitlines()
    both = folder / "both.conll"
    both.write_text("".join(f"{line}\t{line.split()[1]}\n" if line else "\n" for line in lines))
    assert compare_files(str(both), None, DataConfig(), -1, False).headline == 1.0
    with refuses(DataError, "both.conll:1", "-2", "columns"):  # fmt: skip
        compare_files(str(both), None, DataConfig(), -2, False)


ODD = {
    "tag.conll": f"a\tB-{LONG}\nb\tI-other{LONG}\n\nc\tX-{LONG}\n\n",
    "tags.conll": f"a\tB-X\nb\tI-X\nc\t{LONG}\n\n" + "d\tB-X\n\n" * 20,
    "word.conll": f"{LONG}\tB-X\nb\tO\n\n" * 2,
    "row.conll": f"a\tO\n{LONG}\tO\tO\n\n",
    "text.tsv": f"label\ttext\n{LONG}\ta\nother\tb\n{LONG.upper()}\ta\n",
    "keys.jsonl": f'{{"{LONG}": 1, "b": 2}}\n',
    "class.jsonl": f'{{"text": "a", "label": "{LONG}"}}\n{{"text": "b", "label": "{LONG}"}}\n',
    "spans.jsonl": f'{{"text": "ab", "spans": [[0, 1, "{LONG}"], [1, 5, "{LONG}"]]}}\n',
    "number.jsonl": f'{{"text": {"1" * 4000}, "label": "{LONG}"}}\n',
    "pair.ann": f"T1\t{LONG} 0 9\t{LONG}\n",
    "odd.trees": f"(3 (2 {LONG}) (9 b))\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD)
def test_reports_quote_no_more_than_a_bounded_part_of_a_value(tmp_path: Path, name: str) -> None:
    (tmp_path / "pair.txt").write_text("a text")
    (tmp_path / name).write_text(ODD[name])
    report = check_files([str(tmp_path / name)], DataConfig())
    for line in check_lines(report):
        assert len(line) < 2000, line[:200]
    for finding in report.findings:
        assert len(finding.message) < 1000, finding.message[:200]
