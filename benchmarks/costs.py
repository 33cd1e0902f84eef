"""What a run costs beside the arithmetic of its networks.

    python benchmarks/costs.py preparation
    python benchmarks/costs.py padding
    python benchmarks/costs.py long-texts

Preparation: tokens a second from files to ids, with reading and without. Padding: the share of it
in the batches of training and of prediction. Both of CoNLL-2000, which is not part of the project.
Long texts: peak memory of training on six texts of 10,000 tokens, with segments of 512 tokens and
without, beside texts of 100 tokens; each a process of its own.
"""

import argparse
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from tagkit.config import load_config
from tagkit.features.bucketing import batches_at_random, batches_in_order, padding_share
from tagkit.limits import BATCH_SIZE
from tagkit.models.task_table import task_of
from tagkit.training.setup import prepare
from tagkit.training.trainer import train

DATA = Path("../shared/data/conll2000")
FILES = {"data.train_file": str(DATA / "train.txt"), "data.dev_file": str(DATA / "dev.txt")}


def preparation() -> None:
    """Tokens a second from files to ids."""
    config = load_config(flags=FILES)
    whole, reading = [], []
    for _ in range(5):
        start = time.perf_counter()
        corpus = prepare(config, torch.device("cpu")).corpus
        whole.append(time.perf_counter() - start)
        start = time.perf_counter()
        task_of(config).read(config)
        reading.append(time.perf_counter() - start)
    assert corpus.dev
    tokens = corpus.train.tokens + corpus.dev.tokens
    all_s, read_s = statistics.median(whole), statistics.median(reading)
    print(f"files to ids: {tokens / all_s:,.0f} tokens/s")
    print(f"without reading: {tokens / (all_s - read_s):,.0f} tokens/s")


def padding() -> None:
    """Share of padding in batches."""
    lengths = prepare(load_config(flags=FILES), torch.device("cpu")).encoded.lengths
    at_random = batches_at_random(lengths, 32, 0, np.random.default_rng(1))
    print(f"training, batches of 32: {100 * padding_share(lengths, at_random):.1f} %")
    # Prediction sorts what it reads at a time: windows of some 20,000 words.
    area = 0.0
    for window in np.array_split(lengths, round(lengths.sum() / 20_000)):
        batches = batches_in_order(window, BATCH_SIZE, 16_384)
        area += window.sum() / (1 - padding_share(window, batches))
    share = 1 - lengths.sum() / area
    print(f"prediction, batches of {BATCH_SIZE}: {100 * share:.1f} %")


def long_texts() -> None:
    """Peak memory by length of texts and of segments."""
    print("| tokens a text | segments | peak MB |\n| ---: | ---: | ---: |")
    for tokens, bptt in ((100, 512), (10_000, 512), (10_000, 0)):
        command = [sys.executable, __file__, "one", "--tokens", str(tokens), "--bptt", str(bptt)]
        peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        print(f"| {tokens:,} | {bptt or 'none'} | {float(peak):,.0f} |")


def one(tokens: int, bptt: int) -> None:
    """Train on six texts; print the peak memory in MB."""
    torch.set_num_threads(1)
    dice = random.Random(1)

    def write(path: Path, texts: int, length: int) -> str:
        rows = ("ab"[i % 2] + "\t" + " ".join(f"w{dice.randrange(2000)}" for _ in range(length))
                for i in range(texts))  # fmt: skip
        path.write_text("label\ttext\n" + "\n".join(rows) + "\n", encoding="utf-8")
        return str(path)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {"data.train_file": write(folder / "train.tsv", 6, tokens),
                 "data.dev_file": write(folder / "dev.tsv", 2, 20),
                 "output.dir": str(folder / "model")}  # fmt: skip
        options = [f"train.bptt={bptt}", "task=classify", "train.max_epochs=1",
                   "data.tokenizer=blanks"]  # fmt: skip
        train(load_config(overrides=options, flags=files))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    """Print one of the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["preparation", "padding", "long-texts", "one"])
    parser.add_argument("--tokens", type=int, default=0)
    parser.add_argument("--bptt", type=int, default=0)
    options = parser.parse_args()
    if options.what == "one":
        one(options.tokens, options.bptt)
    else:
        {"preparation": preparation, "padding": padding, "long-texts": long_texts}[options.what]()


if __name__ == "__main__":
    main()
