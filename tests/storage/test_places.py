"""What reaches the disk, in which order, and digests."""

import os
from pathlib import Path

import pytest

from tagkit.storage import (
    digest_of,
    digest_of_bytes,
    open_output,
)


def test_a_file_is_on_the_disk_before_it_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noted(handle: int) -> None:
        done.append(os.readlink(f"/proc/self/fd/{handle}"))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(os, "replace", lambda *names: [done.append("replace"), replace(*names)])
    if not Path("/proc/self/fd").exists():
        pytest.skip("the system does not show what a descriptor stands for")
    with open_output(tmp_path / "a") as write:
        write("x")
    assert done[0].startswith(str(tmp_path / ".tagkit-"))
    assert done[1:] == ["replace", str(tmp_path)]


def test_a_folder_has_a_digest_whatever_the_names_in_it(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    before = digest_of(tmp_path)
    try:
        (tmp_path / os.fsdecode(b"\xe9")).touch()
    except OSError as error:
        pytest.skip(f"the file system takes no such name: {error}")
    assert digest_of(tmp_path) != before


def test_the_digest_of_a_file_is_that_of_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    # The test vector of FIPS 180-4.
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert digest_of(tmp_path / "a") == digest_of_bytes(b"abc") == expected
    assert digest_of(tmp_path / "none") is None
