"""The folder of a training run with several seeds: a folder for each, and seeds.json, its table."""

import re
from pathlib import Path

from tagkit.errors import BundleError
from tagkit.text.json_text import from_json
from tagkit.wording import reason

SUMMARY = "seeds.json"  # written last
SEED_RUN = re.compile(r"seed-[0-9]+")  # folders that are runs of their own
_MAX_BYTES = 64 * 2**20  # of a table; that of a real run is a thousandth of it


def seed_folder(seed: int) -> str:
    """The name of the folder of one seed's run."""
    return f"seed-{seed}"


def seed_models(path: Path) -> list[Path]:
    """The folders of the seeds' runs, in the order of the table; `path` alone of any other folder.

    Raises:
        BundleError: the table cannot be read, or is none of seeds.
    """
    return [path / seed_folder(seed) for seed in seeds_of(path)] or [path]


def seeds_of(path: Path) -> list[int]:
    """The seeds of a folder's table, in its order; none of a folder without one.

    Raises:
        BundleError: the table cannot be read, or is none of seeds.
    """
    summary = path / SUMMARY
    try:
        if not summary.is_file():
            return []
        if summary.stat().st_size > _MAX_BYTES:
            raise BundleError(f"{summary}: expected at most {_MAX_BYTES:,} bytes")
        seeds = [int(row["seed"]) for row in from_json(summary.read_bytes())]
    except OSError as error:
        raise BundleError(f"{summary}: cannot be read: {reason(error)}") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        seeds = []
    if not seeds:
        raise BundleError(
            f"{summary}: expected the scores of several seeds, as training writes them, found "
            "something else"
        )
    return seeds
