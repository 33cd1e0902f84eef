"""Runs of a grid, whose results are JSON Lines: those that are in the file are not repeated."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

# What distinguishes a run from others, and the function that does it.
Run = tuple[dict[str, Any], Callable[[], dict[str, Any]]]
# Lines of the file of results, by their keys.
Done = dict[tuple[Any, ...], dict[str, Any]]


def identity(row: dict[str, Any], keys: Sequence[str]) -> tuple[Any, ...]:
    """What distinguishes a line of results from others."""
    return tuple(row.get(name) for name in keys)


def run_all(path: Path, runs: Callable[[Done], Iterator[Run]], keys: Sequence[str]) -> int:
    """Run what is not in the file yet, and add each line as it comes; how many failed.

    Args:
        path: of the file.
        runs: all runs in their order, given the lines that are there, which become more meanwhile.
        keys: fields of a line that distinguish it from others; it has some of them.
    """
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    done: Done = {identity(row, keys): row for row in map(json.loads, lines)}
    failed = 0
    for key, work in runs(done):
        if known := done.get(identity(key, keys)):
            if known["options"] != key["options"]:
                found = ",".join(known["options"])
                sys.exit(f"{path}: the setting {key['setting']} is there with {found}; rename one")
            continue
        name = " ".join(str(key[field]) for field in keys if key.get(field) is not None)
        try:
            found = work()
        # The other runs of a long grid are worth having.
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            failed += 1
            continue
        done[identity(key, keys)] = row = key | found
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        shown = ", ".join(f"{field} {value}" for field, value in found.items())
        print(f"{name}: {shown}", flush=True)
    return failed
