"""What each kind of message names, and the sentences of all of them.

A row says what raises a message, and what it has to name: the file, the line, the option, the
value that was found, the remedy. The sentences are in `messages.txt` beside this file, to be read
as text. After a wanted change they are written anew, and the difference is looked at:

    TAGKIT_WRITE_MESSAGES=1 pytest -n 0 tests/e2e/test_messages.py

Other tests assert which error is raised and what it names (tests/support/says.py), and not its
sentence. A command's messages are those of the library, with flags in place of options.
"""

import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from program import Program
from says import Says

import tagkit
from tagkit.errors import TagkitError

GOLDEN = Path(__file__).with_name("messages.txt")
MODELS = Path(__file__).parents[1] / "fixtures" / "0.2.0"
# Files that the rows name; each is in the folder in which a row is run.
FILES = {
    "good.conll": "Ada B-PER\nleft O\n\nOslo B-LOC\nis O\nfar O\n\n",
    "dev.conll": "Ben B-PER\nleft O\n\n",
    "ragged.conll": "Ada B-PER\nleft\n",
    "gap.conll": "Ada B-PER\n\n\tO\n",
    "plain.conll": "Ada noun\nleft verb\n\nBen noun\n",
    "one.conll": "Ada B-PER\n",
    "iobes.conll": "Ada S-PER\nleft O\n\n",
    "wrong.conll": "Ada I-PER\nleft I-LOC\n\nBen B-PER\n\n",
    "other.conll": "Eve B-PER\nleft O\n\nOslo B-LOC\nis O\nfar O\n\n",
    "outside.conll": "Ada O\nleft O\n\nBen O\n\n",
    "empty.conll": "",
    "texts.txt": "Plain text without any label.\nAnother line of it.\n",
    "texts.tsv": "ham\tHow are you?\nspam\tBuy it now\n",
    "odd.csv": "a,b,c\n1,2,3\n4,5,6\n",
    "odd.jsonl": '{"text": "To Oslo"}\n{"text": 3}\n',
    "broken.jsonl": '{"text": "To Oslo"\n',
    "spans.jsonl": '{"text": "To Oslo", "spans": [{"start": 4, "end": 7, "label": "LOC"}]}\n',
    "beyond.jsonl": '{"text": "To Oslo", "spans": [{"start": 3, "end": 70, "label": "LOC"}]}\n',
    "ten.conllu": "1\tAda\t_\tPROPN\n\n",
    "trees.txt": "(3 (2 a) (9 b))\n(2 c\n",
    "word.trec": "LOC Where is Oslo ?\n",
    "no.toml": "[encoder\n",
    "wrong.toml": '[encoder]\nhiden = 3\ncell = "lstn"\n[train]\nlr = -1\n',
    "vectors.txt": "2 3\nAda 1 2 3\nleft 1 2\n",
}  # fmt: skip
MODEL = MODELS / "tag-crf"
LANGUAGE = MODELS / "language-model-word"
CLASSES = MODELS / "classify-max"


# A command line, and what its message must name.
COMMANDS: list[tuple[str, tuple[str, ...]]] = [
    # The configuration.
    ("train --train good.conll --set encoder.hiden=3", ("encoder.hiden", "encoder.hidden")),
    ("train --train good.conll --set train.accumulate=2", ("train.accumulate", "train.batch_size")),
    ("train --train good.conll --set encoder.cell=lstn", ("encoder.cell", '"lstn"', "'lstm'")),
    ("train --train good.conll --set encoder.dropout=1.5", ("encoder.dropout", "1.5", "1")),
    ("train --train good.conll --set train.lr", ("--set", "'train.lr'", "section.key=value")),
    ("train --train good.conll --seed -3", ("--seed", "-3", "0")),
    ("train --train good.conll --seed 1 --set train.seed=2", ("train.seed", "--seed", "--set")),
    ("train --train good.conll --seed 1 --seeds 1,2", ("--seed", "--seeds")),
    ("train --train good.conll --set train.momentum=0.5", ("train.momentum", "train.optimizer")),
    ("train --config wrong.toml", ("wrong.toml", "encoder.hiden", "encoder.cell", "train.lr")),
    ("train --config no.toml", ("no.toml", "line 1")),
    ("train --config none.toml", ("none.toml",)),
    ("train", ("tagkit.toml", "--train", "--config")),
    ("config train.sed", ("train.sed", "train.seed")),
    # A corpus and its format.
    ("train --train none.conll", ("none.conll",)),
    ("train --train ragged.conll", ("ragged.conll:2", "2 columns", "'left'")),
    ("train --train gap.conll", ("gap.conll:3",)),
    ("train --train empty.conll", ("empty.conll",)),
    ("train --train one.conll", ("one.conll", "--dev")),
    ("train --train outside.conll --dev dev.conll", ("outside.conll", "O")),
    ("train --train texts.txt", ("texts.txt", "--input-format", "--task language-model")),
    ("train --train texts.tsv", ("texts.tsv", "--task classify")),
    ("train --train good.conll --task classify", ("good.conll", "--input-format")),
    ("train --train good.conll --tag-column 7", ("good.conll:1", "tag column 7", "-2 to 1")),
    ("train --train good.conll --text-column 1", ("data.text_column", "--task classify")),
    ("train --train good.conll --encoding utf-9", ("--encoding", "utf-9")),
    ("train --train good.conll --input-format conl", ("--input-format", "conl", "conllu")),
    ("train --train odd.csv --task classify", ("odd.csv:1", "3 columns", "--label-column")),
    ("train --train odd.csv --task classify --label-column x --text-column a",
     ("odd.csv:1", "--label-column", "'x'")),
    ("train --train odd.jsonl --task classify", ("odd.jsonl:1",)),
    ("train --train broken.jsonl", ("broken.jsonl", "--input-format")),
    ("train --train spans.jsonl --dev spans.jsonl", ("spans.jsonl:1", "--on-misaligned")),
    ("train --train beyond.jsonl --dev beyond.jsonl", ("beyond.jsonl:1", "70")),
    ("train --train ten.conllu", ("ten.conllu:1", "10", "4")),
    ("train --train trees.txt --task classify --input-format trees", ("trees.txt:1", "9")),
    ("train --train good.conll --dev plain.conll", ("plain.conll", "iob2", "--tag-column")),
    ("train --train good.conll --dev - --test -", ("standard input", "--test")),
    # What a run needs.
    ("train --train good.conll --dev dev.conll --vectors none.txt",
     ("none.txt", "--vectors")),
    ("train --train good.conll --dev dev.conll --set embeddings.vectors=vectors.txt",
     ("vectors.txt:3", "3")),
    ("train --train good.conll --dev dev.conll --device cuda:99", ("cuda:99",)),
    ("train --train good.conll --dev dev.conll --init-from none", ("none", "--init-from")),
    ("train --train good.conll --dev dev.conll --resume --force", ("--resume", "--force")),
    ("train --train good.conll --dev dev.conll -o full", ("full", "notes.txt", "-o")),
    ("train --train good.conll --dev dev.conll -o ''", ("-o: ", "-o .")),
    ("train --train good.conll --dev dev.conll --metric f2", ("--metric", "f2")),
    ("train --train good.conll --dev dev.conll --set train.context=3", ("train.context",)),
    # Prediction.
    ("predict none texts.txt", ("none", "tagkit train")),
    (f"predict {MODEL} none.txt", ("none.txt",)),
    (f"predict {MODEL} texts.txt --format tsv", ("--format", "tsv", "jsonl")),
    (f"predict {MODEL} texts.txt --top 2", ("--top",)),
    (f"predict {MODEL} texts.txt --format brat", ("brat", "-o")),
    (f"predict {MODEL} texts.txt --coverage 0.9", ("--coverage",)),
    (f"predict {MODEL} texts.txt --n-best 2", ("--n-best", "--format jsonl")),
    (f"predict {MODEL} texts.txt --resume", ("--resume",)),
    (f"predict {MODEL} texts.txt --beam 3", ("--beam",)),
    (f"predict {MODEL} texts.txt --device cuda:99", ("cuda:99",)),
    (f"predict {MODEL} odd.jsonl", ("odd.jsonl:2", "3", "--on-bad-record skip")),
    (f"predict {MODEL} texts.txt -o texts.txt", ("texts.txt",)),
    (f"predict {MODEL} texts.txt -o no/out.conll", ("no/out.conll",)),
    (f"predict {CLASSES} texts.txt --max-length 9", ("--max-length",)),
    # Scoring.
    (f"eval {MODEL} ragged.conll", ("ragged.conll:2", "'left'")),
    (f"eval {MODEL} texts.txt", ("texts.txt", "--input-format")),
    (f"eval {MODEL} plain.conll", ("plain.conll",)),
    (f"eval {MODEL} good.conll --cache-window 3", ("--cache",)),
    ("eval --gold good.conll", ("good.conll", "--pred")),
    ("eval --gold good.conll --pred other.conll", ("other.conll:1", "good.conll:1", "'Eve'")),
    ("eval --gold good.conll --pred none.conll", ("none.conll",)),
    ("eval --gold plain.conll --pred plain.conll --strict", ("--strict",)),
    ("eval --gold plain.conll --pred plain.conll --scheme foo", ("foo", "iob2")),
    ("eval --gold good.conll --pred good.conll --calibration", ("analysis calibration",)),
    ("eval --gold good.conll --pred good.conll --label-column 1", ("--label-column",)),
    # Generation.
    (f"generate {LANGUAGE} --greedy --beam 3", ("--greedy", "--beam")),
    (f"generate {LANGUAGE} --greedy --seed 3", ("--seed", "--greedy")),
    (f"generate {LANGUAGE} --length-penalty 1", ("--length-penalty", "--beam")),
    (f"generate {LANGUAGE} --beam 2 --samples 3", ("samples", "2", "3")),
    (f"generate {LANGUAGE} --end halt", ("--end halt",)),
    (f"generate {MODEL}", (str(MODEL),)),
    # Conversion and checks.
    ("convert good.conll out.xyz", ("out.xyz", "--to")),
    ("convert good.conll out.conll --scheme foo", ("foo",)),
    ("convert texts.tsv out.tsv --scheme iob2", ("texts.tsv", "--scheme")),
    ("convert good.conll dev.conll", ("dev.conll", "--force")),
    ("convert good.conll out.conll --to odd", ("odd", "columns")),
    ("check wrong.conll", ("wrong.conll", "IOB1", "LOC")),
    ("check texts.txt", ("texts.txt", "--input-format text")),
    ("check ragged.conll", ("ragged.conll:2", "'left'")),
    ("check texts.tsv --fix out.tsv", ("texts.tsv", "columns")),
    ("check good.conll --force", ("--force", "--fix")),
    # Several trainings.
    ("tune --train good.conll --search encoder.hidden=", ("--search", "'encoder.hidden='")),
    ("tune --train good.conll --search train.seeds=1,2", ("--search", "train.seeds")),
    ("learning-curve --train good.conll --sizes 1,2", ("--sizes", "3")),
    ("learning-curve --train good.conll --sizes 1,2,9", ("good.conll",)),
    ("learning-curve --train good.conll --task language-model", ("--task",)),
    ("audit good.conll --folds 9", ("good.conll", "--folds", "9")),
    (f"benchmark {MODEL} none.conll", ("none.conll",)),
    (f"calibrate {MODEL} empty.conll", ("empty.conll",)),
    ("info none", ("none", "tagkit train")),
]  # fmt: skip
# What no command can raise: a caller's arguments in Python.
CALLS: list[tuple[str, Callable[[], object], tuple[str, ...]]] = [
    ("load('')", lambda: tagkit.load(""), ("",)),
    ("train({'encoder.hiden': 3})",
     lambda: tagkit.train({"encoder.hiden": 3}), ("encoder.hidden",)),
    ("convert('good.conll', 'out.xyz')",
     lambda: tagkit.convert("good.conll", "out.xyz"), ("out.xyz", "to=")),
    ("read('ragged.conll')", lambda: list(tagkit.read("ragged.conll")), ("ragged.conll:2",)),
    ("train({'data.train_file': 'one.conll'})",
     lambda: tagkit.train({"data.train_file": "one.conll"}), ("one.conll", "data.dev_file")),
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the files that the rows name."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("not of a run\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Program:
    """The program, run in this process."""
    return Program(monkeypatch, capsysbinary)


def shown(text: str, folder: Path) -> str:
    """A text that is the same in each checkout and in each run."""
    text = text.replace(str(folder), "FOLDER").replace(str(MODELS), "MODELS")
    return text.replace("python -m pytest.tagkit", "tagkit")  # where usage names the program


def compare(head: str, message: str) -> None:
    """Compare a message with that of the golden file, or write it there."""
    written = GOLDEN.read_text("utf-8") if GOLDEN.exists() else ""
    blocks = dict(
        block.strip("\n").split("\n", 1) for block in written.split("\n\n") if block.strip()
    )
    if "TAGKIT_WRITE_MESSAGES" in os.environ:
        blocks[head] = message
        text = "\n\n".join(f"{each}\n{blocks[each]}" for each in heads() if each in blocks)
        GOLDEN.write_text(f"{text}\n", encoding="utf-8")
        return
    assert message == blocks[head].rstrip("\n")


def heads() -> list[str]:
    """The first line of each block of the golden file, in the order of the rows."""
    lines = [shown(f"$ tagkit {line}", Path("FOLDER")) for line, _ in COMMANDS]
    return [*lines, *(f">>> {name}" for name, _, _ in CALLS)]


@pytest.mark.parametrize(("line", "named"), COMMANDS, ids=[Path(line).name for line, _ in COMMANDS])
def test_a_message_of_a_command_names_what_it_is_about(
    line: str, named: tuple[str, ...], run: Program, folder: Path
) -> None:
    ended = run(*shlex.split(line), stdin=b"")
    message = shown(ended.err + ended.out * line.startswith("check"), folder)
    assert message == Says(*(shown(each, folder) for each in named))
    assert "Traceback" not in message
    compare(shown(f"$ tagkit {line}", folder), "\n".join(filter(None, message.split("\n"))))


@pytest.mark.parametrize(("name", "call", "named"), CALLS, ids=[name for name, _, _ in CALLS])
def test_a_message_of_a_function_names_its_parameters(
    name: str, call: Callable[[], object], named: tuple[str, ...], folder: Path
) -> None:
    with pytest.raises(TagkitError) as caught:
        call()
    assert caught.value == Says(*named)
    compare(f">>> {name}", shown(str(caught.value), folder))


def test_the_golden_file_has_the_messages_of_these_rows_alone() -> None:
    found = [line for line in GOLDEN.read_text("utf-8").split("\n") if line[:2] in ("$ ", ">>")]
    assert found == heads()
