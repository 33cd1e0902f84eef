"""Folders that are whole or not there."""

import os
import stat
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from tagkit.storage import (
    restore_set_aside,
    scratch_folder,
    whole_folder,
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


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
