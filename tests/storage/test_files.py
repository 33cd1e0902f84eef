"""Files and folders that are whole or not there; each temporary file belongs to its writer."""

import errno
import gzip
import os
import stat
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from says import refuses

from tagkit.errors import DataError
from tagkit.storage import (
    encoded,
    open_output,
    restore_set_aside,
    scratch_folder,
    whole_folder,
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
    def none(path: Path, **_: object) -> list[str]:
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


def test_a_folder_and_its_files_keep_their_modes(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    with whole_folder(folder) as place:
        (place / "old").write_text("1")
    folder.chmod(0o700)
    (folder / "old").chmod(0o600)
    with whole_folder(folder) as place:
        assert mode(place) == 0o700
        for name in ("old", "new"):
            (place / name).write_text("2")
    umask = os.umask(0)
    os.umask(umask)
    assert mode(folder) == 0o700
    assert mode(folder / "old") == 0o600
    assert mode(folder / "new") == 0o666 & ~umask


def test_a_folder_behind_a_link_is_replaced_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "model").symlink_to("disk")
    for content in ("1", "2"):
        with whole_folder(tmp_path / "model") as place:
            (place / "a").write_text(content)
    assert (tmp_path / "model").is_symlink()
    assert (tmp_path / "disk" / "a").read_text() == "2"
    assert sorted(os.listdir(tmp_path)) == ["disk", "model"]


def test_a_folder_that_a_kill_left_set_aside_is_put_back(tmp_path: Path) -> None:
    (tmp_path / ".x.old").mkdir()
    (tmp_path / ".x.old" / "a").write_text("old")
    restore_set_aside(tmp_path / "x")
    assert (tmp_path / "x" / "a").read_text() == "old"
    (tmp_path / ".x.old").mkdir()
    restore_set_aside(tmp_path / "x")  # a complete folder is never replaced by an old one
    assert (tmp_path / "x" / "a").read_text() == "old"
    assert (tmp_path / ".x.old").is_dir()
    restore_set_aside(Path(tmp_path.anchor))  # the root of the file system has no name to change


def test_a_scratch_folder_is_its_users_alone_and_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with scratch_folder("a") as first, scratch_folder("a") as second:
        (first / "x").touch()
        assert {*tmp_path.iterdir()} == {first, second}
        assert first.stat().st_mode & 0o777 == 0o700
    assert not [*tmp_path.iterdir()]


def test_scratch_folders_of_killed_processes_are_removed_and_those_of_living_ones_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = (
        "import sys; from tagkit.storage import scratch_folder\n"
        "with scratch_folder('a') as folder:\n"
        "    (folder / 'deep').mkdir(); (folder / 'deep' / 'x').touch()\n"
        "    print(folder, flush=True); sys.stdin.read()"
    )
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    of_user = tmp_path / "a-b"
    of_user.mkdir()
    with ExitStack() as running:
        folders = []
        for is_killed in (True, False):
            process = running.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
                )
            )
            assert process.stdout is not None
            folders.append(Path(process.stdout.readline().decode().strip()))
            if is_killed:
                process.kill()
                process.wait()
                assert {*tmp_path.iterdir()} == {of_user, folders[0]}
        assert {*tmp_path.iterdir()} == {of_user, folders[1]}
        with scratch_folder("b") as other, scratch_folder("a") as own:
            assert {*tmp_path.iterdir()} == {of_user, folders[1], other, own}
    assert [*tmp_path.iterdir()] == [of_user]


def test_the_file_of_a_living_writer_is_left_to_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with open_output(path) as slow:
        slow("slow")
        write_whole(path, b"quick")
        assert path.read_text() == "quick"
    assert path.read_text() == "slow"
    assert os.listdir(tmp_path) == ["a"]


def test_two_processes_that_write_one_file_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "a"
    program = (
        "import sys; from pathlib import Path; from tagkit.storage import open_output\n"
        "for _ in range(60):\n"
        "    with open_output(Path(sys.argv[1])) as write: write(sys.argv[2] * 5000)"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(path), letter]) for letter in "xyz"
    ]
    assert [process.wait(timeout=60) for process in running] == [0, 0, 0]
    assert set(path.read_text()) in ({"x"}, {"y"}, {"z"})
    assert os.listdir(tmp_path) == ["a"]
