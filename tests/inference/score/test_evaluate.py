"""`tagkit.evaluate`: files, records, models, in any combination, have the same scores."""

import json
from pathlib import Path

import pytest
import tiny
from says import Says, refuses
from small_runs import TASKS, of_task

import tagkit
from tagkit.errors import ConfigError, DataError, FormatError
from tagkit.inference.predict.predictor import Predictor
from tagkit.nn.softmax.neural_cache import CacheOptions
from tagkit.text.records import Sentence
from tagkit.training.run_end import Trained
from tagkit.training.trainer import train


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("evaluate")


@pytest.fixture(scope="module")
def model(folder: Path) -> Predictor:
    return train(
        tiny.config(folder, "train.max_epochs=2", "train.lr=0.01", "head.feature_crf=0")
    ).predictor


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


def test_the_predicted_column_of_conllu_is_found_as_eval_finds_it(tmp_path: Path) -> None:
    gold, found = tmp_path / "gold.conllu", tmp_path / "found.conllu"
    row = "\t_" * 5
    gold.write_text(f"1\tAda\t_\tPROPN\t_{row}\n2\tleft\t_\tVERB\t_{row}\n\n", "utf-8")
    found.write_text(gold.read_text("utf-8").replace("VERB", "NOUN"), "utf-8")
    for options in ({}, {"tag_column": "UPOS"}):
        assert tagkit.evaluate(gold, found, **options).headline == 0.5
    assert tagkit.evaluate(gold, gold, pred_column="UPOS").headline == 1
    gold.write_text(gold.read_text("utf-8").replace("VERB\t_", "VERB\tPROPN"), "utf-8")
    gold.write_text(gold.read_text("utf-8").replace("PROPN\t_", "PROPN\tPROPN"), "utf-8")
    assert tagkit.evaluate(gold, pred_column="XPOS").headline == 0.5


def test_records_are_compared_as_files_of_them_are(tmp_path: Path) -> None:
    text, other = "To NewYork now", "So long"
    span, part = (tagkit.TextSpan(text[3:end], 3, end, "LOC") for end in (10, 6))
    spans = [tagkit.Document(text, spans=(span,)), tagkit.Document(other, spans=())]
    # A span inside a token: what counts are characters.
    parts = [tagkit.Document(text, spans=(part,)), tagkit.Document(other, spans=())]
    tags = [tagkit.Sentence(("To", "NewYork", "now"), ("O", "B-LOC", "O")),
            tagkit.Sentence(("So", "long"), ("O", "O"))]  # fmt: skip
    classes = [tagkit.Document(text, labels=("go",)), tagkit.Document(other, labels=("leave",))]
    # A text of which nothing was likely enough: still of one class a text.
    unsure = [classes[0], tagkit.Document(other, labels=())]
    for gold, found, headline in (
        (spans, parts, 0), (tags, spans, 1), (spans, tags, 1), (classes, unsure, 0.5),
    ):  # fmt: skip
        paths = tmp_path / "gold.jsonl", tmp_path / "found.jsonl"
        for records, path in zip((gold, found), paths, strict=True):
            lines = ({"tokens": each.words, "tags": each.tags} if isinstance(each, tagkit.Sentence)
                     else {"text": each.text, "labels": each.labels} if each.spans is None
                     else {"text": each.text, "spans": [[s.start, s.end, s.label]
                                                        for s in each.spans]}
                     for each in records)  # fmt: skip
            path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
        report = tagkit.evaluate(gold, found)
        assert report.headline == headline
        assert report == tagkit.evaluate(*paths)


@pytest.mark.slow
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
    if task == "columns":  # records are compared by the first column alone, which a note says
        notes: list[str] = []
        tagkit.evaluate(gold, answers, note=notes.append)
        assert notes == ["gold: has several tag columns; UPOS, the first of them, is scored"]
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
        ((gold, other), Says("pred:1: ", "'Ada'", "gold:1", "'Ben'")),
        ((gold, gold * 2), Says("pred:2: ", "'Ada'")),
        ((texts, texts * 2), Says("pred:2: ", "'Ada left'")),
        ((gold, texts), Says("pred: ", "tags", "classes")),
        ((gold, [3]), Says("pred: ", "Sentence", "3")),
        (([], gold), Says("gold: ", "record")),
        ((gold,), Says("model", "pred")),
    ):  # fmt: skip
        with refuses(DataError, said):
            tagkit.evaluate(*arguments)
    with refuses(DataError, "either"):
        tagkit.evaluate(gold, gold, model=model)
    plain = [Sentence(("a", "b"), ("DT", "NN"))]
    with refuses(DataError, "labels"):
        tagkit.evaluate(plain, plain, strict=True)
    with refuses(DataError, "classes"):
        tagkit.evaluate(texts, texts, strict=True)
    with refuses(ConfigError, "data.shceme", "data.sch"):
        tagkit.evaluate(gold, gold, shceme="iob2")


def test_arguments_for_another_kind_of_scoring_are_refused(folder: Path, model: Predictor) -> None:
    dev = folder / "dev.conll"
    cache = CacheOptions(window=500, theta=0.4, share=0.1)
    records = list(tagkit.read(dev))
    for gold in (dev, records):
        with refuses(DataError, "language"):
            tagkit.evaluate(gold, model=model, cache=cache)
        with refuses(DataError, "pred_column", "either"):
            tagkit.evaluate(gold, model=model, pred_column=1)
    with refuses(DataError, "pred_column", "either"):
        tagkit.analyse(dev, model=model, pred_column=1)


@pytest.mark.parametrize("names", ["errors", ["error"]])
def test_names_of_no_analyses_are_refused(names: str | list[str]) -> None:
    gold = [tagkit.Sentence(("To", "Rome"), ("O", "B-LOC"))]
    with refuses(DataError, "analyses"):
        tagkit.analyse(gold, gold, analyses=names)


def test_names_of_analyses_may_come_from_a_generator(folder: Path, model: Predictor) -> None:
    names = ["errors", "measures"]
    found = tagkit.analyse(folder / "dev.conll", model=model, analyses=(name for name in names))
    assert set(found.to_dict()) == {*names}


def test_words_in_lists_are_those_of_the_answers(model: Predictor) -> None:
    gold = [Sentence(["Ada", "visits", "Rome", "."], ["B-PER", "O", "B-LOC", "O"])]  # type: ignore[arg-type]
    assert (
        tagkit.evaluate(gold, model.predict(gold)).headline
        == tagkit.evaluate(gold, model=model).headline
    )
    other = [Sentence(("Ada", "sees", "Rome", "."), ("O",) * 4)]
    with refuses(FormatError, "'visits'", "1", "'sees'"):
        tagkit.evaluate(gold, other)


def test_a_brat_folder_is_paired_with_its_corpus_by_the_texts(tmp_path: Path) -> None:
    # Files are sorted by their names: s1, s10, s2.
    gold = [
        tagkit.Document(f"Oslo {n}", (tagkit.TextSpan("Oslo", 0, 4, "LOC"),), name=f"s{n}")
        for n in (1, 2, 10)
    ]
    tagkit.write(gold, tmp_path / "gold.jsonl")
    tagkit.write(gold, tmp_path / "brat", to="brat")
    report = tagkit.evaluate(tmp_path / "gold.jsonl", tmp_path / "brat")
    assert report.headline == 1
