"""Files and folders that are whole or not there."""

import gzip
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tagkit import storage
from tagkit.errors import DataError
from tagkit.storage import (
    digest_of,
    digest_of_bytes,
    encoded,
    open_output,
    restore_set_aside,
    whole_folder,
    write_whole,
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


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


def test_half_of_a_surrogate_pair_is_named() -> None:
    for text in ("a\udce9", "\ufeff\udce9"):
        with pytest.raises(DataError, match=r"half of a surrogate pair, U\+DCE9"):
            encoded(text, first=True)


def test_a_folder_has_a_digest_whatever_the_names_in_it(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    before = digest_of(tmp_path)
    try:
        (tmp_path / os.fsdecode(b"\xe9")).touch()
    except OSError as error:
        pytest.skip(f"the file system takes no such name: {error}")
    assert digest_of(tmp_path) != before


def test_a_folder_that_a_kill_left_set_aside_is_put_back(tmp_path: Path) -> None:
    (tmp_path / ".x.old").mkdir()
    (tmp_path / ".x.old" / "a").write_text("old")
    restore_set_aside(tmp_path / "x")
    assert (tmp_path / "x" / "a").read_text() == "old"
    (tmp_path / ".x.old").mkdir()
    restore_set_aside(tmp_path / "x")  # a complete folder is never replaced by an old one
    assert (tmp_path / "x" / "a").read_text() == "old"
    assert (tmp_path / ".x.old").is_dir()


def test_the_digest_of_a_file_is_that_of_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    # The test vector of FIPS 180-4.
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert digest_of(tmp_path / "a") == digest_of_bytes(b"abc") == expected
    assert digest_of(tmp_path / "none") is None


def test_only_storage_renames_and_digests_files() -> None:
    package = Path(storage.__file__).parents[1]
    calls = ("os.rename(", "os.replace(", "os.fsync(", "hashlib.sha256(content", "tempfile.mkstemp")
    for module in package.rglob("*.py"):
        if module.parent.name != "storage":
            source = module.read_text("utf-8")
            assert not [call for call in calls if call in source], module
