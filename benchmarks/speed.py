"""tagkit beside the textbook tagger: same sizes, same data, one run, alternating.

    python benchmarks/speed.py --threads 1 2 --rounds 5

Each figure is the median of the rounds; each round is a process of its own that trains one pass
over the first sentences of CoNLL-2000 train, then tags CoNLL-2000 test, and tells its peak memory.
The corpora are not part of the project.
"""

import argparse
import gc
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

DATA = Path("../shared/data/conll2000")
TRAIN, TEST = DATA / "train.txt", DATA / "test.txt"
SIZES = [
    "encoder.hidden=100", "embeddings.char_hidden=25", "train.max_epochs=1", "train.patience=0",
    "train.lr=0.003",
]  # fmt: skip
FIGURES = ("train", "decode_first", "decode", "peak_mb")


def textbook(limit: int) -> dict[str, float]:
    """Figures of the textbook tagger."""
    from textbook import decode, train

    speed, model, ids = train(TRAIN, limit)
    speeds = [decode(model, ids, TEST) for _ in range(2)]
    return {"train": speed, "decode_first": speeds[0], "decode": speeds[1]}


def ours(limit: int) -> dict[str, float]:
    """Figures of tagkit, through the functions that its commands call."""
    from tagkit.config import load_config
    from tagkit.corpus import read_split
    from tagkit.predictor import BATCH_SIZE, load
    from tagkit.trainer import Epoch, Listener, train

    class Speed(Listener):
        """Keeps the last epoch."""

        def on_epoch(self, epoch: Epoch) -> None:
            self.speed = epoch.tokens_per_s

    with tempfile.TemporaryDirectory() as folder:
        lines = TRAIN.read_text("utf-8").split("\n\n")[:limit]
        part = Path(folder) / "train.conll"
        part.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
        dev = Path(folder) / "dev.conll"
        dev.write_text("\n\n".join(lines[:10]) + "\n", encoding="utf-8")
        flags = {"data.train_file": str(part), "data.dev_file": str(dev), "output.dir": folder,
                 "train.threads": torch.get_num_threads(), "train.device": "cpu"}  # fmt: skip
        listener = Speed()
        train(load_config(overrides=SIZES, flags=flags), listener)
        predictor = load(folder, device="cpu")
    test = read_split(str(TEST), predictor.config.data, "tag", None)
    gc.collect()
    gc.freeze()  # as the command does: what is there stays there
    speeds = []
    for _ in range(2):  # the first time it meets the words
        start = time.perf_counter()
        predictor.annotate(test.sentences, batch_size=BATCH_SIZE, confidence=False)
        speeds.append(test.tokens / (time.perf_counter() - start))
    return {"train": listener.speed, "decode_first": speeds[0], "decode": speeds[1]}


def measured(who: str, threads: int, limit: int) -> dict[str, float]:
    """Figures of a process of its own."""
    command = [sys.executable, __file__, "--one", who, "--threads", str(threads), "--limit",
               str(limit)]  # fmt: skip
    ended = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(ended.stdout.splitlines()[-1]))


def main() -> None:
    """Print a table for each number of threads."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=4000)
    parser.add_argument("--one", choices=["textbook", "tagkit"])
    options = parser.parse_args()
    if options.one:
        torch.set_num_threads(options.threads[0])
        found = (textbook if options.one == "textbook" else ours)(options.limit)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({**found, "peak_mb": peak}))
        return
    print("| threads | figure | textbook | tagkit | ratio |\n| ---: | --- | ---: | ---: | ---: |")
    for threads in options.threads:
        rounds: dict[str, list[dict[str, float]]] = {"textbook": [], "tagkit": []}
        for _ in range(options.rounds):
            for who, figures in rounds.items():
                figures.append(measured(who, threads, options.limit))
        for name in FIGURES:
            theirs, mine = (
                statistics.median(figures[name] for figures in rounds[who]) for who in rounds
            )
            print(f"| {threads} | {name} | {theirs:,.0f} | {mine:,.0f} | {mine / theirs:.2f} |")


if __name__ == "__main__":
    main()
