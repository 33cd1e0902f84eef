"""Audits of tiny corpora: planted errors are found, and what cannot be audited is refused."""

import errno
import os
import random
import tempfile
import threading
from pathlib import Path

import pytest
import tiny
from says import Says

import tagkit
from tagkit.config import load_config
from tagkit.errors import CheckpointError, DataError, Interrupted, TagkitError, TrainingError
from tagkit.evaluation.analysis.label_errors import Audit
from tagkit.text.schemes import span_tuples
from tagkit.training.events.callbacks import Step
from tagkit.training.folder import checkpoint
from tagkit.training.several.audit import AuditListener, audit
from tagkit.training.several.folds import Fold

SMALL = ["embeddings.word_dim=16", "embeddings.char_dim=8", "embeddings.char_hidden=8",
         "encoder.hidden=16", "train.batch_size=8", "train.lr=0.02", "train.threads=1",
         "train.device=cpu", "train.workers=1", "train.patience=0"]  # fmt: skip


class Recorder(AuditListener):
    """Keeps the folds, and may ask for the end at a step."""

    def __init__(self, stop_at: int = 0) -> None:
        self.folds: list[Fold] = []
        self.ended: list[Fold] = []
        self.notes: list[str] = []
        self.stop = threading.Event()
        self.steps, self.stop_at = 0, stop_at

    def on_fold(self, fold: Fold) -> None:
        self.folds.append(fold)

    def on_fold_end(self, fold: Fold) -> None:
        self.ended.append(fold)

    def on_step(self, step: Step) -> None:
        self.steps += 1
        if self.steps == self.stop_at:
            self.stop.set()

    def on_note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def small(train: Path, *options: str, epochs: int = 1) -> tagkit.Config:
    return load_config(
        overrides=[*SMALL, f"train.max_epochs={epochs}", f"data.train_file={train}", *options]
    )


def test_an_audit_is_of_every_sentence_and_leaves_nothing_behind(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = tiny.write(tmp_path / "train.conll", tiny.lines(16, seed=1))
    monkeypatch.chdir(tmp_path)
    before = {*tmp_path.rglob("*")}
    listener = Recorder()
    found = audit(small(train), folds=2, listener=listener)
    assert {*tmp_path.rglob("*")} == before
    assert not [*temporary.iterdir()]
    assert listener.ended == listener.folds
    assert [fold.number for fold in listener.folds] == [1, 2]
    assert sorted(i for fold in listener.folds for i in fold.held_out) == [*range(16)]
    assert listener.steps
    assert len(listener.notes) == 1  # how the file was read, once
    assert (found.corpus, found.folds, found.repeats, found.seed) == (str(train), 2, 1, 1)
    assert found.measure == "F1"
    assert 0 <= found.agreement <= 1
    # After one epoch hardly anything is found, so that most gold spans are in doubt.
    assert found.doubts
    sentences = [*tagkit.read(train)]
    for doubt in found.doubts:
        gold = span_tuples(sentences[doubt.sentence].tags or ())
        assert {*doubt.gold} <= {*gold}
        assert doubt.gold != doubt.predicted
        assert doubt.words == sentences[doubt.sentence].words
        first = min(each[0] for each in (*doubt.gold, *doubt.predicted))
        assert doubt.line == sentences[doubt.sentence].lines[first]
        # What a model predicts is its best path, but of another stretch gold may be likelier.
        assert 0 <= doubt.gold_probability <= 1
        assert doubt.score <= doubt.predicted_probability
    assert [each.score for each in found.doubts] == sorted(
        (each.score for each in found.doubts), reverse=True
    )
    doubted = {doubt.sentence for doubt in found.doubts}
    assert found.contradicted == tuple(int(index in doubted) for index in range(16))


REFUSED = {
    ("folds=1",): "folds=...: expected a whole number, at least 2, found 1",
    ("repeats=0",): "repeats=...: expected a whole number, at least 1, found 0",
    ("folds_by=word",): "folds_by: expected sentence or entity, found 'word'",
    ("train.seeds=[1,2]",): "train.seeds: an audit has one seed, train.seed, and repeats",
    ("data.train_sentences=10",):
        "data.train_sentences: would make models of a part of the corpus alone; leave it out",
    ("task=classify", "data.tree_phrases=true"):
        "data.tree_phrases: phrases of one tree would be in several folds",
    ('data.tag_column=["UPOS","FEATS"]',):
        "data.tag_column: an audit is of one column; name one with data.tag_column",
    ("train.momentum=0.5",): "configuration: train.momentum = 0.5: has no effect with "
        'train.optimizer = "adam"; leave it out',
}  # fmt: skip


@pytest.mark.parametrize(("options", "said"), REFUSED.items(), ids=str)
def test_what_has_no_meaning_for_an_audit_is_refused_before_anything_is_read(
    options: tuple[str, ...], said: str
) -> None:
    own = dict(each.split("=") for each in options if "." not in each and "task" not in each)
    numbers = {name: int(value) if value.isdigit() else value for name, value in own.items()}
    config = load_config(overrides=[each for each in options if each.split("=")[0] not in own])
    with pytest.raises(TagkitError) as found:
        audit(config, **numbers)  # type: ignore[arg-type]
    assert str(found.value) == said


def test_entities_are_of_spans(tmp_path: Path) -> None:
    train = tmp_path / "train.conll"
    train.write_text("a\tNOUN\nb\tVERB\n\nb\tVERB\n\n" * 4, encoding="utf-8")
    with pytest.raises(DataError) as found:
        audit(small(train), folds_by="entity")
    assert str(found.value) == Says(train, "folds_by=entity")


def test_a_fold_that_leaves_no_label_is_named(tmp_path: Path) -> None:
    train = tmp_path / "train.conll"
    text = "".join(f"x{number}\tO\n\n" for number in range(9)) + "Oslo\tB-LOC\n\n"
    train.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as found:
        # One fold holds the only label: the model of that one has none to learn.
        audit(small(train), folds=5)
    assert str(found.value).endswith(
        f" of 5: {train}: every tag is O, so there is nothing to learn"
    )
    assert str(found.value).startswith("fold ")


def test_a_full_disk_is_told_with_what_helps_an_audit(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(checkpoint, "whole_folder", full)
    train = tiny.write(tmp_path / "train.conll", tiny.lines(16, seed=1))
    with pytest.raises(CheckpointError) as found:
        audit(small(train), folds=2)
    place, _, said = str(found.value).partition(": ")
    assert Path(place).parts[-2:] == ("1", "checkpoints")
    assert Path(place).parents[2] == temporary
    assert said == (Says("TMPDIR", "temporary"))
    assert not [*temporary.iterdir()]


@pytest.mark.slow
def test_an_audit_that_is_stopped_leaves_nothing_and_says_where(
    tmp_path: Path, temporary: Path
) -> None:
    train = tiny.write(tmp_path / "train.conll", tiny.lines(16, seed=1))
    listener = Recorder(stop_at=4)  # one step an epoch, three epochs a fold
    with pytest.raises(Interrupted) as found:
        audit(small(train, epochs=3), folds=2, listener=listener, stop=listener.stop)
    assert str(found.value) == "stopped in fold 2 of 2; its models are removed"
    assert listener.ended == listener.folds[:1]
    assert not [*temporary.iterdir()]


@pytest.mark.slow
def test_one_seed_gives_one_audit_and_another_another(tmp_path: Path) -> None:
    train = tiny.write(tmp_path / "train.conll", tiny.lines(24, seed=1))
    weak = "head.feature_crf=0"  # with a CRF of word features there is no doubt at all
    first = audit(small(train, weak), folds=2)
    assert audit(small(train, weak), folds=2) == first
    assert audit(small(train, weak, "train.seed=2"), folds=2).doubts != first.doubts


def wrong(folder: Path) -> tuple[Path, set[int]]:
    """A corpus of 120 sentences with six wrong labels, and the numbers of their sentences."""
    sentences = tiny.lines(120, seed=1)
    chosen = {*random.Random(5).sample(range(120), 6)}
    for number in chosen:
        sentences[number] = [line.replace("PER", "LOC") for line in sentences[number]]
    return tiny.write(folder / "train.conll", sentences), chosen


@pytest.mark.slow
def test_wrong_labels_come_first_and_their_sentences_lose_weight(tmp_path: Path) -> None:
    train, chosen = wrong(tmp_path)
    found = audit(small(train, epochs=12), folds=3, repeats=2)
    first = {doubt.sentence: doubt for doubt in found.doubts[:6]}
    assert len(chosen & {*first}) >= 5
    for number in chosen & {*first}:
        doubt = first[number]
        assert [label for _, _, label in doubt.gold] == ["LOC"]
        assert [label for _, _, label in doubt.predicted] == ["PER"]
        assert (doubt.contradicted, doubt.repeats) == (2, 2)
        assert doubt.predicted_probability > 0.5 > doubt.gold_probability
    weights = found.weights()
    assert all(weights[number] == pytest.approx(0.49) for number in chosen & {*first})
    assert sum(weight == 1 for weight in weights) > 100
    assert found.agreement > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("task", ["classify", "both", "plain"])
def test_wrong_classes_and_plain_labels_come_first_too(task: str, tmp_path: Path) -> None:
    chosen = {3, 40, 71}
    if task == "plain":
        rows = tiny.treebank_lines(80, seed=1)
        for number in chosen:
            rows[number] = [line.replace("VERB", "PUNCT") for line in rows[number]]
        train, options = tiny.write(tmp_path / "train.conllu", rows), []
    elif task == "classify":
        tiny.classified(tmp_path)
        train, options = tmp_path / "train.tsv", ["task=classify"]
        head, *lines = train.read_text("utf-8").splitlines()
        for number in chosen:
            label, _, text = lines[number].partition("\t")
            lines[number] = f"{'leave' if label == 'greet' else 'greet'}\t{text}"
        train.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    else:
        tiny.joint(tmp_path)
        train, options = tmp_path / "train", ["task=both"]
        place = train / "label"
        labels = place.read_text("utf-8").splitlines()
        for number in chosen:
            labels[number] = "long" if labels[number] == "short" else "short"
        place.write_text("\n".join(labels) + "\n", encoding="utf-8")
    found: Audit = audit(small(train, *options, epochs=10), folds=2, repeats=2)
    what = "token" if task == "plain" else "class"
    doubts = [doubt for doubt in found.doubts if doubt.what == what]
    # Texts repeat in these corpora; those with another class each are in one fold.
    assert len({doubt.sentence for doubt in doubts[:4]} & chosen) >= 2
    assert all(doubt.gold_probability < 0.5 for doubt in doubts[:2])
    assert {doubt.what for doubt in found.doubts} <= (
        {"class", "span"} if task == "both" else {what}
    )


def test_a_time_limit_that_is_too_short_for_the_models_ends_the_audit_and_says_what_it_needs(
    tmp_path: Path,
) -> None:
    train = tiny.write(tmp_path / "train.conll", tiny.lines(40, 1))
    listener = Recorder()
    with pytest.raises(TrainingError) as caught:
        audit(small(train, "train.max_minutes=0.0001"), folds=8, listener=listener)
    assert "the time limit was over after 1 of 8 models, which took " in str(caught.value)
    assert "minutes or more (train.max_minutes), or have fewer models" in str(caught.value)
    assert len(listener.ended) == 1
