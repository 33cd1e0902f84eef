"""What is in the folder of a run: the table of files, each row from the module that writes it."""

from pathlib import Path

import pytest

from tagkit.training.folder import curve_files, run_contents, run_files, seed_scores, trials
from tagkit.training.folder.manifest import Manifest
from tagkit.training.folder.owned_files import OwnedFile
from tagkit.training.folder.run_contents import contents_of, is_subrun
from tagkit.training.folder.seed_scores import SeedScores, write_summary

TRAINING = Path(run_contents.__file__).parent
PACKAGE = TRAINING.parents[1]
ELSEWHERE = {
    "seed_folders": PACKAGE / "models" / "folder",
    "run_names": PACKAGE / "storage",
}


@pytest.mark.parametrize(
    ("name", "owner"),
    [("study.db", "trials"), ("best.toml", "trials"), ("trial-", "trials"),
     ("seeds.json", "seed_folders"), ("seed-", "seed_folders"), ("checkpoints", "run_files"),
     ("learning-curve.json", "run_names"), ("size-", "curve_files")],
)  # fmt: skip
def test_only_the_module_that_writes_a_file_names_it(name: str, owner: str) -> None:
    for module in ("run_folder", "run_cleanup", "run_contents", owner):
        room = ELSEWHERE.get(module, TRAINING)
        source = (room / f"{module}.py").read_text("utf-8")
        code = source.partition('"""\n\n')[2]  # the docstring may speak of it
        assert (f'"{name}' in code or f'f"{name}' in code) == (module == owner), module


def test_every_file_of_every_owner_is_in_the_table() -> None:
    rows = [*run_files.FILES, *seed_scores.FILES, *trials.FILES, *curve_files.FILES]
    assert list(run_contents.FILES) == [row.name for row in rows]
    assert list(run_contents.FILES) == [
        "history.jsonl", "train.log", "curves.svg", "report.json", "seeds.json", "study.db",
        "best.toml", "learning-curve.json",
    ]  # fmt: skip


def test_folders_of_seeds_and_trials_are_runs_of_their_own() -> None:
    assert [name for name in ("seed-1", "trial-20", "seed-", "seed-x", "trial-1/best", "best")
            if is_subrun(name)] == ["seed-1", "trial-20"]  # fmt: skip


def test_without_a_manifest_a_summary_of_seeds_is_recognised_by_its_content(tmp_path: Path) -> None:
    write_summary(tmp_path, [SeedScores(1, 3, 0.5, None, {}), SeedScores(2, 4, 0.25, 0.75, {})])
    assert contents_of(tmp_path, Manifest(tmp_path)).ours == ["seeds.json"]
    (tmp_path / "seeds.json").write_text('[{"seed": 1}]')
    assert contents_of(tmp_path, Manifest(tmp_path)).foreign == ["seeds.json"]


def test_files_beside_a_database_belong_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = OwnedFile("a.db", lambda path: path.read_bytes() == b"ours", ("a.db-wal",))
    monkeypatch.setitem(run_contents.FILES, "a.db", row)
    (tmp_path / "a.db").write_bytes(b"ours")
    (tmp_path / "a.db-wal").write_bytes(b"anything")
    assert contents_of(tmp_path, Manifest(tmp_path)).ours == ["a.db", "a.db-wal"]
    (tmp_path / "a.db").write_bytes(b"not ours")
    assert contents_of(tmp_path, Manifest(tmp_path)).foreign == ["a.db", "a.db-wal"]


def test_a_proof_that_cannot_read_the_content_is_none(tmp_path: Path) -> None:
    (tmp_path / "best.toml").write_bytes(b"\xff[[")
    (tmp_path / "seeds.json").write_text("[" * 100_000)
    assert contents_of(tmp_path, Manifest(tmp_path)).foreign == ["best.toml", "seeds.json"]
