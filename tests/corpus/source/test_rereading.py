"""Files are read again in place of being held; what can be read once is held."""

import io
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from says import refuses

from tagkit.config import DataConfig
from tagkit.corpus.files import convert
from tagkit.corpus.source.options import source_of
from tagkit.corpus.source.rereading import several_times
from tagkit.corpus.source.source import Source
from tagkit.errors import DataError


def lines_of(path: str) -> tuple[Iterable[str], list[str]]:
    """Lines of a source, and the paths from which they were read so far."""
    readings: list[str] = []

    def read(source: Source) -> Iterator[str]:
        readings.append(source.path)
        for _, line in source.numbered():
            yield line

    return several_times(source_of(path, DataConfig()), DataConfig(), read), readings


def test_a_file_is_read_again_each_time(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one\ntwo\n", encoding="utf-8")
    lines, readings = lines_of(str(path))
    assert readings == []
    assert next(iter(lines)) == "one"  # a reading that is left before its end
    assert [*lines] == [*lines] == ["one", "two"]
    assert readings == [str(path)] * 3


def test_standard_input_is_read_once_and_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo\n")))
    lines, readings = lines_of("-")
    assert [*lines] == [*lines] == ["one", "two"]
    assert readings == ["-"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_read_once_and_held(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("one\ntwo\n", encoding="utf-8"))
    writer.start()
    lines, readings = lines_of(str(pipe))
    writer.join(timeout=10)
    assert [*lines] == [*lines] == ["one", "two"]
    assert readings == [str(pipe)]


def test_a_file_that_changes_between_two_readings_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one\ntwo\n", encoding="utf-8")
    lines, _ = lines_of(str(path))
    assert [*lines] == ["one", "two"]
    status = path.stat()
    path.write_text("one\nsix\n", encoding="utf-8")  # of the same size, and of the same time
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(DataError) as caught:
        list(lines)
    assert str(caught.value) == f"{path}: was changed while it was read; start again"


@pytest.mark.parametrize("target", ["columns", "jsonl-tokens", "jsonl-spans"])
def test_nothing_is_written_of_a_corpus_that_changes_while_it_is_converted(
    tmp_path: Path, target: str
) -> None:
    path, out = tmp_path / "a.conll", tmp_path / "out"
    sentence = "-DOCSTART-\tO\n\nAda\tI-PER\nsleeps\tO\n\n"
    path.write_text(sentence, encoding="utf-8")

    def note(_: str) -> None:  # between the readings it is said what is left out, or converted
        path.write_text(sentence * 2, encoding="utf-8")

    with refuses(DataError, "a.conll", "changed"):
        convert(path, out, to=target, scheme="iob2", note=note, format="columns", force=True)
    assert not out.exists()
    out.write_text("as it was", encoding="utf-8")
    path.write_text(sentence, encoding="utf-8")
    with refuses(DataError, "changed"):
        convert(path, out, to=target, scheme="iob2", note=note, format="columns", force=True)
    assert out.read_text(encoding="utf-8") == "as it was"
