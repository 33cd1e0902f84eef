"""What people ask of commands: JSON with the same keys for all, and answers to odd places."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tiny
from json_schema import broken
from program import SMALL, Program
from says import Says

from tagkit.config import Config, option_names
from tagkit.config.description import json_schema
from tagkit.evaluation.reports.language_report import LanguageReport
from tagkit.training.several.tune import Trial, Tuned


@pytest.fixture
def tagkit(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Program:
    return Program(monkeypatch, capsysbinary)


NUMBER, COUNT, TEXT = {"type": "number"}, {"type": "integer", "minimum": 0}, {"type": "string"}
SHARE = {"type": "number", "minimum": 0, "maximum": 1}


def record(**of: Any) -> dict[str, Any]:
    """The schema of an object that has these keys, and perhaps others."""
    return {"type": "object", "properties": of, "required": [*of]}


def table(each: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": each}


SCORE = record(precision=SHARE, recall=SHARE, f1=SHARE, support=COUNT)
AREAS = record(roc=SHARE, precision_recall=SHARE)
EVERY = {"kind": TEXT, "measure": TEXT, "headline": NUMBER}
AVERAGES = {"accuracy": SHARE, "micro": SCORE, "macro": SCORE, "weighted": SCORE,
            "types": table(SCORE), "unknown": table(COUNT)}  # fmt: skip
OF_TAGS = record(**EVERY, scheme=TEXT, mode=TEXT, sentences=COUNT, tokens=COUNT, **AVERAGES)
OF_CLASSES = record(**EVERY, texts=COUNT, several={"type": "boolean"},
                    confusion=table(table(COUNT)), **AVERAGES)  # fmt: skip
WITH_AREAS = record(**OF_CLASSES["properties"], areas=record(macro=AREAS, types=table(AREAS)))
SCHEMAS = {
    "spans": OF_TAGS,
    "tokens": OF_TAGS,
    "class": OF_CLASSES,
    "classes": WITH_AREAS,
    "joint": record(**EVERY, tags=OF_TAGS, classes=OF_CLASSES, whole=SHARE),
    "columns": record(**EVERY, columns=table(record(**EVERY, tokens=COUNT, accuracy=SHARE))),
    "language-model": record(**EVERY, perplexity=NUMBER, bits_per_character=NUMBER, units=COUNT),
}
BOTH = '{"tokens": ["Ada"], "tags": ["B-x"], "label": "a"}\n'
TEXTS = ('{"text": "so", "labels": ["a"], "probabilities": {"a": 0.9, "b": 0.2}}\n'
         '{"text": "no", "labels": ["a", "b"], "probabilities": {"a": 0.4, "b": 0.7}}\n'
         '{"text": "on", "labels": ["b"], "probabilities": {"a": 0.3, "b": 0.6}}\n')  # fmt: skip
WORDS = "1\tAda\tada\tPROPN\tNNP\tNumber=Sing\t_\t_\t_\tNER=B-x\n\n"
FILES: dict[str, tuple[str, str, str, list[str]]] = {
    "spans": ("spans", "Ada B-x\n\n", "Ada O\n\n", []),
    "tokens": ("tokens", "Ada NN\nruns VB\n\n", "Ada NN\nruns NN\n\n", []),
    "class": ("class", "label\ttext\na\tso\nb\tno\n", "label\ttext\na\tso\na\tno\n", []),
    "several classes": ("classes", TEXTS, TEXTS, []),
    "both": ("joint", BOTH, BOTH, []),
    "columns": ("columns", WORDS, WORDS, ["--tag-column", "UPOS,FEATS,LEMMA,MISC.NER"]),
    "characters": ("spans", '{"text": "Ada", "spans": [{"start": 0, "end": 3, "label": "x"}]}\n',
                   "Ada B-x\n\n", []),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "gold", "pred", "options"), FILES.values(), ids=FILES)
def test_every_report_has_the_keys_that_are_promised(
    tagkit: Program, tmp_path: Path, kind: str, gold: str, pred: str, options: list[str]
) -> None:
    for name, content in (("gold", gold), ("pred", pred)):
        (tmp_path / name).write_text(content)
    ended = tagkit("eval", "--gold", tmp_path / "gold", "--pred", tmp_path / "pred", "--json",
                   *options)  # fmt: skip
    found = json.loads(ended.out)
    assert found["kind"] == kind
    assert [*broken(found, SCHEMAS[kind])] == []


def test_a_report_on_a_language_model_has_them_too() -> None:
    report = LanguageReport(nats=12.0, units=10, unknown=0, characters=40, lines=2, unit="word",
                            context="stream")  # fmt: skip
    assert [*broken(report.to_dict(), SCHEMAS["language-model"])] == []


def test_areas_are_in_the_report_of_files_with_probabilities(
    tagkit: Program, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text(TEXTS)
    ended = tagkit("eval", "--gold", tmp_path / "a", "--pred", tmp_path / "a")
    assert "\narea under ROC 1.0000, under precision and recall 1.0000, " in ended.out


TAGGED = "Ada B-PER\nLee I-PER\nin O\nRome B-LOC\n. O\nEU B-ORG\nand O\nUN B-ORG\n. O\n\n"


@pytest.mark.parametrize(
    ("gold", "pred", "scheme", "accuracy"),
    [
        # In the named scheme both, though the tags look like those of another.
        (TAGGED, TAGGED.replace("UN B-ORG", "UN O"), "iobes", 8 / 9),
        (TAGGED, TAGGED.replace("UN B-ORG", "UN O"), "iob1", 8 / 9),
        (TAGGED, TAGGED.replace("UN B-ORG", "UN O"), "auto", 8 / 9),
        # Predictions whose tags the named scheme does not have are converted.
        (TAGGED.replace("I-", "L-").replace("B-LOC", "U-LOC").replace("B-ORG", "U-ORG"),
         TAGGED, "bilou", 5 / 9),
        (TAGGED, TAGGED.replace("I-", "L-").replace("B-LOC", "U-LOC").replace("B-O", "U-O"),
         "iob2", 1.0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("options", [(), ("--errors",)], ids=["counted", "kept"])
def test_predictions_in_the_named_scheme_are_not_converted(
    tagkit: Program, tmp_path: Path, gold: str, pred: str, scheme: str, accuracy: float,
    options: tuple[str, ...],
) -> None:  # fmt: skip
    (tmp_path / "gold").write_text(gold)
    (tmp_path / "pred").write_text(pred)
    ended = tagkit("eval", "--gold", tmp_path / "gold", "--pred", tmp_path / "pred",
                   "--scheme", scheme, "--json", *options)  # fmt: skip
    assert json.loads(ended.out)["accuracy"] == pytest.approx(accuracy)


COLUMNS = "Ada PROPN x\nruns VERB O\n\n"


@pytest.mark.parametrize(
    ("gold", "pred", "options", "accuracies"),
    [
        (WORDS, WORDS.replace("Sing", "Plur"), ["UPOS,FEATS"], {"UPOS": 1, "FEATS": 0}),
        (WORDS, WORDS.replace("\tada", "\tad"), ["LEMMA,XPOS"], {"LEMMA": 0, "XPOS": 1}),
        (COLUMNS, COLUMNS.replace("VERB", "NOUN"), ["1,2"], {"1": 0.5, "2": 1}),
        # Behind all columns of gold, as `predict` writes them.
        (COLUMNS, "Ada PROPN x NOUN x\nruns VERB O VERB O\n\n", ["1,2"], {"1": 0.5, "2": 1}),
        (COLUMNS, "Ada x NOUN\nruns O VERB\n\n", ["1,2", "--pred-column", "2,1"],
         {"1": 0.5, "2": 1}),
        ("Ada PROPN x NOUN x\nruns VERB O VERB O\n\n", None, ["1,2", "--pred-column", "3,4"],
         {"1": 0.5, "2": 1}),
    ],
)  # fmt: skip
def test_two_files_are_scored_by_several_tag_columns(
    tagkit: Program, tmp_path: Path, gold: str, pred: str | None, options: list[str],
    accuracies: dict[str, float],
) -> None:  # fmt: skip
    (tmp_path / "gold").write_text(gold)
    (tmp_path / "pred").write_text(pred or "")
    files = ["--gold", tmp_path / "gold", *(["--pred", tmp_path / "pred"] if pred else [])]
    ended = tagkit("eval", *files, "--json", "--tag-column", *options)
    columns = json.loads(ended.out)["columns"]
    assert {name: each["accuracy"] for name, each in columns.items()} == accuracies
    shown = tagkit("eval", *files, "--tag-column", *options).out
    assert "known words" not in shown  # which only a model knows
    assert all(f"{name} " in shown for name in accuracies)


def test_as_many_predicted_columns_have_to_be_named(tagkit: Program, tmp_path: Path) -> None:
    (tmp_path / "a").write_text(COLUMNS)
    both = ("eval", "--gold", tmp_path / "a", "--pred", tmp_path / "a", "--tag-column")
    assert tagkit(*both, "1,2", "--pred-column", "1").err == Says("--pred-column", "2 columns")
    assert tagkit(*both, "1", "--pred-column", "1,2").err == Says("--pred-column", "--tag-column")
    assert tagkit("eval", "--gold", "-", "--tag-column", "1,2").err == Says("standard input")


EPOCH = record(number=COUNT, loss=NUMBER, score=NUMBER, lr=NUMBER, tokens_per_s=NUMBER)
FINDING = record(name=TEXT, sentence=TEXT, remedy=TEXT)
RUN = record(folder=TEXT, ended=TEXT, skipped=COUNT, metric=TEXT, best=EPOCH, dev=OF_TAGS,
             test=OF_TAGS, epochs={"type": "array", "items": EPOCH, "minItems": 1},
             findings={"type": "array", "items": FINDING})  # fmt: skip


def test_train_prints_what_it_found(
    tagkit: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tiny.corpus(tmp_path)
    files = [f"--{name}={name}.conll" for name in ("train", "dev", "test")]
    small = [*SMALL[:-1], "--set=train.max_epochs=1", "--set=head.feature_crf=0", "--json"]
    ended = tagkit("train", *files, "-o", "one", *small)
    found = json.loads(ended.out)
    assert [*broken(found, RUN)] == []
    shown = f"best epoch 1, dev F1 {100 * found['best']['score']:.2f}; test:"
    assert shown in ended.err  # the same numbers, to people
    seeds = json.loads(tagkit("train", *files, "-o", "two", "--seeds=1,2", "-q", *small).out)
    of_seed = record(seed=COUNT, dev=NUMBER, test=NUMBER, epoch=COUNT)
    scores = {"type": "array", "items": of_seed, "minItems": 2}
    assert [*broken(seeds, record(folder=TEXT, scores=scores, best=RUN))] == []


def test_tune_prints_all_trials(
    tagkit: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optuna")
    trials = (Trial(1, {"train.lr": 0.01}, 0.5, "done", 3.0), Trial(2, {}, None, "failed", 1.0))
    tuned = Tuned(trials, trials[0], Config(), tmp_path)
    monkeypatch.setattr("tagkit.training.several.tune.tune", lambda *_, **__: tuned)
    ended = tagkit("tune", "--train", "x", "--json", "-q")
    first = {"number": 1, "values": {"train.lr": 0.01}, "dev": 0.5, "state": "done", "seconds": 3.0}
    second = {"number": 2, "values": {}, "dev": None, "state": "failed", "seconds": 1.0}
    assert json.loads(ended.out) == {
        "trials": [first, second], "best": first, "folder": str(tmp_path)
    }  # fmt: skip


def test_convert_prints_what_it_wrote(tagkit: Program, tmp_path: Path) -> None:
    source, out = tmp_path / "a.conll", tmp_path / "a.jsonl"
    source.write_text(TAGGED)
    assert json.loads(tagkit("convert", source, out, "--json").out) == {
        "input": str(source), "output": str(out), "format": "columns",
        "output_format": "jsonl-tokens", "records": 1, "unit": "sentence",
    }  # fmt: skip
    assert tagkit("convert", source, "-", "--json").err == Says("--json", "standard output")


@pytest.mark.parametrize("name", ["out.csv", "out.tsv"])
def test_cells_that_a_spreadsheet_would_run_have_an_apostrophe_before(
    tagkit: Program, tmp_path: Path, name: str
) -> None:
    rows = [("-a", "=1+1", "+x"), ("b", "@sum(A1), so", "y"), ("c", "2 - 1 = 1", "")]
    lines = [json.dumps({"label": a, "text": b, "note": c}) for a, b, c in rows]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    found = {}
    for options in ((), ("--safe-cells",)):
        ended = tagkit("convert", tmp_path / "in.jsonl", tmp_path / name, "--force", *options)
        assert ended.code == 0, ended.err
        back = tagkit("convert", tmp_path / name, "-", "--to", "jsonl").out.splitlines()
        found[options] = [(each["label"], each["text"], each.get("note", ""))
                          for each in map(json.loads, back)]  # fmt: skip
    assert found[()] == rows
    assert found["--safe-cells",] == [("'-a", "'=1+1", "'+x"), ("b", "'@sum(A1), so", "y"), rows[2]]
    ended = tagkit("convert", tmp_path / "in.jsonl", tmp_path / "x.jsonl", "--safe-cells")
    assert ended.err == Says("--safe-cells", "csv", "jsonl-texts")


@pytest.mark.skipif(sys.platform == "win32", reason="no folder in use can be removed there")
@pytest.mark.parametrize("command", [("check", "x"), ("train",)], ids=lambda words: words[0])
def test_a_working_folder_that_was_removed_is_one_line(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "gone").mkdir()
    gone = str(tmp_path / "gone")
    steps = ("import os, sys", f"os.chdir({gone!r})", f"os.rmdir({gone!r})",
             f"sys.argv = {['tagkit', *command]!r}", "from tagkit.cli.main import main",
             "main()")  # fmt: skip
    script = "; ".join(steps)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == Says("current folder", "removed", "change to another")
    assert ended.stderr.count("\n") == 1


RIGHT = """
task = "classify"
[data]
train_file = "train.tsv"
tag_column = ["UPOS", 3]
[head]
kind = "softmax"
class_weights = {spam = 3.0}
threshold = 0.4
[train]
lr = "auto"
seeds = [1, 2]
"""


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("softmax", "sofmax", "head.kind: enum"),
        ("[train]", "[train]\nmax_epoch = 3", "train.max_epoch: unknown"),
        ("[train]", "[trian]", "trian: unknown"),
        ('lr = "auto"', "lr = -1", "train.lr: anyOf"),
        ("0.4", "1.5", "head.threshold: anyOf"),
        ('"train.tsv"', "3", "data.train_file: string"),
        ('"classify"', '"clasify"', "task: enum"),
    ],
)
def test_the_schema_of_a_configuration_takes_a_right_one_and_names_what_is_wrong(
    old: str, new: str, place: str
) -> None:
    schema = json_schema()
    assert [*broken(tomllib.loads(RIGHT), schema)] == []
    assert [*broken(tomllib.loads(RIGHT.replace(old, new)), schema)] == [place]


def test_the_schema_has_every_option_with_its_default_and_what_it_means(tagkit: Program) -> None:
    schema = json.loads(tagkit("config", "--schema").out)
    assert schema == json_schema()
    tables = Config().model_dump(mode="json")
    del tables["task"]
    defaults = {
        name: {key: value for key, value in section.items() if value is not None}
        for name, section in tables.items()
    }
    assert [*broken(defaults, schema)] == []
    for name in option_names():
        section, _, key = name.rpartition(".")
        owner = schema["$defs"][schema["properties"][section]["$ref"][8:]] if section else schema
        found = owner["properties"][key]
        assert found["description"].strip()
        if section and key in defaults[section]:
            assert found.get("default", {}) == defaults[section][key]
    for options in (["--dev", "x"], ["encoder"]):
        assert tagkit("config", "--schema", *options).err == Says("--schema")
