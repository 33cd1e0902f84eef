"""`tagkit.evaluate`: files, records, models, in any combination, have the same scores."""

import json
from pathlib import Path

import pytest
import tiny
from small_runs import TASKS, of_task

import tagkit
from tagkit.errors import ConfigError, DataError
from tagkit.inference.predictor import Predictor
from tagkit.training.trainer import Trained, train


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("evaluate")


@pytest.fixture(scope="module")
def model(folder: Path) -> Predictor:
    return train(tiny.config(folder, "train.max_epochs=2", "train.lr=0.01")).predictor


def test_files_records_and_a_model_have_the_same_scores(folder: Path, model: Predictor) -> None:
    path = folder / "test.conll"
    expected = tagkit.evaluate(path, model=model)
    assert 0 < expected.headline < 1
    assert tagkit.evaluate(path, model=folder / "model", device="cpu") == expected
    gold = list(tagkit.read(path))
    assert tagkit.evaluate(gold, model=model) == expected
    answers = list(model.stream(gold))
    tagkit.write(answers, folder / "answers.jsonl", force=True)
    tagkit.write(answers, folder / "answers.conll", force=True)
    predictions = model.annotate(gold, batch_size=4, confidence=False)
    as_files = (folder / "answers.jsonl", str(folder / "answers.conll"))
    for pred in (answers, iter(answers), predictions, *as_files):
        assert tagkit.evaluate(gold, pred).to_dict() == {**expected.to_dict(), "unknown": {}}
    assert tagkit.evaluate(path, as_files[1]).to_dict()["micro"] == expected.to_dict()["micro"]
    strict = tagkit.evaluate(gold, answers, strict=True)
    assert strict == tagkit.evaluate(path, as_files[1], strict=True)


def test_documents_are_scored_by_their_spans(folder: Path, model: Predictor) -> None:
    tagkit.convert(folder / "test.conll", folder / "spans.jsonl", to="jsonl-spans")
    gold = list(tagkit.read(folder / "spans.jsonl"))
    expected = tagkit.evaluate(folder / "spans.jsonl", model=model)
    assert tagkit.evaluate(gold, model=model) == expected
    assert tagkit.evaluate(gold, model.stream(gold)).headline == expected.headline
    assert tagkit.evaluate(gold, gold).headline == 1


@pytest.mark.parametrize("task", list(TASKS))
def test_reports_and_results_of_every_task_are_what_json_gives_back(
    task: str, tmp_path: Path
) -> None:
    config = of_task(tmp_path, task, "train.max_epochs=1")
    trained = train(config)
    assert isinstance(trained, Trained)
    gold = list(tagkit.read(config.data.test_file, tag_column=config.data.tag_column))
    report = tagkit.evaluate(gold, model=trained.predictor)
    answers = list(trained.predictor.stream(gold, confidence=True))
    compared = tagkit.evaluate(gold, answers)
    if task == "columns":  # records are compared by the first column alone
        assert compared.headline == report.parts()["UPOS_accuracy"]
    else:
        assert compared.to_dict().keys() == report.to_dict().keys()
        assert compared.parts() == report.parts()
    one = answers[0]
    for result in (trained, report, one, gold[0], trained.best, *one.spans, *one.scores):
        table = result.to_dict()
        assert json.loads(json.dumps(table, allow_nan=False)) == table
    assert one.to_dict()["text"] == one.text
    assert [each["number"] for each in trained.to_dict()["epochs"]] == [1]


def test_what_cannot_be_compared_is_refused(folder: Path, model: Predictor) -> None:
    gold = [tagkit.Sentence(("Ada", "left"), ("B-PER", "O"))]
    other = [tagkit.Sentence(("Ben", "left"), ("B-PER", "O"))]
    texts = [tagkit.Document("Ada left", labels=("leave",))]
    for arguments, said in (
        ((gold, other), "pred: record 1: expected 'Ada left', as in gold, found 'Ben left'"),
        ((gold, gold * 2),
         "pred: record 2: expected the end of the records, as in gold, found 'Ada left'"),
        ((gold, texts), "expected tags or classes in both gold and pred, found tags in gold and "
         "classes in pred"),
        ((gold, [3]), "pred: expected a Sentence, a Document, or a model's answer, found 3"),
        (([], gold), "gold: expected at least one record, found none"),
        ((gold, 3), "pred: expected a file or records, found 3"),
        ((gold,), "expected a model or pred beside the gold records, found neither"),
    ):  # fmt: skip
        with pytest.raises(DataError) as refused:
            tagkit.evaluate(*arguments)
        assert str(refused.value) == said
    with pytest.raises(DataError, match=r"^expected either model or pred, found both"):
        tagkit.evaluate(gold, gold, model=model)
    with pytest.raises(DataError, match="the records hold classes of texts: strict is for spans"):
        tagkit.evaluate(texts, texts, strict=True)
    with pytest.raises(ConfigError, match=r"unknown option data\.shceme; did you mean data\.sch"):
        tagkit.evaluate(gold, gold, shceme="iob2")
