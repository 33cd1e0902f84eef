"""Train a configuration with several seeds; print mean and deviation of its scores.

    python benchmarks/accuracy.py benchmarks/configs/conll2000.toml --seeds 1 2 3 --threads 1

The corpora are not part of the project: each configuration names where it expects them, from the
project's root. Results and models go to benchmarks/runs/ (not tracked), one JSON file a run; runs
that are there already are not repeated.
"""

import argparse
import json
import platform
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import torch

from tagkit import __version__
from tagkit.config import load_config
from tagkit.trainer import Epoch, Listener, train

RUNS = Path(__file__).parent / "runs"


class Log(Listener):
    """A line an epoch, for a log file."""

    def on_epoch(self, epoch: Epoch) -> None:
        """Score and speed of the epoch."""
        print(
            f"  epoch {epoch.number:>2}  loss {epoch.loss:.4f}  dev {100 * epoch.score:.2f}  "
            f"{epoch.tokens_per_s:,.0f} tokens/s{'  *' if epoch.is_best else ''}",
            flush=True,
        )


def run(path: Path, seed: int, threads: int) -> dict[str, Any]:
    """Train and score one seed, or read what it gave before."""
    name = f"{path.stem}-{seed}"
    result = RUNS / f"{name}.json"
    if result.exists():
        return dict(json.loads(result.read_text("utf-8")))
    flags = {
        "train.seed": seed,
        "train.threads": threads,
        "output.dir": str(RUNS / name),
    }
    config = load_config(path, flags=flags)
    print(f"{name}: training on {config.data.train_file}", flush=True)
    start = time.perf_counter()
    trained = train(config, Log())
    facts = {
        "config": path.name,
        "seed": seed,
        "dev": trained.dev.headline,
        "test": trained.test.headline if trained.test else None,
        "best_epoch": trained.best.number,
        "epochs": len(trained.epochs),
        "minutes": (time.perf_counter() - start) / 60,
        "tokens_per_s": statistics.median(epoch.tokens_per_s for epoch in trained.epochs),
        "threads": threads,
        "tagkit": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
    result.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    return facts


def summary(results: list[dict[str, Any]]) -> str:
    """Mean and sample deviation of dev and test, in per cent."""
    parts = [results[0]["config"].removesuffix(".toml")]
    for split in ("dev", "test"):
        scores = [100 * result[split] for result in results if result[split] is not None]
        if scores:
            spread = f" +- {statistics.stdev(scores):.2f}" if len(scores) > 1 else ""
            each = " ".join(f"{score:.2f}" for score in scores)
            parts.append(f"{split} {statistics.mean(scores):.2f}{spread} ({each})")
    parts.append(f"{statistics.median(result['minutes'] for result in results):.1f} min a seed")
    return "  ".join(parts)


def main() -> None:
    """Train all configurations that were named with all seeds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("configs", nargs="+", type=Path)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    RUNS.mkdir(exist_ok=True)
    for path in arguments.configs:
        results = [run(path, seed, arguments.threads) for seed in arguments.seeds]
        print(summary(results), flush=True)


if __name__ == "__main__":
    sys.exit(main())
