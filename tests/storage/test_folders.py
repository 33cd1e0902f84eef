"""Folders that are whole or not there."""

import os
import stat
from pathlib import Path

from tagkit.storage import (
    restore_set_aside,
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
