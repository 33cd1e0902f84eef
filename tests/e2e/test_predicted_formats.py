"""Every format that can hold an answer: predicted, read again, scored, and converted back."""

import json
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest
import tiny
from kinds import BOTH, CLASSES, TAGS, answers_of
from program import SMALL, Program
from says import Says
from small_runs import of_task

from tagkit.config import DataConfig
from tagkit.config.values import Scheme
from tagkit.corpus.convert.convert import convert_corpus
from tagkit.corpus.formats.folders.file_sets import write_folder
from tagkit.corpus.formats.table import FORMATS
from tagkit.corpus.records.dataset import LabelKinds, Split
from tagkit.corpus.source.options import silent
from tagkit.corpus.splits.splits import read_split
from tagkit.evaluation.reports.class_report import make_class_report
from tagkit.evaluation.reports.tag_report import make_tag_report
from tagkit.inference.predict.predictor import Predictor
from tagkit.inference.score.score import gold_split
from tagkit.inference.stream.annotate import Annotator, AnswerOptions
from tagkit.inference.stream.record_output import fills_files, write_records
from tagkit.inference.stream.stream import SerialWorker, StreamOptions, annotate_file, joined_texts
from tagkit.models.answers.kind import RENDERED
from tagkit.text.records import Sentence
from tagkit.training.trainer import train


@dataclass(frozen=True)
class Trained:
    """A small model and a corpus that it does not know by heart.

    Attributes:
        predictor: the model.
        gold: path of the corpus.
        gives: labels of both.
        column: of CoNLL-U that has the tags.
        scheme: of the tags in files; "auto" for the one that is found.
    """

    predictor: Predictor
    gold: str
    gives: LabelKinds
    column: str = "MISC.NER"
    scheme: Scheme = "auto"


def model_of(kind: str, folder: Path) -> Trained:
    if kind in ("spans", "labels"):
        scheme: Scheme = "auto" if kind == "spans" else "labels"
        config = tiny.config(folder, f"data.scheme={scheme}", "train.max_epochs=2")
        column = "MISC.NER" if kind == "spans" else "UPOS"
        return Trained(train(config).predictor, config.data.test_file, TAGS, column, scheme)
    files = tiny.classified(folder) if kind == "classes" else tiny.joint(folder)
    if kind == "classes":  # those of trees are numbers, and numbers are names anywhere else
        for path in files.values():
            text = Path(path).read_text("utf-8")
            for number, name in enumerate(("greet", "leave", "order"), 1):
                text = text.replace(f"{name}\t", f"{number}\t")
            Path(path).write_text(text, encoding="utf-8")
    task = "classify" if kind == "classes" else "both"
    config = tiny.small(folder, f"task={task}", "train.max_epochs=2", **files)
    gives = CLASSES if kind == "classes" else BOTH
    return Trained(train(config).predictor, config.data.test_file, gives)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trained]:
    kinds = ("spans", "labels", "classes", "both")
    return {kind: model_of(kind, tmp_path_factory.mktemp(kind)) for kind in kinds}


def converted(path: str, read_as: DataConfig, to: str, folder: Path) -> str:
    """The path of a corpus in another format."""
    done = convert_corpus(path, read_as, lambda _: FORMATS[to], None, single=False, note=silent)
    place = folder / f"{len(list(folder.iterdir()))}-{to}"
    if fills_files(to):
        write_folder(place, done.pieces)
    else:
        text = "".join(piece.text for piece in done.pieces)
        place.write_text(text, encoding="utf-8", newline="")
    return str(place)


def predicted(model: Trained, path: str, source: str, format: str, folder: Path) -> str:
    """The path of what is predicted for a corpus, which is in the format `source`."""
    # Named, as words with slashes may be raw text.
    reading = StreamOptions(source, "utf-8", 4096, silent, lambda *_: None)
    options = AnswerOptions(format)
    annotator = Annotator(model.predictor, options)
    style = annotator.style
    place = folder / f"{len(list(folder.iterdir()))}-{format}-out"
    outputs = annotate_file(SerialWorker(annotator), model.predictor.config, style, path, reading)
    parts: list[str] = []
    if format in RENDERED:
        parts += joined_texts([outputs], style)
    else:
        write = None if fills_files(format) else parts.append
        write_records(outputs, style, place, write, silent)
    if parts:
        place.write_text("".join(parts), encoding="utf-8", newline="")
    return str(place)


def data_of(model: Trained, format: str, *, from_conllu: bool = False) -> DataConfig:
    """How a file of a format is read."""
    named: dict[str, object] = {"format": format, "scheme": model.scheme}
    if format == "conllu":
        named["tag_column"] = model.column
    elif format == "columns":
        # The other columns of CoNLL-U stay, with the word in the second one; classes come last.
        named |= {"token_column": 1} if from_conllu else {}
        named |= {"tag_column": -2} if model.gives.classes else {}
    return DataConfig.model_validate(named)


def kinds_in(model: Trained, format: str) -> LabelKinds:
    """The labels that are read of a format."""
    holds_classes = format == "jsonl" or FORMATS[format].has_classes
    return LabelKinds(model.gives.tags, model.gives.classes and holds_classes)


def in_order(sentences: tuple[Sentence, ...]) -> list[Sentence]:
    """Sorted by their words: a folder of texts has the order of its classes."""
    return sorted(sentences, key=lambda sentence: sentence.words)


def scores(gold: Split, found: Split, kinds: LabelKinds) -> dict[str, float]:
    """What `eval` says of two files with the same texts."""
    pairs = list(zip(in_order(gold.sentences), in_order(found.sentences), strict=True))
    assert all(ours.words == theirs.words for ours, theirs in pairs)
    parts: dict[str, float] = {}
    if kinds.tags:
        tags = zip(*((ours.tags or (), theirs.tags or ()) for ours, theirs in pairs), strict=True)
        parts |= make_tag_report(*tags, gold.scheme or "", strict=False).parts()
    if kinds.classes:
        labels = zip(*((ours.labels, theirs.labels) for ours, theirs in pairs), strict=True)
        parts |= make_class_report(*labels, several=False).parts()
    return parts


INPUTS = {
    "spans": ("columns", "conllu", "jsonl-tokens", "jsonl-spans", "brat", "slash", "parallel"),
    "labels": ("columns", "conllu", "jsonl-tokens", "slash", "parallel"),
    "classes": ("tsv", "csv", "fasttext", "trees", "folder", "jsonl-texts", "jsonl-tokens"),
    "both": ("parallel", "jsonl-tokens", "jsonl-spans"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "source"), [(kind, name) for kind, names in INPUTS.items() for name in names]
)
def test_predictions_in_every_format_score_as_the_model_does(
    models: dict[str, Trained], kind: str, source: str, tmp_path: Path
) -> None:
    model = models[kind]
    predictor = model.predictor
    path = converted(model.gold, DataConfig(scheme=model.scheme), source, tmp_path)
    gold = gold_split(predictor, path, data_of(model, source))
    annotated = predictor.annotate(gold.sentences, batch_size=32, confidence=False)
    answers = zip(gold.sentences, annotated, strict=True)
    own = Split(
        "model",
        tuple(Sentence(s.words, predictor.tags_in(p, gold.scheme or "labels"), labels=p.labels)
              for s, p in answers),
        gold.detection,
    )  # fmt: skip
    if kind != "both":  # whose report has the mean of the two
        expected = predictor.report(gold, annotated).parts()
        assert scores(gold, own, model.gives) == expected
    names = answers_of(model.gives, spans=kind != "labels").formats(probabilities=False)
    # A class of this corpus is none of TREC's; the classes alone, and JSON without spans, are no
    # corpus.
    skipped = {"html", "trec", {"labels": "jsonl", "classes": "columns"}.get(kind)}
    for name in set(names) - skipped:
        kinds = kinds_in(model, name)
        out = predicted(model, path, source, name, tmp_path)
        data = data_of(model, name, from_conllu=source == "conllu")
        found = read_split(out, data, kinds, gold.scheme)
        assert scores(gold, found, kinds) == scores(gold, own, kinds), name
        # Back in the format of the corpus, where that has all labels of the output.
        if kinds_in(model, source) != kinds or (name == "columns" and source == "conllu"):
            continue
        back = converted(out, data, source, tmp_path)
        again = read_split(back, data_of(model, source), kinds, gold.scheme)
        assert scores(gold, again, kinds) == scores(gold, own, kinds), f"{name} -> {source}"


@pytest.fixture
def tagkit(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Program:
    return Program(monkeypatch, capsysbinary)


def differences(source: str, found: str, column: int) -> int:
    """Number of words whose lines differ; no byte outside the column does."""
    ours, theirs = source.split("\n"), found.split("\n")
    count = 0
    for before, after in zip(ours, theirs, strict=True):
        if before == after:
            continue
        cells, filled = before.split("\t"), after.split("\t")
        assert cells[0].isdecimal()
        assert cells[:column] == filled[:column]
        assert cells[column + 1 :] == filled[column + 1 :]
        count += 1
    return count


# With a range, an empty node, comments, CRLF, blanks at the end of a line, and no last line end.
TREEBANK = """\
# newdoc id = d
# sent_id = s1\r
# text = Ada's leaving Rome.
1-2\tAda's\t_\t_\t_\t_\t_\t_\t_\tTypo=No
1\tAda\tAda\tPROPN\tNNP\tNumber=Sing\t3\tnsubj\t3:nsubj\tNER=B-PER|A=1
2\t's\tbe\tAUX\tVBZ\t_\t3\taux\t_\t_\r
3\tleaving\tleave\tVERB\tVBG\tVerbForm=Ger|A=1\t0\troot\t_\tNER=O  \t
3.1\tx\t_\tVERB\t_\t_\t_\t_\t2:conj\tCopyOf=3
4\tRome\tRome\tPROPN\tNNP\tNumber=Sing\t3\tobj\t_\tSpaceAfter=No
5\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_
 \t
# a comment between sentences

# sent_id = s2
1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_"""


@pytest.mark.parametrize(
    ("column", "index"),
    [("UPOS", 3), ("XPOS", 4), ("FEATS", 5), ("LEMMA", 2), ("DEPREL", 7), ("MISC.NER", 9),
     ("FEATS.A", 5), ("MISC.New", 9)],
)  # fmt: skip
@pytest.mark.slow
def test_only_the_predicted_column_of_conllu_is_another(
    models: dict[str, Trained], column: str, index: int, tmp_path: Path, tagkit: Program
) -> None:
    predictor = models["labels"].predictor
    config = predictor.config
    data = config.data.model_copy(update={"tag_column": column})
    other = Predictor(
        predictor.model, predictor.vocabulary, config.model_copy(update={"data": data}),
        predictor.device,
    )  # fmt: skip
    path = tmp_path / "a.conllu"
    # Gold labels must have the key for some token.
    treebank = TREEBANK.replace("A=1\n", "A=1|New=X\n", 1) if column == "MISC.New" else TREEBANK
    path.write_bytes(treebank.encode())
    annotator = Annotator(other, AnswerOptions("auto"))
    reading = StreamOptions("auto", "utf-8", 4096, silent, lambda *_: None)
    windows = annotate_file(
        SerialWorker(annotator), other.config, annotator.style, str(path), reading
    )
    found = "".join(window.text for window in windows)
    assert differences(treebank, found, index) > 0
    out = tmp_path / "b.conllu"
    out.write_bytes(found.encode())
    read_as = DataConfig(format="conllu", tag_column=column, scheme="labels")
    (gold, again) = (gold_split(other, str(file), read_as) for file in (path, out))
    tags = [p.tags for p in other.annotate(gold.sentences, batch_size=4, confidence=False)]
    assert [sentence.tags for sentence in again.sentences] == tags
    # Filled once more, it stays as it is; and all commands read it.
    once_more = annotate_file(
        SerialWorker(annotator), other.config, annotator.style, str(out), reading
    )
    assert "".join(window.text for window in once_more) == found
    ended = tagkit("eval", "--gold", path, "--pred", out, "--tag-column", column,
                   "--pred-column", column, "--scheme", "labels", "--json")  # fmt: skip
    assert json.loads(ended.out)["accuracy"] == other.score(gold).parts()["accuracy"]
    assert tagkit("convert", out, tmp_path / "c.jsonl").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ud-english-ewt", "ud-greek-gdt"])
@pytest.mark.parametrize(("column", "index"), [("UPOS", 3), ("FEATS", 5)])
def test_treebanks_differ_in_the_predicted_column_alone(
    corpora: Path, tmp_path: Path, tagkit: Program, name: str, column: str, index: int
) -> None:
    with (corpora / name / "train.conllu").open(encoding="utf-8", newline="") as file:
        few = "".join(islice(file, 1500)).rpartition("\n\n")[0]
    (tmp_path / "few.conllu").write_text(f"{few}\n\n", encoding="utf-8", newline="")
    dev, out, model = corpora / name / "dev.conllu", tmp_path / "out.conllu", tmp_path / "model"
    ended = tagkit("train", "--train", tmp_path / "few.conllu", "--dev", tmp_path / "few.conllu",
                   "--tag-column", column, "-o", model, *SMALL)  # fmt: skip
    assert ended.code == 0
    assert tagkit("predict", model, dev, "-o", out).code == 0
    source, found = (path.read_bytes().decode() for path in (dev, out))
    assert differences(source, found, index) > 1000
    ours = tagkit("eval", model, dev, "--json").out
    ended = tagkit("eval", "--gold", dev, "--pred", out, "--tag-column", column,
                   "--pred-column", column, "--scheme", "labels", "--json")  # fmt: skip
    assert json.loads(ended.out)["accuracy"] == json.loads(ours)["accuracy"]
    assert 0.2 < json.loads(ours)["accuracy"] < 1


def test_texts_without_a_likely_class_are_read_again_or_refused(
    tagkit: Program, tmp_path: Path
) -> None:
    config = of_task(tmp_path / "data", "classify", "train.max_epochs=1")
    train(config)
    model, test = config.output.dir, config.data.test_file
    ended = tagkit("predict", model, test, "--threshold", "0.4", "--format", "jsonl-tokens")
    rows = [json.loads(line) for line in ended.out.splitlines()]
    assert {tuple(row) for row in rows} <= {("tokens", "label"), ("tokens", "labels")}
    nothing = tagkit("predict", model, test, "--threshold", "1", "--format", "jsonl-tokens").out
    assert all(json.loads(line)["labels"] == [] for line in nothing.splitlines())
    path = tmp_path / "some.jsonl"
    first = json.loads(nothing.splitlines()[0]) | {"labels": ["greet"]}
    path.write_text(f"{json.dumps(first)}\n{nothing}", encoding="utf-8")
    read = read_split(str(path), DataConfig(), LabelKinds(tags=False, classes=True), None)
    assert [sentence.labels for sentence in read.sentences[:2]] == [("greet",), ()]
    refused = tagkit("predict", model, test, "--threshold", "1", "--format", "parallel", "-o",
                     tmp_path / "out")  # fmt: skip
    assert refused.code == 1
    assert Says("parallel").within(refused.err)
