"""Folders of runs with several seeds."""

from pathlib import Path

import pytest
from says import refuses

from tagkit.errors import BundleError
from tagkit.models.folder.seed_folders import SUMMARY, seed_models


def test_a_run_of_several_seeds_has_a_model_for_each_and_any_other_folder_is_itself(
    tmp_path: Path,
) -> None:
    assert seed_models(tmp_path) == [tmp_path]
    assert seed_models(tmp_path / "nothing") == [tmp_path / "nothing"]
    (tmp_path / SUMMARY).write_text('[{"seed": 12, "dev": 0.5}, {"seed": 3}]')
    assert seed_models(tmp_path) == [tmp_path / "seed-12", tmp_path / "seed-3"]


@pytest.mark.parametrize(
    "content", ["", "[", "[]", "{}", "3", '["a"]', '[{"seed": "../x"}]', '[{"seed": null}]', "\xff"]
)
def test_a_table_of_something_else_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / SUMMARY).write_bytes(content.encode("latin-1"))
    with refuses(BundleError, f"{tmp_path / SUMMARY}: ", "several seeds"):
        seed_models(tmp_path)
