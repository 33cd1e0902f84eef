"""`tagkit.compare`: files, records and models of several systems have the same scores."""

import gc
import json
import shutil
import weakref
from pathlib import Path
from typing import Any

import pytest
import tiny
from says import Says, refuses

import tagkit
from tagkit.errors import DataError, SchemeError
from tagkit.inference.predict import predictor as predictor_module
from tagkit.inference.score import systems
from tagkit.training.trainer import train

WORDS = ("Ada", "Byron", "left", "Rome")
GOLD = [tagkit.Sentence(WORDS, ("B-PER", "I-PER", "O", "B-LOC"))] * 40
WORSE = [tagkit.Sentence(WORDS, ("B-PER", "O", "O", "B-LOC"))] * 20 + GOLD[20:]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, a model, and a run of two seeds, both of which are this model."""
    folder = tmp_path_factory.mktemp("systems")
    train(tiny.config(folder, "train.max_epochs=2", "train.lr=0.01"))
    for seed in (3, 1):
        shutil.copytree(folder / "model", folder / f"seeds/seed-{seed}")
    (folder / "seeds/seeds.json").write_text(json.dumps([{"seed": 3}, {"seed": 1}]), "utf-8")
    return folder


def test_predictions_in_files_and_in_records_have_the_same_comparison(tmp_path: Path) -> None:
    for name, records in (("gold", GOLD), ("worse", WORSE)):
        tagkit.write(records, tmp_path / f"{name}.conll")
    of_records = tagkit.compare(iter(GOLD), {"a": WORSE, "b": GOLD}).parts[""]
    of_files = tagkit.compare(
        tmp_path / "gold.conll", {"a": tmp_path / "worse.conll", "b": str(tmp_path / "gold.conll")}
    ).parts[""]
    for one, other in zip(of_records, of_files, strict=True):
        assert (one.name, one.score, one.interval) == (other.name, other.score, other.interval)
        assert (one.difference, one.types) == (other.difference, other.types)
    assert of_records[1].types["PER"].difference is not None
    assert of_records[1].types["PER"].difference.difference == 0.5


def test_a_list_of_files_or_of_lists_of_records_are_the_runs_of_a_system(tmp_path: Path) -> None:
    tagkit.write(WORSE, tmp_path / "worse.conll")
    runs = [tmp_path / "worse.conll", GOLD, tuple(WORSE)]
    several, one = tagkit.compare(GOLD, {"several": runs, "one": WORSE}).parts[""]
    assert [run.name.rpartition("/")[2] for run in several.runs] == [
        "worse.conll", "several, run 2", "several, run 3",
    ]  # fmt: skip
    assert several.score == pytest.approx((2 * one.score + 1) / 3)


def test_models_are_compared_as_their_predictions_are_and_one_is_in_memory_at_a_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = predictor_module.load
    loaded: list[weakref.ref[Any]] = []
    alive: list[int] = []

    def counting(*arguments: Any) -> Any:
        gc.collect()
        alive.append(sum(each() is not None for each in loaded))
        model = load(*arguments)
        loaded.append(weakref.ref(model))
        return model

    monkeypatch.setattr(predictor_module, "load", counting)
    gold = folder / "test.conll"
    model, seeds = folder / "model", folder / "seeds"
    found = tagkit.compare(gold, models={"one": model, "seeds": seeds}).parts[""]
    assert alive == [0, 0, 0]
    assert [run.name for run in found[1].runs] == [str(seeds / "seed-3"), str(seeds / "seed-1")]
    assert found[1].difference is not None
    assert (found[1].difference.difference, found[1].difference.p) == (0, 1)
    expected = tagkit.evaluate(gold, model=model)
    assert {run.report.headline for system in found for run in system.runs} == {expected.headline}
    predictor = load(model)
    both = tagkit.compare(list(tagkit.read(gold)), models={"a": [predictor, model], "b": model})
    assert both.parts[""][0].score == expected.headline
    assert both.parts[""][0].spread.seeds == 0


def test_a_corpus_that_does_not_suit_a_model_names_the_model(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "gold.tsv").write_text("label\ttext\ngreet\tgood morning\n", "utf-8")
    with pytest.raises(DataError) as refused:
        tagkit.compare(tmp_path / "gold.tsv", models={"one": folder / "model"})
    assert refused.value.lines[-1] == f"That is of the model {folder / 'model'}."


def test_a_model_of_spans_and_a_corpus_of_labels_are_refused_in_one_sentence(
    folder: Path, tmp_path: Path
) -> None:
    gold = tmp_path / "gold.conll"
    gold.write_text("Ada NNP\nleft VBD\n\nBen NNP\n", "utf-8")
    with pytest.raises(DataError) as refused:
        tagkit.compare(gold, models={"one": folder / "model"})
    assert refused.value.lines == (
        f"{folder / 'model'} predicts spans (IOB2); {gold} has plain labels (such as parts of "
        "speech). data.tag_column names another column",
    )
    reverse = SchemeError("c.dev", "labels", "iob1", ". Name another")
    assert systems._of_other_tags("m/ud", reverse) == (
        "m/ud predicts plain labels (such as parts of speech); c.dev has spans (IOB1). Name another"
    )
    assert str(reverse) == Says("c.dev", "another")


def test_what_cannot_be_compared_is_refused() -> None:
    for preds, models, message in (
        (None, None, Says("preds", "models", "neither")),
        ({"a": GOLD}, {"a": "model"}, Says("preds", "models", "both")),
        ({}, None, Says("preds: ", "names")),
    ):
        with refuses(DataError, message):
            tagkit.compare(GOLD, preds, models=models)
    with refuses(DataError, "several systems", "standard"):
        tagkit.compare("-", {"a": GOLD})
