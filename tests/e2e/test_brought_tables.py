"""Tables, exports and JSON that people bring hold the corpus that they were made of."""

import json
from pathlib import Path

import pytest
from brought_tables import BROUGHT, INTENTS, Brought, intent, names_of, spans_of, tagged
from kinds import TAGS
from program import SMALL, Program
from read_files import items_of, refusal
from says import Says

import tagkit
from tagkit.config import DataConfig
from tagkit.corpus.formats.recognition import find_format
from tagkit.corpus.lint.summary import summarise
from tagkit.corpus.source.source import Source
from tagkit.corpus.splits.splits import read_split
from tagkit.evaluation.compare.compare import compare_files
from tagkit.text.records import Document, Sentence

CORPUS = tagged(
    'Ana/B-PER said/O ,/O "/O Lee/B-PER flew/O to/O New/B-LOC York/I-LOC "/O ./O',
    "They/O slept/O ./O", "Oslo/B-LOC is/O Ana/B-PER 's/O ;/O 1/O is/O not/O ./O",
    "Kim/B-PER met/O Lee/B-PER Ho/I-PER in/O Rome/B-LOC ./O",
) * 8  # fmt: skip
TOTAL = sum(map(len, CORPUS))


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Program:
    return Program(monkeypatch, capfdbinary)


shapes = pytest.mark.parametrize("shape", BROUGHT.values(), ids=[*BROUGHT])


def written(folder: Path, shape: Brought, corpus: list[Sentence]) -> tuple[Path, DataConfig]:
    path = folder / shape.file
    path.write_text(shape.write(corpus), "utf-8")
    return path, DataConfig(**shape.options(corpus))


@shapes
def test_every_command_reads_the_words_and_spans_that_were_written(
    tmp_path: Path, shape: Brought
) -> None:
    path, data = written(tmp_path, shape, CORPUS)
    split = read_split(str(path), data, TAGS, None)  # as train does
    assert spans_of(split.sentences) == spans_of(CORPUS)
    assert (split.format, split.scheme) == (shape.format, "iob2")
    for raw in (False, True):  # as predict does
        assert find_format(Source(str(path), "utf-8"), "auto", raw=raw).name == shape.format
    # The law: what `check` calls fit has the words of the corpus, no ids, tags or sentences.
    checked = summarise(str(path), data)
    assert checked.words == summarise(columns_of(tmp_path), DataConfig()).words
    assert (checked.errors, checked.refusal, checked.scheme) == ([], None, "iob2")
    report = compare_files(columns_of(tmp_path), str(path), data, None, False).to_dict()
    assert (report["tokens"], report["micro"]["f1"]) == (TOTAL, 1.0)
    if shape.classes:
        found = [each.labels[0].replace("_", " ") for each in items_of(path)]
        assert found == [intent(number) for number, _ in enumerate(CORPUS)]


def columns_of(folder: Path) -> str:
    rows = ["\n".join(map("\t".join, zip(s.words, s.tags or (), strict=True))) for s in CORPUS]
    (folder / "gold.conll").write_text("\n\n".join(rows) + "\n", "utf-8")
    return str(folder / "gold.conll")


@pytest.mark.slow
@pytest.mark.parametrize(("file", "encoding"), [("conll2003/eng.testa", "utf-8"),
                                                ("conll2002/ned.testa", "utf-8")])  # fmt: skip
def test_real_corpora_keep_every_span_in_every_shape(
    corpora: Path, tmp_path: Path, file: str, encoding: str
) -> None:
    if not (corpora / file).is_file():
        pytest.skip(f"no {corpora / file}")
    corpus = read_split(str(corpora / file), DataConfig(encoding=encoding), TAGS, None).sentences
    expected = spans_of(corpus)
    for name, shape in BROUGHT.items():
        path, data = written(tmp_path, shape, [*corpus])
        assert spans_of(read_split(str(path), data, TAGS, None).sentences) == expected, name


def test_predict_returns_a_table_with_a_column_more(tmp_path: Path, program: Program) -> None:
    table = tmp_path / "train.csv"
    table.write_text(BROUGHT["Kaggle: the number in the first row"].write(CORPUS), "utf-8")
    model = tmp_path / "model"
    ended = program("train", "--train", table, "--dev", table, "-o", model, *SMALL)
    assert ended.code == 0, ended.err
    assert (model / "dev.pred").read_text("utf-8").startswith("Sentence #,Word,POS,Tag,predicted\n")
    for name in [name for name, shape in BROUGHT.items() if shape.format == "token-rows"]:
        path, _ = written(tmp_path, BROUGHT[name], CORPUS)
        ended = program("predict", model, path, "-o", tmp_path / "out")
        assert ended.code == 0, ended.err
        before = path.read_text("utf-8").splitlines()
        after = (tmp_path / "out").read_text("utf-8").splitlines()
        separator = {"a.tsv": "\t", "a.txt": " "}.get(
            path.name, ";" if "Wort" in before[0] else ","
        )
        cells = [line.rpartition(separator) for line in after]
        assert [kept for kept, _, _ in cells if kept] == [line for line in before if line], name
        tags = [new for _, _, new in cells if new and new != "predicted"]
        assert len(tags) == TOTAL
        assert {*tags} <= {*names_of(CORPUS)}
        scored = program("eval", "--gold", path, "--pred", tmp_path / "out", "--json")
        assert json.loads(scored.out)["tokens"] == TOTAL, scored.err
        alone = program("eval", "--gold", tmp_path / "out", "--json")
        assert not alone.code, (name, alone.err)
        assert json.loads(alone.out)["micro"] == json.loads(scored.out)["micro"], name


def test_a_sentence_and_its_class_in_a_row_train_both(tmp_path: Path, program: Program) -> None:
    path, _ = written(tmp_path, BROUGHT["words, tags and a class"], CORPUS)
    ended = program("train", "--task", "both", "--train", path, "-o", tmp_path / "m", *SMALL)
    assert ended.code == 0, ended.err
    scored = json.loads(program("eval", tmp_path / "m", path, "--json").out)
    assert {*scored["class"]["labels"]} == {*INTENTS} if "class" in scored else scored


TOKENS = {"tokens": ["EU", "won"], "ner_tags": ["B-ORG", "O"]}
ENTITIES = {"text": "EU won", "entities": [[0, 2, "ORG"]]}
STUDIO = {"data": {"text": "EU won"}, "annotations": [{"result": []}, {"result": [
    {"value": {"start": 0, "end": 2, "labels": ["ORG"]}}]}]}  # fmt: skip
# A record, options that it is read with, and what the refusal names.
REFUSED = [
    ({"text": "a b", "labels": [1, 0]}, {}, ["labels", "data.label_names"]),
    ({"text": "a b", "labels": [0, 1, 1]}, {}, ["labels", "data.label_names"]),
    ({"text": "a b", "labels": [False, True]}, {}, ["labels", "data.label_names"]),
    ({**TOKENS, "ner_tags": [3, 0]}, {}, ["tags", "data.label_names"]),
    ({**TOKENS, "ner_tags": [2, 0]}, {"label_names": ["O", "B-X"]}, ["ner_tags", "2", "0 to 1"]),
    ({**TOKENS, "tags": ["O", "O"]}, {}, ["tags and ner_tags differ"]),
    ({**ENTITIES, "ents": [{"start": 0, "end": 2, "label": "LOC"}]}, {}, ["entities and ents"]),
    ({**ENTITIES, "spans": [{"start": 3, "end": 6, "label": "ORG"}]}, {}, ["spans and entities"]),
    (STUDIO, {"format": "jsonl"}, ["annotations", "differ"]),
]  # fmt: skip


@pytest.mark.parametrize(("record", "options", "parts"), REFUSED)
def test_what_can_be_read_in_two_ways_is_refused_with_its_keys(
    tmp_path: Path, record: object, options: dict[str, object], parts: list[str]
) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n", "utf-8")
    assert Says("a.jsonl:1", *parts) == refusal(tmp_path / "a.jsonl", **options)


CLASSES = [
    ('{"text": "a b", "labels": [1, 0]}', ["x", "y"], ("x",)),
    ('{"text": "a b", "labels": [1, 0, 1]}', ["x", "y", "z"], ("x", "z")),
    ('{"text": "a b", "labels": [0, 0]}', ["x", "y"], ()),
    ('{"text": "a b", "labels": [2, 0]}', ["x", "y", "z"], ("z", "x")),
    ('{"text": "a b", "label": 1}', ["x", "y"], ("y",)),
    ('{"text": "a b", "label": 1}', [], ("1",)),
    ('{"text": "a b", "label": "x", "tags": ["film", "new"]}', [], ("x",)),
    ('id,sentiment,text\n1,"{""choices"": [""x"", ""y""]}",a b', [], ("x", "y")),
    ('text,labels\na b,"[\'x\', \'y\']"', [], ("x", "y")),
    ('text,labels\na b,"[1, 0]"', ["x", "y"], ("x",)),
    ('{"data": {"t": "a b"}, "annotations": [{"result": [{"value": {"choices": ["x", "y"]}}]}]}',
     [], ("x", "y")),
]  # fmt: skip


@pytest.mark.parametrize(("content", "names", "labels"), CLASSES)
def test_classes_are_read_from_numbers_vectors_and_lists(
    tmp_path: Path, content: str, names: list[str], labels: tuple[str, ...]
) -> None:
    path = tmp_path / ("a.jsonl" if content.startswith("{") else "a.csv")
    path.write_text(content + "\n", "utf-8")
    assert items_of(path, label_names=names) == [Document("a b", labels=labels)]


def test_numbers_have_the_names_of_a_data_set_that_was_saved(tmp_path: Path) -> None:
    labels = {"names": names_of(CORPUS), "_type": "ClassLabel"}
    info = {"features": {"ner_tags": {"feature": labels, "_type": "Sequence"}, "tokens": {}}}
    (tmp_path / "dataset_info.json").write_text(json.dumps(info), "utf-8")
    path, _ = written(tmp_path, BROUGHT["numbers with names"], CORPUS)
    assert spans_of(read_split(str(path), DataConfig(), TAGS, None).sentences) == spans_of(CORPUS)


def test_documents_of_brat_in_subfolders_are_read(tmp_path: Path) -> None:
    for name in ("b/one", "a/one", "two"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.txt").write_text("Oslo is far.", "utf-8")
        (tmp_path / f"{name}.ann").write_text("T1\tLOC 0 4\tOslo\n", "utf-8")
    found = [each for each in items_of(tmp_path) if isinstance(each, Document)]
    assert [each.name for each in found] == ["a/one", "b/one", "two"]
    assert [len(each.spans or ()) for each in found] == [1, 1, 1]


def test_texts_of_imdb_without_a_class_are_left_out(tmp_path: Path, program: Program) -> None:
    for name in ("pos", "neg", "unsup"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.txt").write_text(f"{name} film", "utf-8")
    assert [each.labels for each in items_of(tmp_path)] == [("neg",), ("pos",)]
    checked = program("check", tmp_path)
    assert (checked.out + checked.err).count("texts in unsup") == 1


PACKED = [(b"\x28\xb5\x2f\xfd", "zstd -d"), (b"BZh9", "bzip2 -d"), (b"\xfd7zXZ\0", "xz -d"),
          (b"PK\x03\x04", "unzip")]  # fmt: skip


@pytest.mark.parametrize(("start", "remedy"), PACKED)
def test_a_file_that_is_compressed_is_called_so(tmp_path: Path, start: bytes, remedy: str) -> None:
    (tmp_path / "a.conll").write_bytes(start + bytes(range(200)))
    told = refusal(tmp_path / "a.conll")
    assert Says("a.conll", "compressed", remedy) == told
    assert "encoding" not in told


@pytest.mark.parametrize(
    ("content", "texts", "said"),
    [
        ("Ana flew, then slept\nLee came, too\n", ["Ana flew, then slept", "Lee came, too"], ""),
        ("Ana flew,x\nLee came,y\n", ["Ana flew", "Lee came"], "column 0 of 2"),
        ("text,n\nAna flew,x\n", ["Ana flew"], ""),
    ],
)
def test_new_texts_in_csv_are_whole_or_their_column_is_named(
    tmp_path: Path, content: str, texts: list[str], said: str
) -> None:
    (tmp_path / "new.csv").write_text(content, "utf-8")
    notes: list[str] = []
    found = [*tagkit.read(tmp_path / "new.csv", labels=False, note=notes.append)]
    assert [each.text for each in found] == texts
    assert any("column 0" in note for note in notes) == bool(said)
    assert Says(said).within(notes)
