"""Train a configuration with several seeds; print mean and deviation of its scores.

    python benchmarks/accuracy.py benchmarks/configs/conll2000.toml --seeds 1 2 3 --threads 1
    python benchmarks/accuracy.py benchmarks/configs/trec.toml --set head.pooling=last

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
from tagkit.evaluation.reports.class_report import JointReport
from tagkit.evaluation.reports.column_report import ColumnsReport
from tagkit.evaluation.reports.report import Report
from tagkit.training.events.callbacks import Epoch, Listener
from tagkit.training.trainer import train

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


def run(path: Path, seed: int, threads: int, overrides: list[str]) -> dict[str, Any]:
    """Train and score one seed, or read what it gave before."""
    changed = "".join(f"-{text.rpartition('.')[2]}" for text in overrides)
    name = f"{path.stem}{changed}-{seed}"
    result = RUNS / f"{name}.json"
    if result.exists():
        return dict(json.loads(result.read_text("utf-8")))
    flags = {
        "train.seed": seed,
        "train.threads": threads,
        "output.dir": str(RUNS / name),
    }
    config = load_config(path, overrides, flags)
    print(f"{name}: training on {config.data.train_file}", flush=True)
    start = time.perf_counter()
    trained = train(config, Log(), resume=True)
    facts = {
        "config": f"{path.stem}{changed}",
        "seed": seed,
        "dev": trained.dev.headline,
        "test": trained.test.headline if trained.test else None,
        "parts": {"dev": parts(trained.dev), "test": parts(trained.test)},
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


def parts(report: Report | None) -> dict[str, float]:
    """Figures of a report on tags and classes, or on several columns, by name; else nothing."""
    if isinstance(report, ColumnsReport):
        return report.parts()
    if not isinstance(report, JointReport):
        return {}
    return {"tags": report.tags.headline, "classes": report.classes.headline, "whole": report.whole}


def summary(results: list[dict[str, Any]]) -> str:
    """Mean and sample deviation of dev and test, in per cent."""
    figures = [results[0]["config"].removesuffix(".toml")]
    for split in ("dev", "test"):
        if results[0][split] is not None:
            figures.append(shown(split, [result[split] for result in results]))
        for name in results[0].get("parts", {}).get(split, ()):
            values = [result["parts"][split][name] for result in results]
            figures.append(shown(f"{split} {name}", values))
    figures.append(f"{statistics.median(result['minutes'] for result in results):.1f} min a seed")
    return "  ".join(figures)


def shown(name: str, values: list[float]) -> str:
    """Mean and sample deviation, and each value, in per cent."""
    scores = [100 * value for value in values]
    spread = f" +- {statistics.stdev(scores):.2f}" if len(scores) > 1 else ""
    each = " ".join(f"{score:.2f}" for score in scores)
    return f"{name} {statistics.mean(scores):.2f}{spread} ({each})"


def main() -> None:
    """Train all configurations that were named with all seeds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("configs", nargs="+", type=Path)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    RUNS.mkdir(exist_ok=True)
    for path in arguments.configs:
        results = [run(path, seed, arguments.threads, arguments.set) for seed in arguments.seeds]
        print(summary(results), flush=True)


if __name__ == "__main__":
    sys.exit(main())
