"""Errors quote a bounded part of a value, however long it is, wherever it was found."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import altering
import pytest
import tiny
from kinds import KINDS, TAGS
from stopped_run import Stopped, forge, put

from tagkit.config import DataConfig, load_config
from tagkit.config.search_space import parse_spaces
from tagkit.corpus.splits.splits import read_split
from tagkit.errors import TagkitError
from tagkit.features.word_vectors import load_vectors
from tagkit.models.bundle.bundle import load_bundle
from tagkit.training.folder.checkpoint import newest_checkpoint
from tagkit.training.folder.run_identity import differences
from tagkit.training.trainer import train

pytestmark = pytest.mark.slow  # two megabytes in every place

LONG = "x" * 2_000_000
DIGITS = "9" * 2_000_000
QUOTED = 600  # characters that may be quoted, in one message, of all values together


def refusal(act: Callable[[], object], place: Path) -> str:
    """The error of an action; every line of it is short."""
    with pytest.raises(TagkitError) as caught:
        act()
    message = str(caught.value).replace(f"{place}/", "")
    for line in message.split("\n"):
        assert len(line) < QUOTED + 300, line[:300]
    return message


def row(*cells: str) -> str:
    return "\t".join([*cells, *["_"] * (10 - len(cells))]) + "\n"


CORPORA = [
    ("columns", f"a O\n{LONG} O O\n", "expected 2 columns as on line 1, found 3: 'xxx"),
    ("columns", "a\tB-X\n\n" * 50 + f"a\t{LONG}\n", "expected O or a tag such as B-LABEL"),
    ("conllu", row(LONG), "expected a CoNLL-U ID such as 1, 1-2 or 1.1, found 'xxx"),
    ("conllu", row(f"1-{DIGITS}", "a") + row("1", "a"), "found '1-999"),
    ("slash", f"a/B {LONG}\n", "expected word/TAG, found 'xxx"),
    ("jsonl", f'{{"tokens": ["a"], "tags": "{LONG}"}}\n', "tags: expected a list of strings, fou"),
    ("jsonl", f'{{"text": "ab", "spans": ["{LONG}"]}}\n', "expected a span with start, end and la"),
    ("jsonl", f'{{"text": "ab", "spans": [[0, 1, "{LONG}"], [0, 2, "{LONG}"]]}}\n', "'ab' (xxx"),
]
TEXTS = [
    ("tsv", f"label\ttext\n{LONG}\n", "expected 2 columns, as on line 1, found 1: 'xxx"),
    ("csv", f'label,text\n"{LONG}"x,b\n', "expected a comma or a line end after the quote"),
    ("fasttext", f"{LONG}\n", "expected __label__NAME and a text, found 'xxx"),
    ("trec", f"{LONG}\n", "expected COARSE:fine and a text, found 'xxx"),
    ("trees", f"({LONG} a)\n", "expected a class from 0 to 4 at column 2, found 'xxx"),
    ("jsonl", f"{LONG}\n", "expected a JSON object, found 'xxx"),
    ("jsonl", f'{{"{LONG}": 1}}\n',
     "expected a text (sentence, content, data), found the keys xxx"),
    ("jsonl-texts", f'{{"{LONG}": 1}}\n',
     "expected a text (sentence, content, data), found the keys xxx"),
    ("jsonl-texts", f'{{"text": "a", "{LONG}": 1}}\n', ", intent), found the keys text, xx"),
    ("jsonl-texts", f'{{"text": "a", "label": {{"{LONG}": 1}}}}\n',
     'label: expected a class or a list of classes, found {"xxx'),
]  # fmt: skip
BRAT = [
    (f"T1\t{LONG} 0 9\ta\n", "expected a place in the text's 3 characters, found T1 (xxx"),
    (f"{LONG}\n", "expected T1<TAB>LABEL START END<TAB>TEXT, found 'xxx"),
    (f"T1\tPER 0 1\t{LONG}\n", "T1 (PER 0 1): expected 'xxx"),
    (f"T1\tPER {DIGITS} 1\ta\n", "found 'T1\\tPER 999"),
    (f"T1\tPER 0 2\ta \nT2\t{LONG} 0 1\ta\n", "'a' (xxx"),
]


@pytest.mark.parametrize(
    ("task", "name", "content", "expected"),
    [*(("tag", *each) for each in CORPORA), *(("classify", *each) for each in TEXTS)],
    ids=lambda value: value[:10].strip() if isinstance(value, str) else None,
)
def test_errors_of_readers_are_bounded(
    tmp_path: Path, task: str, name: str, content: str, expected: str
) -> None:
    (tmp_path / "a").write_text(content)
    data = DataConfig.model_validate({"format": name})
    message = refusal(lambda: read_split(str(tmp_path / "a"), data, KINDS[task], None), tmp_path)
    assert expected in message


@pytest.mark.parametrize(("content", "expected"), BRAT, ids=range(len(BRAT)))
def test_errors_of_brat_are_bounded(tmp_path: Path, content: str, expected: str) -> None:
    (tmp_path / "p.txt").write_text("a b")
    (tmp_path / "p.ann").write_text(content)
    data = DataConfig(format="brat")
    message = refusal(lambda: read_split(str(tmp_path / "p.txt"), data, TAGS, None), tmp_path)
    assert expected in message


def test_names_of_columns_are_quoted_in_part(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("label\ttext\na\tb c\n")
    (tmp_path / "t.conll").write_text("a\tO\n")
    named = DataConfig(text_column=LONG, label_column="label")
    for name, data, task, expected in (
        ("t.tsv", named, "classify", "data.text_column='xxx"),
        ("t.tsv", named.model_copy(update={"header": "no"}), "classify", "='xxx"),
        ("t.conll", DataConfig(token_column=LONG), "tag", "token column 'xxx"),
    ):
        path = str(tmp_path / name)
        assert expected in refusal(
            lambda p=path, d=data, t=task: read_split(p, d, KINDS[t], None), tmp_path
        )


@pytest.mark.parametrize(
    "text",
    [f"{LONG}", f"{LONG}=1", f"encoder.{LONG}=1", f"encoder.cell={LONG}", f"task={LONG}",
     f'train.seeds=["{LONG}"]', f"train.checkpoint_every={LONG}", f"train.device={LONG}",
     f"data.encoding={LONG}", f"head.class_weights={{{LONG}=0}}", f"train.seed={DIGITS}",
     f'data.dev_file="{LONG}\\u0000"'],
    ids=lambda text: text[:24],
)  # fmt: skip
def test_errors_of_options_are_bounded(tmp_path: Path, text: str) -> None:
    refusal(lambda: load_config(overrides=[text]), tmp_path)


@pytest.mark.parametrize(
    "content",
    [LONG, f"{LONG} = 1\n", f"[{LONG}]\n", f'["{LONG}"]\na = 1\n', f'a = "{LONG}\n',
     f"a = 1\na = '{LONG}'\n", f'[encoder]\ncell = "{LONG}"\n', f"[train]\nseed = {DIGITS}\n"],
    ids=lambda content: content[:16],
)  # fmt: skip
def test_errors_of_configuration_files_are_bounded(tmp_path: Path, content: str) -> None:
    (tmp_path / "c.toml").write_text(content)
    assert refusal(lambda: load_config(tmp_path / "c.toml"), tmp_path).startswith("c.toml: ")


@pytest.mark.parametrize(
    "text", [LONG, f"{LONG}=1,2", f"train.lr={LONG}..2", f"train.lr=1..2:{LONG}"]
)
def test_errors_of_searches_are_bounded(tmp_path: Path, text: str) -> None:
    refusal(lambda: parse_spaces([text]), tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", f"{LONG} 1 2\n{LONG} x\n"),
        ("a.txt", f"a 1 2\nb {LONG} 2\n"),
        ("a.txt", f"{DIGITS} {DIGITS}\na 1\n"),
        ("a.bin", f"{DIGITS} 2\n"),
        ("a.bin", f"{LONG}\n"),
        ("a.npy", LONG),
    ],
)
def test_errors_of_vectors_are_bounded(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    (tmp_path / "a.words").write_text("a\n")
    assert refusal(lambda: load_vectors(tmp_path / name), tmp_path).startswith(name)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    train(tiny.config(folder, "train.max_epochs=1"))
    return folder / "model" / "best"


def rename(found: dict[str, Any]) -> None:
    found[LONG] = found.pop("head.linear.weight")


def retype(found: dict[str, Any]) -> None:
    found["head.linear.weight"]["dtype"] = LONG


@pytest.mark.parametrize(
    "alter",
    [
        altering.vocabulary(tags=lambda tags: [*tags[:-1], LONG]),
        altering.vocabulary(words=lambda words: [*words[:-2], LONG, LONG]),
        altering.vocabulary(words=LONG),
        altering.vocabulary(chars=[{LONG: 1}]),
        altering.config(('cell = "lstm"', f'cell = "{LONG}"')),
        altering.config(("[encoder]", f"[encoder]\n{LONG} = 1")),
        altering.metadata(format_version=LONG),
        altering.metadata(format_version=99, tagkit=LONG),
        altering.metadata(sha256=LONG),
        altering.header(rename),
        altering.header(retype),
    ],
)
def test_errors_of_model_folders_are_bounded(
    model: Path, tmp_path: Path, alter: altering.Alteration
) -> None:
    for file in model.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    alter(tmp_path)
    refusal(lambda: load_bundle(tmp_path), tmp_path)


def test_what_differs_between_runs_is_quoted_in_part_and_as_in_toml() -> None:
    (said,) = differences({"data.scheme": LONG}, {"data.scheme": None})
    assert said.startswith('data.scheme = "xxx')
    assert said.endswith('xxx", not unset')
    assert len(said) < QUOTED
    assert differences({"a": True}, {"a": [1]}) == ["a = true, not [1]"]


@pytest.mark.parametrize(
    "path", [("run",), ("epochs",), ("position", "done"), ("schedule", "lr"), ("skipped",)]
)
def test_what_is_said_of_checkpoints_is_bounded(
    stopped: Stopped,
    tmp_path: Path,
    path: tuple[str, ...],
) -> None:
    folder = tmp_path / "checkpoints"
    for place in (stopped.run / "checkpoints").iterdir():
        (folder / place.name).mkdir(parents=True)
        for file in place.iterdir():
            (folder / place.name / file.name).write_bytes(file.read_bytes())
    newest = max(folder.iterdir())
    forge(newest, put("state", *path, value=LONG))
    assert json.loads((newest / "state.json").read_text())["sha256"]
    notes: list[str] = []
    try:
        newest_checkpoint(folder, notes.append, stopped.state.check)
    except TagkitError as error:
        notes.append(str(error))
    assert len(notes) == 1
    assert len(notes[0].replace(str(folder), "")) < QUOTED + 300
