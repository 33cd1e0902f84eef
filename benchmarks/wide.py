"""What a large vocabulary, large files of vectors and very long sentences cost.

    python benchmarks/wide.py words --count 1000000
    python benchmarks/wide.py vectors --count 400000 --dim 300
    python benchmarks/wide.py sentences --lengths 10000 30000 100000

Everything is generated. Each row is a process of its own: its seconds, start included, and its peak
memory. Words: a corpus in which each of `--count` words occurs once; one epoch of training of a
small network, whose table of words has the default size, with `--batch-size` sentences a batch;
what that leaves on the disk, how long training waited for each save, and the use of the model.
Vectors: reading a matrix from text, word2vec's binary form and .npy, beside `numpy.load` and, on a
twentieth of the rows, `numpy.loadtxt`; training with it. Sentences: a file of one sentence of each
length.
"""

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

TAGKIT = [sys.executable, "-c", "from tagkit.cli.main import main; main()"]
WORDS_PER_SENTENCE = 25
SMALL = ["--set", "encoder.hidden=16", "--set", "embeddings.char_cell=none",
         "--set", "train.max_epochs=1"]  # fmt: skip
# Vectors of this many rows are drawn, and repeated under other words: drawing and writing numbers
# takes longer than reading them.
DRAWN = 1000
LOADS = {
    "start of the interpreter, numpy and the reader": "pass",
    "tagkit, text": "load_vectors(Path('v.txt'))",
    "tagkit, word2vec binary": "load_vectors(Path('v.bin'))",
    "tagkit, .npy with words": "load_vectors(Path('matrix.npy'))",
    "numpy.load of the .npy": "np.load('matrix.npy')",
    "numpy.loadtxt of a twentieth": "np.loadtxt('part.txt', np.float32, usecols=range(1, dim + 1))",
}
LOAD = """
import sys
from pathlib import Path
import numpy as np
from tagkit.features.word_vectors import load_vectors
dim = int(sys.argv[1])
{}
"""
USE = """
import sys
from pathlib import Path
import tagkit
model = tagkit.load(sys.argv[1])
{}
"""


def measure(name: str, command: Sequence[str], folder: Path) -> None:
    """Run a command in a folder; print a row of its seconds and peak memory."""
    with (folder / "log").open("w") as log:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"{name} failed:\n{(folder / 'log').read_text()[-2000:]}")
    print(f"| {name} | {seconds:.1f} | {usage.ru_maxrss / 1024:,.0f} |", flush=True)


def header() -> None:
    """Print the head of a table of rows of `measure`."""
    print("| | seconds | peak MB |\n| --- | ---: | ---: |")


def word(number: int) -> str:
    """A word of letters, another one for each number."""
    letters = ""
    number += 26
    while number:
        number, letter = divmod(number, 26)
        letters += chr(ord("a") + letter)
    return letters


def write_corpus(path: Path, count: int, length: int) -> None:
    """A column file of `count` distinct words in sentences of `length` words."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            end = "\n" if (number + 1) % length == 0 else ""
            file.write(f"{word(number)}\t{'B-X' if number % 7 == 0 else 'O'}\n{end}")


def words(count: int, batch_size: str, folder: Path) -> None:
    """Train on `count` distinct words, load the model, and predict."""
    write_corpus(folder / "train.conll", count, WORDS_PER_SENTENCE)
    write_corpus(folder / "dev.conll", 5000, WORDS_PER_SENTENCE)
    header()
    measure(
        f"train, {count:,} distinct words",
        [*TAGKIT, "train", "--train", "train.conll", "--dev", "dev.conll", "-o", "run", *SMALL,
         "--set", f"train.batch_size={batch_size}"], folder,
    )  # fmt: skip
    measure("load the model", [sys.executable, "-c", USE.format(""), "run"], folder)
    measure(
        "predict 5,000 tokens",
        [*TAGKIT, "predict", "run", "dev.conll", "-o", "dev.out", "--input-format", "columns"],
        folder,
    )
    print("\n".join(line for line in (folder / "run/train.log").read_text().split("\n")
                    if " saved the " in line))  # fmt: skip
    for name in ("best", "checkpoints"):
        # A file with several names takes its room once.
        files = {path.stat().st_ino: path.stat().st_size for path in (folder / "run" / name)
                 .rglob("*.*")}  # fmt: skip
        print(f"{name}: {sum(files.values()) / 1e6:,.0f} MB")


def vectors(count: int, dim: int, folder: Path) -> None:
    """Read the same vectors in each format, and train with them on a small corpus."""
    # In a process of its own: on Linux a process begins with the peak memory of the one that
    # starts it, so the one that measures has to stay small.
    writer = multiprocessing.get_context("spawn").Process(
        target=write_vectors, args=(count, dim, folder)
    )
    writer.start()
    writer.join()
    write_corpus(folder / "train.conll", 5000, WORDS_PER_SENTENCE)
    print(f"{count:,} vectors of {dim} numbers: a matrix of {count * dim * 4 / 1e6:,.0f} MB")
    header()
    for name, statement in LOADS.items():
        measure(name, [sys.executable, "-c", LOAD.format(statement), str(dim)], folder)
    measure(
        "train on 5,000 tokens with the .npy",
        [*TAGKIT, "train", "--train", "train.conll", "--dev", "train.conll", "-o", "run", *SMALL,
         "--set", "embeddings.vectors=matrix.npy"], folder,
    )  # fmt: skip


def write_vectors(count: int, dim: int, folder: Path) -> None:
    """The same vectors in each format."""
    drawn = np.random.default_rng(1).normal(size=(DRAWN, dim)).round(5).astype(np.float32)
    lines = [" ".join(f"{number:.5f}" for number in row) for row in drawn]
    with (
        (folder / "v.txt").open("w") as text,
        (folder / "part.txt").open("w") as part,
        # Not v.words: the reader takes v.txt for the words of v.npy, whole lines of numbers.
        (folder / "matrix.words").open("w") as names,
        (folder / "v.bin").open("wb") as binary,
        (folder / "matrix.npy").open("wb") as matrix,
    ):
        shape = {"descr": "<f4", "fortran_order": False, "shape": (count, dim)}
        np.lib.format.write_array_header_1_0(matrix, shape)
        binary.write(f"{count} {dim}\n".encode())
        for number in range(count):
            line = f"{word(number)} {lines[number % DRAWN]}\n"
            text.write(line)
            if number < count // 20:
                part.write(line)
            names.write(f"{word(number)}\n")
            matrix.write(drawn[number % DRAWN].tobytes())
            binary.write(f"{word(number)} ".encode() + drawn[number % DRAWN].tobytes())


def sentences(lengths: Sequence[int], folder: Path) -> None:
    """Read, train on, predict and score a file of one sentence."""
    write_corpus(folder / "small.conll", 5000, WORDS_PER_SENTENCE)
    print("A model of 5,000 tokens, for prediction:")
    header()
    corpus = ["--train", "small.conll", "--dev", "small.conll"]
    measure("train", [*TAGKIT, "train", *corpus, "-o", "model", *SMALL], folder)
    for length in lengths:
        write_corpus(folder / "long.conll", length, length)
        print(f"\nA sentence of {length:,} tokens:")
        header()
        columns = ["--input-format", "columns"]
        measure("check", [*TAGKIT, "check", "long.conll"], folder)
        measure("predict", [*TAGKIT, "predict", "model", "long.conll", "-o", "out.conll",
                            *columns], folder)  # fmt: skip
        measure("eval of a model", [*TAGKIT, "eval", "model", "long.conll"], folder)
        corpus = ["--train", "long.conll", "--dev", "long.conll"]
        measure("train", [*TAGKIT, "train", *corpus, "-o", f"run-{length}", *SMALL], folder)


def main() -> None:
    """Run one of the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("words", "vectors", "sentences"))
    parser.add_argument("--count", type=int, help="distinct words, or vectors")
    parser.add_argument("--batch-size", default="auto", help="of training on words")
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--lengths", type=int, nargs="+", default=[10_000, 30_000, 100_000])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if options.what == "words":
            words(options.count or 1_000_000, options.batch_size, folder)
        elif options.what == "vectors":
            vectors(options.count or 400_000, options.dim, folder)
        else:
            sentences(options.lengths, folder)


if __name__ == "__main__":
    main()
