"""Inputs are read once, within bounds, and refused in one sentence."""

import gzip
import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from kinds import TAGS

from tagkit.config import Config, DataConfig
from tagkit.corpus.convert import convert_corpus
from tagkit.corpus.formats.options import Reading
from tagkit.corpus.formats.recognition import read_items
from tagkit.corpus.formats.source import Source, open_bytes
from tagkit.corpus.formats.table import FORMATS, target_format
from tagkit.corpus.splits import load_corpus, read_split
from tagkit.errors import DataError, FormatError, TagkitError
from tagkit.evaluation.compare import compare_files

PROGRAM = [sys.executable, "-c", "from tagkit.cli.main import main; main()"]
TAGGED = "Ada\tB-PER\nleft\tO\n\nOslo\tB-LOC\nsleeps\tO\n\n"


def items_of(path: Path, **options: object) -> list[object]:
    data = DataConfig(**options)
    limit = {"max_line_chars": data.max_line_chars} if "max_line_chars" in options else {}
    return list(read_items(Source(str(path), data.encoding, **limit), Reading(data)))


def refusal(path: Path, **options: object) -> str:
    with pytest.raises(TagkitError) as caught:
        items_of(path, **options)
    return str(caught.value).replace(f"{path.parent}/", "")


# One line, or one text, of more than the limit.


@pytest.mark.parametrize("name", [name for name in FORMATS if not FORMATS[name].many_files])
@pytest.mark.parametrize("size", [1001, 300_000])
def test_a_line_over_the_limit_is_refused_by_every_reader(
    tmp_path: Path, name: str, size: int
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"\n" + b"x" * size)
    assert refusal(path, format=name, max_line_chars=1000) == (
        "a:2: expected a line of at most 1,000 characters, found a longer one. Divide it into "
        "shorter ones, or raise data.max_line_chars"
    )


def test_a_line_of_just_the_limit_is_read_also_between_others(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"a\n" + b"x" * 1000 + b"\nb\n")
    assert len(items_of(path, format="text", max_line_chars=1000)) == 3
    path.write_bytes(b"a\n" + b"x" * 1001 + b"\nb\n")
    assert refusal(path, format="text", max_line_chars=1000).startswith("a:2: expected a line of")


def test_many_short_lines_are_no_long_one(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"short line\n" * 50_000)
    assert len(items_of(path, format="text", max_line_chars=1000)) == 50_000


def test_texts_in_files_of_their_own_have_the_limit_too(tmp_path: Path) -> None:
    for label in ("neg", "pos"):
        (tmp_path / "classes" / label).mkdir(parents=True)
        (tmp_path / "classes" / label / "1.txt").write_bytes(b"short\n" * 200)
    assert refusal(tmp_path / "classes", max_line_chars=1000).endswith(
        "1.txt: expected a text of at most 1,000 characters, found a longer one. Divide it into "
        "shorter ones, or raise data.max_line_chars"
    )
    pair = tmp_path / "pair"
    pair.mkdir()
    (pair / "a.txt").write_bytes(b"short\n" * 200)
    (pair / "a.ann").write_bytes(b"")
    assert "expected a text of at most 1,000 characters" in refusal(pair, max_line_chars=1000)
    (pair / "a.txt").write_bytes(b"short\n")
    (pair / "a.ann").write_bytes(b"T" * 1001)
    assert "a.ann:1: expected a line of at most" in refusal(pair, max_line_chars=1000)


def test_a_line_of_a_parallel_file_has_the_limit_too(tmp_path: Path) -> None:
    for name, content in (("seq.in", "a"), ("seq.out", "O" * 1001)):
        (tmp_path / name).write_text(content, encoding="utf-8")
    assert "seq.out:1: expected a line of at most" in refusal(tmp_path, max_line_chars=1000)


@pytest.mark.parametrize("line", ['","\n', "word\n"])
def test_a_quote_that_is_not_closed_does_not_take_the_whole_file(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text('text,label\nfine,x\n"' + line * 1000, encoding="utf-8", newline="")
    assert refusal(path, format="csv", max_line_chars=1000) == (
        "a.csv:3: expected a row of at most 1,000 characters, found a longer one: is a quote not "
        "closed? data.max_line_chars is the limit"
    )


@pytest.mark.parametrize("name", ["auto", "columns", "jsonl", "tsv", "csv"])
def test_a_packed_bomb_is_refused_in_little_memory(tmp_path: Path, name: str) -> None:
    path = tmp_path / "bomb.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(200):
            file.write(bytes(1 << 20))
    program = (
        "import resource, sys\n"
        "from tagkit.corpus.lint.file_contents import read_file\n"
        "from tagkit.config import DataConfig\n"
        "def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024\n"
        "before = peak()\n"
        f"found = read_file({str(path)!r}, DataConfig(format={name!r}, max_line_chars=5_000_000))\n"
        "print(peak() - before, found.refusal)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    grown, _, told = ended.stdout.partition(" ")
    assert ":1: expected a line of at most 5,000,000 characters" in told
    assert int(grown) < 60  # MB; unpacked it has 200


# What is no CoNLL-U, or a broken one.

NINE_AND_A_TAB = "1\tHi\ta\tb\tc\td\te\tf\tB-X\t\n\n"


def test_nine_columns_and_a_tab_are_nine_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(NINE_AND_A_TAB, encoding="utf-8")
    for form in ("auto", "columns"):
        assert json.loads(converted(path, "jsonl", format=form))["tokens"] == ["1"]


def converted(path: Path, to: str, **options: object) -> str:
    conversion = convert_corpus(
        str(path), DataConfig(**options), lambda read: target_format("-", to, read), None,
        single=True, note=lambda _: None,
    )  # fmt: skip
    return "".join(piece.text for piece in conversion.pieces)


@pytest.mark.parametrize("first", ["7", "12", "1", "x"])
def test_ten_columns_read_as_columns_keep_their_first_as_the_token(
    tmp_path: Path, first: str
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("\t".join([first, *"bcdefghi", "B-X"]) + "\n\n", encoding="utf-8")
    record = json.loads(converted(path, "jsonl", format="columns"))
    assert record["tokens"] == [first]
    assert record["tags"] == ["B-X"]
    assert json.loads(converted(path, "jsonl-spans", format="columns"))["text"] == first


def conllu(*ids: str) -> str:
    return "".join(f"{number}\tw{number}\t_\tX" + "\t_" * 6 + "\n" for number in ids) + "\n"


@pytest.mark.parametrize(
    ("ids", "line", "shown"),
    [
        (("1-9", "1", "2"), 1, "1-9"),
        (("1", "2-3", "2"), 2, "2-3"),
        (("1-2", "1", "3"), 1, "1-2"),
        (("1-2", "2", "1"), 1, "1-2"),
        (("1-2",) * 2 + ("1", "2"), 1, "1-2"),
        (("1-1", "1"), 1, "1-1"),
        (("2-1", "1", "2"), 1, "2-1"),
        (("1-999999999", "1", "2"), 1, "1-999999999"),
    ],
)
def test_a_range_that_its_words_do_not_follow_is_refused_with_its_line(
    tmp_path: Path, ids: tuple[str, ...], line: int, shown: str
) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(conllu(*ids), encoding="utf-8")
    with pytest.raises(FormatError) as caught:
        converted(path, "text", format="conllu")
    assert str(caught.value) == (
        f"{path}:{line}: expected the multiword range '{shown}' to be that of two words or more "
        "that follow it, one by one"
    )
    assert len(read_split(str(path), DataConfig(), TAGS, None).sentences) == 1  # words alone


@pytest.mark.parametrize("number", ["9" * 5000, "1-" + "9" * 5000, "٣", "1--2", "1.", "-1"])
def test_an_odd_number_of_a_word_is_refused(tmp_path: Path, number: str) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(conllu("1", number), encoding="utf-8")
    message = refusal(path, format="conllu")
    assert message.startswith("a.conllu:2: expected a CoNLL-U ID such as 1, 1-2 or 1.1, found ")
    assert len(message) < 200


# Standard input and pipes give their content once.


def feed(monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))


def test_a_training_corpus_may_be_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed(monkeypatch, TAGGED * 3)
    corpus = load_corpus(Config(data=DataConfig(train_file="-")), TAGS)
    assert len(corpus.train.sentences) + len(corpus.dev.sentences) == 6
    assert corpus.layout is not None
    assert corpus.layout.width == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_training_corpus_may_be_a_named_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(TAGGED * 3, encoding="utf-8"))
    writer.start()
    corpus = load_corpus(Config(data=DataConfig(train_file=str(pipe))), TAGS)
    writer.join(timeout=10)
    assert len(corpus.train.sentences) + len(corpus.dev.sentences) == 6
    assert corpus.layout is not None


@pytest.mark.parametrize("command", ["check", "convert", "eval"])
def test_commands_read_a_corpus_from_standard_input(tmp_path: Path, command: str) -> None:
    arguments = {
        "check": ["check", "-"],
        "convert": ["convert", "-", "-", "--to", "jsonl"],
        "eval": ["eval", "--gold", "-", "--json"],
    }[command]
    content = "Ada\tB-PER\tO\nleft\tO\tO\n\n" if command == "eval" else TAGGED
    ended = subprocess.run(
        [*PROGRAM, *arguments], input=content, cwd=tmp_path, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.startswith("standard input: read as columns: ")
    assert ended.stdout


def test_gold_and_predicted_tags_of_a_pipe_are_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = "Ada\tB-PER\tO\nOslo\tB-LOC\tB-LOC\n\n"
    feed(monkeypatch, both)
    report = compare_files("-", None, DataConfig(), -1, False)
    path = tmp_path / "both.conll"
    path.write_text(both, encoding="utf-8")
    assert report == compare_files(str(path), None, DataConfig(), -1, False)
    feed(monkeypatch, both)
    assert compare_files("-", str(path), DataConfig(tag_column=1), -1, False) == report


def test_classes_of_a_pipe_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pred.tsv"
    path.write_text("label\ttext\npos\tgood film\nneg\tbad film\n", encoding="utf-8")
    feed(monkeypatch, path.read_text("utf-8"))
    assert compare_files("-", str(path), DataConfig(), -1, False).headline == 1.0


def test_standard_input_is_one_input_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, TAGGED)
    with pytest.raises(DataError) as caught:
        load_corpus(Config(data=DataConfig(train_file="-", dev_file="-")), TAGS)
    assert str(caught.value) == (
        "standard input: can be read once, and one input has been read from it already; name a "
        "file for the other"
    )


def test_several_runs_refuse_a_pipe_before_they_begin() -> None:
    from tagkit.corpus.splits import require_files

    with pytest.raises(DataError) as caught:
        require_files(Config(data=DataConfig(train_file="-")), "several seeds")
    assert str(caught.value) == (
        "standard input: can be read once, and several seeds read it several times; save it to a "
        "file and name that"
    )
    require_files(Config(data=DataConfig(train_file=__file__)), "several seeds")


def test_what_is_read_several_times_is_a_copy_of_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tagkit.corpus.formats.source import rereadable

    feed(monkeypatch, TAGGED)
    with rereadable("-") as path:
        for _ in range(2):
            assert len(read_split(path, DataConfig(), TAGS, None).sentences) == 2
    assert not Path(path).exists()
    with rereadable(__file__) as path:
        assert path == __file__


def test_closed_standard_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with (
        pytest.raises(DataError, match="standard input: is closed; name a file"),
        open_bytes("-"),
    ):
        pass


# Messages.


def test_a_file_that_is_no_parallel_corpus_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.txt").write_text("a\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name in ("notes.txt", "missing"):
        with pytest.raises(DataError) as caught:
            items_of(Path(name), format="parallel")
        assert str(caught.value) == (
            f"{name}: expected a folder that holds seq.in, or seq.in itself, found neither"
        )


@pytest.mark.parametrize("content", ["", "\n\n", "# a comment\n\n", "-DOCSTART- O\n\n"])
@pytest.mark.parametrize("to", ["columns", "jsonl"])
def test_a_corpus_without_a_record_is_not_converted(tmp_path: Path, content: str, to: str) -> None:
    (tmp_path / "a.conll").write_text(content, encoding="utf-8")
    ended = subprocess.run(
        [*PROGRAM, "convert", "a.conll", "b", "--to", to], cwd=tmp_path, capture_output=True,
        text=True, timeout=60,
    )  # fmt: skip
    assert ended.returncode == 1
    assert "error: a.conll: holds nothing to convert\n" in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.conll"]


def test_one_column_is_not_called_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("one\n", encoding="utf-8")
    assert "found 1 column and nothing" in refusal(path, format="tsv")
    assert refusal(path, format="tsv", text_column=3).endswith("as the file has 1 column")
