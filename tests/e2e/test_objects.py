"""What a program has in place of files: trained on, predicted for and scored as files are.

The law: a run from records, frames and data sets has the weights of the run from the file, bit for
bit. Packages that are not installed are skipped: pandas, Polars, `datasets`, pyarrow.
"""

import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny
from says import refuses

import tagkit
from tagkit import DataError, Document, Predictor, Sentence, TextSpan
from tagkit.storage import digest_of_bytes

FIXTURES = Path(__file__).parents[1] / "fixtures" / "0.2.0"
Row = dict[str, Any]
SMALL = {
    "train.max_epochs": 1, "train.threads": 1, "train.device": "cpu", "encoder.hidden": 8,
    "embeddings.word_dim": 8,
}  # fmt: skip
CHARS = {"embeddings.char_dim": 4, "embeddings.char_hidden": 4}


def frame(rows: list[Row]) -> Any:
    return pytest.importorskip("pandas").DataFrame(rows)


def polars(rows: list[Row]) -> Any:
    return pytest.importorskip("polars").DataFrame(rows)


def dataset(rows: list[Row]) -> Any:
    return pytest.importorskip("datasets").Dataset.from_list(rows)


def table(rows: list[Row]) -> Any:
    return pytest.importorskip("pyarrow").Table.from_pylist(rows)


def columns(rows: list[Row]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


OBJECTS: dict[str, Callable[[list[Row]], Any]] = {
    "dictionaries": list, "generator": iter, "columns": columns, "pandas": frame,
    "polars": polars, "datasets": dataset, "pyarrow": table,
}  # fmt: skip


def head(path: Path, count: int, *, skip: int = 0, blank: bool = False) -> str:
    """The first lines of a corpus or, with `blank`, the first sentences of a column file."""
    text = path.read_text("utf-8")
    parts = text.split("\n\n" if blank else "\n")[skip : skip + count]
    return "".join(part + ("\n\n" if blank else "\n") for part in parts)


def conll(corpora: Path, to: Path) -> dict[str, Any]:
    found = head(corpora / "conll2003" / "eng.train", 40, skip=1, blank=True)
    to.write_text(found, "utf-8")
    return {"task": "tag", **CHARS}


def atis(corpora: Path, to: Path) -> dict[str, Any]:
    to.mkdir()
    for name in ("seq.in", "seq.out", "label"):
        (to / name).write_text(head(corpora / "atis" / "train" / name, 40), "utf-8")
    return {"task": "both", **CHARS}


def trec(corpora: Path, to: Path) -> dict[str, Any]:
    text = (corpora / "trec" / "train.txt").read_text("latin-1")
    to.write_text("".join(f"{line}\n" for line in text.split("\n")[:60]), "utf-8")
    return {"task": "classify", "data.label_level": "coarse"}


def sst(corpora: Path, to: Path) -> dict[str, Any]:
    to.write_text(head(corpora / "sst" / "train.txt", 40), "utf-8")
    return {"task": "classify"}


def ptb(corpora: Path, to: Path) -> dict[str, Any]:
    to.write_text(head(corpora / "ptb" / "ptb.train.txt", 30), "utf-8")
    return {"task": "language-model"}


def rows_of(path: Path, options: dict[str, Any]) -> list[Row]:
    """A corpus as dictionaries with the keys of JSON Lines."""
    if options["task"] == "language-model":
        return [{"text": line} for line in path.read_text("utf-8").splitlines()]
    data = {key[5:]: value for key, value in options.items() if key.startswith("data.")}
    return [row_of(record, options["task"]) for record in tagkit.read(path, **data)]


def row_of(record: Sentence | Document, task: str) -> Row:
    row: Row
    if isinstance(record, Sentence):
        row = {"tokens": [*record.words], "tags": [*(record.tags or ())]}
    elif record.tokens:  # of a tree
        row = {"tokens": [record.text[start:end] for start, end in record.tokens]}
    else:
        row = {"text": record.text}
    return row if task == "tag" else {**row, "label": record.labels[0]}


def weights(folder: Path) -> str:
    return digest_of_bytes((folder / "best" / "model.safetensors").read_bytes())


@pytest.mark.slow  # trains forty small models
@pytest.mark.parametrize("corpus", [conll, atis, trec, sst, ptb], ids=lambda each: each.__name__)
def test_a_run_from_objects_has_the_weights_of_the_run_from_the_file(
    corpora: Path, tmp_path: Path, corpus: Callable[[Path, Path], dict[str, Any]]
) -> None:
    path = tmp_path / "corpus"
    options = {**SMALL, **corpus(corpora, path)}
    tagkit.train({**options, "data.train_file": str(path), "output.dir": str(tmp_path / "file")})
    rows, tried = rows_of(path, options), 0
    for name, make in OBJECTS.items():
        try:
            given = make(rows)
        except pytest.skip.Exception:
            continue
        folder = tmp_path / name
        # The level of a label is that of the records.
        own = {key: value for key, value in options.items() if key != "data.label_level"}
        tagkit.train({**own, "output.dir": str(folder)}, train=given)
        assert weights(folder) == weights(tmp_path / "file"), name
        tried += 1
    assert tried >= 3


WORDS, TAGS = ["Ada", "Miller", "visits", "Lima"], ["B-PER", "I-PER", "O", "B-LOC"]
TEXT, PLACES = "Ada Miller visits Lima", [(0, 10, "PER"), (18, 22, "LOC")]
SPANS = tuple(TextSpan(TEXT[a:b], a, b, label) for a, b, label in PLACES)
SENTENCE = Sentence(tuple(WORDS), tuple(TAGS))
KINDS: dict[str, Any] = {
    "Sentence": SENTENCE, "Document": Document(TEXT, SPANS), "words and tags": (WORDS, TAGS),
    "pairs": [*zip(WORDS, TAGS, strict=True)], "spans": (TEXT, PLACES),
    "features between": [*zip(WORDS, "abcd", TAGS, strict=True)],
    "lists": [TEXT, [list(place) for place in PLACES]],
    "spaCy": (TEXT, {"entities": PLACES}), "spans of tagkit": {"text": TEXT, "spans": SPANS},
    "doccano": {"text": TEXT, "labels": PLACES}, "datasets": {"tokens": WORDS, "ner_tags": TAGS},
}  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    folder = tmp_path_factory.mktemp("objects")
    config = tiny.config(folder, "train.max_epochs=3")
    trained = tagkit.train(config, train=[*tagkit.read(tiny.corpus(folder)["data.train_file"])])
    assert trained.dev.micro.f1 == trained.dev.headline
    return tagkit.load(trained.folder, "cpu")


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_of_any_kind_is_predicted_and_scored_as_its_sentence(
    model: Predictor, kind: str
) -> None:
    given = KINDS[kind]
    words = [WORDS] if "text" not in str(given) and not isinstance(given, Document) else [TEXT]
    assert [each.spans for each in model.predict([given] * 2)] == [
        each.spans for each in model.predict(words * 2)
    ]
    assert model.evaluate([given] * 2).micro == tagkit.evaluate([SENTENCE] * 2, model=model).micro
    assert tagkit.evaluate([given], [given]).micro.f1 == 1


@pytest.mark.parametrize("name", OBJECTS)
def test_tables_are_predicted_and_scored_as_lists(model: Predictor, name: str) -> None:
    rows = [{"tokens": WORDS, "tags": TAGS}, {"tokens": ["Rome"], "tags": ["B-LOC"]}]
    assert model.evaluate(OBJECTS[name](rows)) == model.evaluate(rows)
    if name != "columns":  # a dictionary is a record there
        assert model.predict(OBJECTS[name](rows)) == model.predict([WORDS, ["Rome"]])
        assert [*model.stream(OBJECTS[name](rows))] == model.predict([WORDS, ["Rome"]])
    assert model.predict({"text": TEXT}) == model.predict(TEXT)


@pytest.mark.parametrize("name", ["columns", "pandas", "polars"])
def test_a_batch_gets_columns_with_what_is_predicted(model: Predictor, name: str) -> None:
    found = model(OBJECTS[name]([{"review": TEXT, "id": 1}, {"review": "", "id": 2}]))
    (answer,) = model.predict([TEXT])
    assert [*found["id"]] == [1, 2]
    assert [*found["pred_tags"][0]] == [token.tag for token in answer.tokens]
    spans = zip(found["pred_starts"][0], found["pred_ends"][0], found["pred_types"][0], strict=True)
    assert [*spans] == [(span.start, span.end, span.label) for span in answer.spans]
    assert [*found["pred_tags"][1]] == []
    with refuses(DataError, "batch", "text", "tokens", "found id"):
        model({"id": [1]})


def test_a_data_set_is_mapped_though_its_first_batch_holds_no_span(model: Predictor) -> None:
    given = dataset([{"text": ""}, {"text": TEXT}])
    found = given.map(model, batched=True, batch_size=1)
    assert found[1]["pred_types"] == [*model({"text": [TEXT]})["pred_types"][0]]
    assert found[0]["pred_types"] == []


def test_numbers_of_classes_have_the_names_of_the_data_set(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    names = datasets.ClassLabel(names=["O", "B-PER", "I-PER", "B-LOC"])
    words = datasets.Sequence(datasets.Value("string"))
    kinds = {"tokens": words, "ner_tags": datasets.Sequence(names)}
    features = datasets.Features(kinds)
    numbers = [names.str2int(tag) for tag in TAGS]
    given = datasets.Dataset.from_dict({"tokens": [WORDS], "ner_tags": [numbers]}, features)
    given.to_parquet(tmp_path / "a.parquet")
    given.save_to_disk(tmp_path / "saved")
    (arrow,) = (tmp_path / "saved").glob("*.arrow")
    assert tagkit.evaluate(given, [SENTENCE]).micro.f1 == 1
    for path in (tmp_path / "a.parquet", arrow):
        assert [*tagkit.read(path)] == [SENTENCE]
        assert tagkit.evaluate(path, [SENTENCE]).micro.f1 == 1


def test_a_run_resumes_with_the_same_records_of_another_kind_and_refuses_others(
    tmp_path: Path,
) -> None:
    rows = [row_of(each, "tag") for each in tagkit.read(tiny.corpus(tmp_path)["data.train_file"])]
    config = {**SMALL, **CHARS, "output.dir": str(tmp_path / "run")}
    tagkit.train(config, train=rows)
    longer = {**config, "train.max_epochs": 2}
    pairs = [[*zip(row["tokens"], row["tags"], strict=True)] for row in rows]
    assert len(tagkit.train(longer, train=pairs, resume=True).epochs) == 2
    with refuses(tagkit.CheckpointError, "another train corpus"):
        tagkit.train({**config, "train.max_epochs": 3}, train=rows[1:], resume=True)


REFUSED: list[tuple[Any, str]] = [
    (3, "<train>: expected records or a table, found int"),
    ("text", "<train>: expected records or a table, found str"),
    ([3], "<train>: record 1: expected a Sentence"),
    ([{"a": 1}], "<train>: expected tokens with tags or texts with spans, found the keys a"),
    ([SENTENCE, 3], "records: expected a Sentence, a Document"),
    (
        [("Ada", "PER")],
        "<train>: expected tokens with tags or texts with spans, found the keys text, label",
    ),
    ([{"tokens": ["a"], "tags": ["O"]}, {"tokens": ["a"], "tags": ["O", "O"]}], "<train>:2: "),
    ({"tokens": [["a"]], "tags": []}, "<train>: expected columns of the same length"),
    ([], "<train>: holds no sentence"),
]


@pytest.mark.parametrize(("given", "said"), REFUSED, ids=[said for _, said in REFUSED])
def test_what_is_no_record_is_refused_by_its_place(tmp_path: Path, given: Any, said: str) -> None:
    with refuses(DataError, said):
        tagkit.train({"output.dir": str(tmp_path / "run")}, train=given)
    assert not (tmp_path / "run" / "best").exists()


def test_a_corpus_takes_the_place_of_all_records(tmp_path: Path) -> None:
    class Seen(tagkit.Listener):
        def on_start(self, prepared: Any, threads: int) -> None:
            self.corpus = prepared.corpus

    seen, config = Seen(), {**SMALL, **CHARS, "output.dir": str(tmp_path / "a")}
    rows = [{"tokens": WORDS, "tags": TAGS}] * 4
    tagkit.train(config, seen, train=rows, dev=rows)
    assert isinstance(seen.corpus, tagkit.Corpus)
    tagkit.train({**config, "output.dir": str(tmp_path / "b")}, corpus=seen.corpus)
    assert weights(tmp_path / "a") == weights(tmp_path / "b")
    with refuses(DataError, "either corpus", "or train, dev or test"):
        tagkit.train(config, corpus=seen.corpus, dev=rows)


def test_a_parquet_file_is_streamed_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(table([{"text": f"Text {n}", "label": "a"} for n in range(5000)]), path)
    found: Iterator[Any] = tagkit.read(path)
    assert next(found) == Document("Text 0", labels=("a",))
    assert sum(1 for _ in found) == 4999
    language = tagkit.load(FIXTURES / "language-model-word", "cpu")
    texts = [f"Text {n}" for n in range(5000)]
    of_file = language.evaluate(path)
    assert of_file == language.evaluate(texts) == language.evaluate([{"text": "\n".join(texts)}])
    path.write_bytes(path.read_bytes()[:-9])
    with refuses(DataError, "a.parquet", "damaged"):
        list(tagkit.read(path))


def test_a_model_and_a_report_say_what_they_are(model: Predictor) -> None:
    first, *others = repr(model).splitlines()
    assert first.startswith("tag: BiLSTM with CRF")
    assert f"{model.model.saved_weights:,} parameters, on cpu" in first
    assert others[:2] == ["labels: LOC, PER", "train: <train>, 80 sentences"]
    assert "20 sentences; F1 " in others[2]
    report = model.evaluate([SENTENCE])
    assert "micro avg" in str(report)
    assert "PER" in str(report)
    joint = tagkit.load(FIXTURES / "both", "cpu")
    of_both = joint.evaluate([Sentence(("Ada",), ("B-PER",), labels=(min(joint.classes()),))])
    assert "whole texts right" in str(of_both)
    with refuses(AttributeError, "JointReport", "tags", "classes"):
        _ = of_both.micro


def test_a_notebook_shows_texts_and_reports(model: Predictor) -> None:
    answer = model.predict("Ada <b> Lima")._repr_html_()
    assert answer is not None
    assert "<mark" in answer
    assert "<b>" not in answer
    assert ":root" not in answer.partition("</style>")[0]  # the style is of the cell alone
    report = model.evaluate([SENTENCE])._repr_html_()  # type: ignore[attr-defined]
    assert report is not None
    assert "<table" in report
    assert tagkit.Span(0, 1, "X")._repr_html_() is None


def test_notes_go_to_logging_unless_a_program_takes_them(tmp_path: Path) -> None:
    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            kept.append(record.getMessage())

    kept: list[str] = []
    path, given = tmp_path / "a.conll", list[str]()
    path.write_text("Ada B-PER\n\n", "utf-8")
    logger, handler = logging.getLogger("tagkit"), Kept()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        list(tagkit.read(path))
        list(tagkit.read(path, note=given.append))
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
    assert kept == given
    assert "read as columns" in kept[0]


@pytest.mark.slow  # mypy reads all of the package
def test_the_micro_average_of_a_report_passes_mypy(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import tagkit\n"
        "f1: float = tagkit.evaluate('a', 'b').micro.f1\n"
        "again: float = tagkit.load('m').evaluate('a', strict=True).micro.f1\n"
        "tagkit.train({}, train=[{'tokens': ['a'], 'tags': ['O']}], dev=None)\n"
        "one: tagkit.TaggedText = tagkit.load('m').predict({'text': 'a'})\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(program)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout


def test_nothing_is_printed_and_no_package_of_tables_is_imported() -> None:
    program = (
        "import sys, tagkit\n"
        f"rows = {json.dumps([{'tokens': WORDS, 'tags': TAGS}])}\n"
        "assert tagkit.evaluate(rows, rows).micro.f1 == 1\n"
        "assert not {'pandas', 'polars', 'pyarrow', 'datasets', 'torch'} & {*sys.modules}\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
