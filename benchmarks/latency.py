"""How long a Python program waits for one sentence, or for a few, also on busy cores.

    python benchmarks/latency.py MODEL --file ../shared/data/conll2000/test.txt
    python benchmarks/latency.py MODEL --batches 1 4 8 12 --busy 2 --rounds 3
    python benchmarks/latency.py MODEL --batches 1 8 32 128 --threads 2

For each round and size of a batch a model that was loaded again reads all sentences in the order
of the file, and then all of them once more: `new` has the words of the file to read as they come,
`known` finds them in the word cache. Milliseconds are those of one sentence: median, and 95th
percentile over batches. `--busy` lets so many other processes compute all the time; `--threads` is
`tagkit.set_threads`. To measure another version, put its folder first in PYTHONPATH.
"""

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

import tagkit
from tagkit.corpus.files import read
from tagkit.text.records import Sentence


def compute() -> None:
    """Use a core until this process is ended."""
    torch.set_num_threads(1)
    values = torch.randn(300, 300)
    while True:
        values = torch.tanh(values @ values)


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Within it so many other processes compute."""
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=compute, daemon=True) for _ in range(count)]
    for other in others:
        other.start()
    if others:
        time.sleep(5)  # until they have imported torch
    try:
        yield
    finally:
        for other in others:
            other.terminate()
            other.join()


def waits(model: tagkit.Predictor, sentences: Sequence[tuple[str, ...]], size: int) -> list[float]:
    """Seconds of each batch, by sentence."""
    found = []
    for first in range(0, len(sentences), size):
        batch = [list(words) for words in sentences[first : first + size]]
        began = time.perf_counter()
        model.predict(batch, batch_size=size)
        found.append((time.perf_counter() - began) / len(batch))
    return found


def cells(seconds: Sequence[float], sentences: Sequence[tuple[str, ...]], size: int) -> str:
    """Median and 95th percentile in milliseconds, and tokens a second."""
    whole = sum(
        each * len(sentences[first : first + size])
        for each, first in zip(seconds, range(0, len(sentences), size), strict=True)
    )
    tokens = sum(map(len, sentences))
    p95 = float(np.percentile(seconds, 95))
    return f"{1e3 * statistics.median(seconds):.2f} | {1e3 * p95:.2f} | {tokens / whole:,.0f}"


def main() -> None:
    """Print a row for each round and size of a batch."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--file", type=Path, default=Path("../shared/data/conll2000/test.txt"))
    parser.add_argument("--batches", type=int, nargs="+", default=[1])
    parser.add_argument("--sentences", type=int, default=None, help="of the file; default: all")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    if options.threads:
        tagkit.set_threads(options.threads)
    records = read(options.file)
    sentences = [one.words for one in records if isinstance(one, Sentence)][: options.sentences]
    tagkit.load(options.model).predict([list(sentences[0])])  # imports, which a server does once
    print("| sentences a batch | words | p50 ms | p95 ms | tokens/s |")
    print("| ---: | --- | ---: | ---: | ---: |")
    with busy(options.busy):
        for _ in range(options.rounds):
            for size in options.batches:
                model = tagkit.load(options.model)
                for words in ("new", "known"):
                    found = waits(model, sentences, size)
                    print(f"| {size} | {words} | {cells(found, sentences, size)} |", flush=True)


if __name__ == "__main__":
    main()
