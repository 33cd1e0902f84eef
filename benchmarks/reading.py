"""How fast files are read, and how much memory that takes.

    python benchmarks/reading.py
    python benchmarks/reading.py --data FOLDER --against CHECKOUT

Tokens per second of processor time, one core: fastest and median of nine passes over each corpus,
files in the system's cache. `reader` drops each sentence, `kept` keeps them all, `train` reads as
`tagkit train` does, with the scheme of the tags; Python's garbage collector is set as the commands
set it. Memory: peak of a process that streams the same file once and fifty times over. The corpora
are not part of the project; those that are missing are skipped.

`--against` compares this version with another one, in the folder CHECKOUT: processor time of
reading CoNLL-2000 and CoNLL-2003 train, in nine rounds. In each round both versions read the files
in new processes, one after the other, so that other work on the machine disturbs both alike.
"""

import argparse
import gc
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tagkit.config import DataConfig
from tagkit.corpus.formats.recognition import read_items
from tagkit.corpus.source.options import ReaderOptions
from tagkit.corpus.source.source import Source
from tagkit.text.records import Sentence

DATA = Path("../shared/data")
FILES = {
    "CoNLL-2000 train (3 columns, blanks)": "conll2000/train.txt",
    "CoNLL-2003 train (4 columns, blanks)": "conll2003/eng.train",
    "CoNLL-2002 train (3 columns, blanks)": "conll2002/ned.train",
    "WNUT-17 train (2 columns, tabs)": "wnut17/train.conll",
    "UD English EWT train (CoNLL-U)": "ud-english-ewt/train.conllu",
}
PASSES = 9
ROUNDS = 9
COMPARED = ("CoNLL-2000 train (3 columns, blanks)", "CoNLL-2003 train (4 columns, blanks)")
# Prints the fastest processor times of reading a file: each sentence dropped, and as for training.
READ = """
import gc, sys, time
from tagkit.config import DataConfig
from tagkit.corpus.records.dataset import LabelKinds
from tagkit.corpus.records.dataset import LabelKinds
from tagkit.corpus.source.options import Reading
from tagkit.corpus.formats.recognition import read_items
from tagkit.corpus.source.source import Source
from tagkit.corpus.splits.splits import read_split

gc.set_threshold(50_000, *gc.get_threshold()[1:])
_, file, passes = sys.argv

def dropped():
    for item in read_items(Source(file, "utf-8"), Reading(DataConfig())):
        pass

def as_train():
    read_split(file, DataConfig(), LabelKinds(tags=True, classes=False), None)

for read in (dropped, as_train):
    times_s = []
    for _ in range(int(passes)):
        start_s = time.process_time()
        read()
        times_s.append(time.process_time() - start_s)
    print(min(times_s))
"""


def tokens(path: Path, encoding: str = "utf-8") -> Iterator[int]:
    """Number of words of each sentence, as they are read."""
    reading = ReaderOptions(DataConfig(encoding=encoding))
    for item in read_items(Source(str(path), encoding), reading):
        assert isinstance(item, Sentence)
        yield len(item)


def speeds(path: Path) -> list[str]:
    """Number of tokens, and the fastest and the median speed of each way to read them."""
    # Here, as the peak below is that of a process that reads without what training needs.
    from tagkit.corpus.records.dataset import LabelKinds
    from tagkit.corpus.splits.splits import read_split

    kinds = LabelKinds(tags=True, classes=False)
    ways: list[Callable[[], object]] = [
        lambda: sum(tokens(path)),
        lambda: list(read_items(Source(str(path), "utf-8"), ReaderOptions(DataConfig()))),
        lambda: read_split(str(path), DataConfig(), kinds, None),
    ]
    count = sum(tokens(path))
    cells = [f"{count:,}"]
    for read in ways:
        seconds = []
        for _ in range(PASSES):
            start_s = time.process_time()
            read()
            seconds.append(time.process_time() - start_s)
        rates = [count / taken / 1e6 for taken in (min(seconds), statistics.median(seconds))]
        cells.append(" / ".join(f"{rate:.2f}" for rate in rates))
    return cells


def crlf(path: Path) -> Path:
    """The same file with the line ends of Windows."""
    copy = Path(tempfile.gettempdir()) / f"crlf-{path.name}"
    copy.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    return copy


def peak(path: str) -> float:
    """Peak memory in MB of a process of its own that reads a file."""
    command = [sys.executable, __file__, path]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def cpu_s(package: Path, file: Path) -> list[float]:
    """Processor times of reading a file, with the version in a folder, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(package)}
    command = [sys.executable, "-P", "-c", READ, str(file.resolve()), str(PASSES)]
    ended = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=package, env=environment
    )
    return [float(line) for line in ended.stdout.split()]


def compare(other: Path, data: Path) -> None:
    """Print the processor times of another version and of this one."""
    this = Path(__file__).resolve().parents[1]
    print("| corpus | way | other, ms | this, ms | ratio |\n| --- | --- | ---: | ---: | ---: |")
    for name in COMPARED:
        if not (data / FILES[name]).exists():
            continue
        times_s: dict[Path, list[list[float]]] = {other.resolve(): [], this: []}
        for _ in range(ROUNDS):
            for package, measured in times_s.items():
                measured.append(cpu_s(package, data / FILES[name]))
        for way, (before, after) in zip(
            ("reader", "train"),
            zip(*(map(statistics.median, zip(*m, strict=True)) for m in times_s.values()),
                strict=True),
            strict=True,
        ):  # fmt: skip
            print(f"| {name} | {way} | {1000 * before:.0f} | {1000 * after:.0f} | "
                  f"{after / before:.2f} |")  # fmt: skip


def main(data: Path) -> None:
    """Print the table."""
    gc.set_threshold(50_000, *gc.get_threshold()[1:])
    first = data / FILES["CoNLL-2000 train (3 columns, blanks)"]
    if first.exists():
        # Before this process has grown: the peak of a child begins with its parent's.
        with tempfile.NamedTemporaryFile(suffix=".conll") as many:
            for _ in range(50):
                many.write(first.read_bytes() + b"\n")
            many.flush()
            print(f"peak memory: {peak(str(first)):.0f} MB once, {peak(many.name):.0f} MB fifty "
                  "times over\n")  # fmt: skip
    print("| million tokens/s, fastest / median | tokens | reader | kept | train |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, file in FILES.items():
        path = data / file
        if path.exists():
            print(f"| {name} | {' | '.join(speeds(path))} |")
    if first.exists():
        copy = crlf(first)
        print(f"| CoNLL-2000 train with CRLF | {' | '.join(speeds(copy))} |")
        copy.unlink()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="How fast files are read.")
    parser.add_argument("file", nargs="?", help="print the peak memory of reading this file")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the corpora")
    parser.add_argument("--against", type=Path, help="folder of another version")
    options = parser.parse_args()
    if options.file:
        sum(tokens(Path(options.file)))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    elif options.against:
        compare(options.against, options.data)
    else:
        main(options.data)
