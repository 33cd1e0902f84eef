"""Files that are whole or not there."""

import errno
import gzip
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from says import refuses

from tagkit.errors import DataError
from tagkit.storage import (
    encoded,
    open_output,
    write_whole,
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def kept_of(path: Path, *texts: str, limit: int) -> list[Path]:
    """What is kept of texts of which the last one meets a limit, as on a full disk."""
    resource = pytest.importorskip("resource")  # of Unix
    kept: list[Path] = []
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def write_all() -> None:
        with open_output(path, on_partial=kept.append) as write:
            for text in texts:
                write(text)

    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        with pytest.raises(DataError, match="cannot be written"):
            write_all()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    return kept


def test_of_a_write_that_fails_no_part_is_kept_but_all_that_came_before(tmp_path: Path) -> None:
    one = 59 * "1" + "\n"
    # 40 bytes of the second text find room.
    assert kept_of(tmp_path / "a", one, one, limit=100) == [tmp_path / "a.partial"]
    assert (tmp_path / "a.partial").read_text() == one
    assert kept_of(tmp_path / "b", 2 * one, limit=100) == []
    assert os.listdir(tmp_path) == ["a.partial"]


def test_of_compressed_data_that_cannot_be_written_nothing_is_kept(tmp_path: Path) -> None:
    many = "".join(map(chr, range(32, 5000)))
    assert kept_of(tmp_path / "a.gz", "one\n", many, limit=1000) == []
    assert os.listdir(tmp_path) == []


def test_a_file_is_there_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with open_output(path) as write:
        write("\ufeffone")
        assert not path.exists()
        write(" two\n")
    assert path.read_text("utf-8-sig") == "\ufeffone two\n"
    assert os.listdir(tmp_path) == ["a"]


def test_an_error_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        with open_output(path) as write:
            write("new")
            raise ZeroDivisionError

    for name in ("a", "a.gz"):
        path = tmp_path / name
        path.write_text("old")
        with pytest.raises(ZeroDivisionError):
            fail(path)
        assert path.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["a", "a.gz"]


def test_a_packed_file_behind_a_link_is_packed(tmp_path: Path) -> None:
    (tmp_path / "a.gz").symlink_to("b")
    with open_output(tmp_path / "a.gz") as write:
        write("text")
    assert gzip.decompress((tmp_path / "b").read_bytes()) == b"text"


def test_what_was_readable_for_few_never_is_for_more(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    path.chmod(0o640)
    with open_output(path) as write:
        write("secret")
        (beside,) = [each for each in tmp_path.iterdir() if each != path]
        assert mode(beside) == 0o640
    assert (mode(path), path.read_text()) == (0o640, "secret")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_root_leaves_a_file_to_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    os.chown(path, 1234, 2345)
    write_whole(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


def test_half_of_a_surrogate_pair_is_named() -> None:
    for text in ("a\udce9", "\ufeff\udce9"):
        with refuses(DataError, "DCE9", "surrogate"):
            encoded(text, first=True)


def keeping(path: Path, *texts: str, error: Exception) -> list[Path]:
    """What was kept of an output that an error ended after these texts."""
    kept: list[Path] = []
    try:
        with open_output(path, on_partial=kept.append) as write:
            for text in texts:
                write(text)
            raise error
    except type(error):
        return kept


def test_what_was_written_before_an_error_of_the_input_is_kept_where_it_is_wanted(
    tmp_path: Path,
) -> None:
    path, error = tmp_path / "a", DataError("bad")
    path.write_text("old")
    path.chmod(0o640)
    assert keeping(path, "one\n", "two\n", error=error) == [tmp_path / "a.partial"]
    assert keeping(path, "three\n", error=error) == [tmp_path / "a.partial.2"]
    (tmp_path / "a.partial.3").symlink_to("nowhere")  # a link that leads nowhere is there too
    assert keeping(path, "four\n", error=error) == [tmp_path / "a.partial.4"]
    found = [(tmp_path / f"a{end}").read_text() for end in ("", ".partial", ".partial.2")]
    assert found == ["old", "one\ntwo\n", "three\n"]
    assert mode(tmp_path / "a.partial") == 0o640
    assert len(os.listdir(tmp_path)) == 5
    packed = tmp_path / "b.gz"
    (kept,) = keeping(packed, "text", error=error)
    assert gzip.decompress(kept.read_bytes()) == b"text"


def test_nothing_is_kept_that_is_empty_or_ended_by_a_mistake_of_the_program(
    tmp_path: Path,
) -> None:
    assert keeping(tmp_path / "a", error=DataError("bad")) == []
    assert keeping(tmp_path / "a", "", error=DataError("bad")) == []
    assert keeping(tmp_path / "a.gz", error=DataError("bad")) == []
    assert keeping(tmp_path / "a", "text", error=ZeroDivisionError()) == []
    assert os.listdir(tmp_path) == []


def test_the_longest_of_names_leaves_room_for_the_ending(tmp_path: Path) -> None:
    (kept,) = keeping(tmp_path / ("ä" * 127), "text", error=DataError("bad"))
    assert kept.name == "ä" * 123 + ".partial"
    assert (len(os.fsencode(kept.name)), kept.read_text()) == (254, "text")


def test_beside_a_link_what_is_kept_lies_where_the_link_leads(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "a").symlink_to("there/b")
    (kept,) = keeping(tmp_path / "a", "text", error=DataError("bad"))
    assert kept == tmp_path / "there" / "b.partial"


def test_packed_output_that_is_stopped_leaves_neither_file_nor_complaint(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys, tagkit.storage\n"
        "try:\n"
        "    with tagkit.storage.open_output(pathlib.Path(sys.argv[1])) as write:\n"
        "        write('one')\n"
        "        raise KeyboardInterrupt\n"
        "except KeyboardInterrupt:\n"
        "    pass\n"
    )
    # In this mode Python says what goes wrong where an object ends: gzip, left open, would find
    # that its file is closed.
    command = [sys.executable, "-X", "dev", "-c", program, str(tmp_path / "a.gz")]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stderr == ""
    assert os.listdir(tmp_path) == []


def test_a_file_is_replaced_where_there_are_no_extended_attributes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(path: Path) -> list[str]:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(os, "listxattr", none, raising=False)  # of Linux alone
    for content in (b"1", b"2"):
        write_whole(tmp_path / "a", content)
        assert (tmp_path / "a").read_bytes() == content


def test_a_file_is_written_where_folders_cannot_be_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_files(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "fsync", of_files)
    write_whole(tmp_path / "a", b"1")
    assert (tmp_path / "a").read_bytes() == b"1"

    def of_none(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", of_none)
    with refuses(OSError, "output"):
        write_whole(tmp_path / "b", b"1")
