"""How fast files are read, and how much memory that takes.

    python benchmarks/reading.py
    python benchmarks/reading.py --data FOLDER --against CHECKOUT

Tokens per second of one core: median of five passes over each corpus, files in the system's cache.
Memory: peak of a process that streams the same file once and fifty times over. The corpora are not
part of the project; those that are missing are skipped.

`--against` compares this version with another one, in the folder CHECKOUT: processor time of
reading CoNLL-2000 train, in nine rounds. In each round both versions read the file in new
processes, one after the other, so that other work on the machine disturbs both alike.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tagkit.config import DataConfig
from tagkit.corpus.formats.options import Reading
from tagkit.corpus.formats.recognition import read_items
from tagkit.corpus.formats.source import Source
from tagkit.text.records import Sentence

DATA = Path("../shared/data")
FILES = {
    "CoNLL-2000 train (3 columns, blanks)": "conll2000/train.txt",
    "CoNLL-2003 train (4 columns, blanks)": "conll2003/eng.train",
    "CoNLL-2002 train (3 columns, blanks)": "conll2002/ned.train",
    "WNUT-17 train (2 columns, tabs)": "wnut17/train.conll",
    "UD English EWT train (CoNLL-U)": "ud-english-ewt/train.conllu",
}
PASSES = 5
ROUNDS = 9
# Prints the median processor time of reading a file. Version 0.1.0 had the modules elsewhere.
READ = """
import statistics, sys, time
try:
    from tagkit.corpus.formats.options import Reading
    from tagkit.corpus.formats.recognition import read_items
    from tagkit.corpus.formats.source import Source
except ImportError:
    from tagkit.formats.lines import Source
    from tagkit.formats.reading import Reading
    from tagkit.formats.table import read_items
from tagkit.config import DataConfig

times_s = []
for _ in range(int(sys.argv[2])):
    start_s = time.process_time()
    for item in read_items(Source(sys.argv[1], "utf-8"), Reading(DataConfig())):
        pass
    times_s.append(time.process_time() - start_s)
print(statistics.median(times_s))
"""


def tokens(path: Path, encoding: str = "utf-8") -> Iterator[int]:
    """Number of words of each sentence, as they are read."""
    reading = Reading(DataConfig(encoding=encoding))
    for item in read_items(Source(str(path), encoding), reading):
        assert isinstance(item, Sentence)
        yield len(item)


def speed(path: Path) -> tuple[int, float]:
    """Number of tokens, and tokens a second."""
    seconds, count = [], 0
    for _ in range(PASSES):
        start = time.perf_counter()
        count = sum(tokens(path))
        seconds.append(time.perf_counter() - start)
    return count, count / statistics.median(seconds)


def crlf(path: Path) -> Path:
    """The same file with the line ends of Windows."""
    copy = Path(tempfile.gettempdir()) / f"crlf-{path.name}"
    copy.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    return copy


def peak(path: str) -> float:
    """Peak memory in MB of a process of its own that reads a file."""
    command = [sys.executable, __file__, path]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def cpu_s(package: Path, file: Path) -> float:
    """Processor time of reading a file, with the version in a folder, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(package)}
    command = [sys.executable, "-P", "-c", READ, str(file.resolve()), str(PASSES)]
    ended = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=package, env=environment
    )
    return float(ended.stdout)


def compare(other: Path, data: Path) -> None:
    """Print the processor times of another version and of this one."""
    file = data / FILES["CoNLL-2000 train (3 columns, blanks)"]
    this = Path(__file__).resolve().parents[1]
    times_s: dict[Path, list[float]] = {other.resolve(): [], this: []}
    for _ in range(ROUNDS):
        for package, measured in times_s.items():
            measured.append(cpu_s(package, file))
    for name, measured in zip(("other", "this"), times_s.values(), strict=True):
        rounds = ", ".join(f"{each:.3f}" for each in measured)
        print(f"{name:<5}  median {statistics.median(measured):.3f} s of {rounds}")


def main(data: Path) -> None:
    """Print the table."""
    print("| corpus | tokens | tokens/s |\n| --- | ---: | ---: |")
    for name, file in FILES.items():
        path = data / file
        if path.exists():
            count, rate = speed(path)
            print(f"| {name} | {count:,} | {rate:,.0f} |")
    first = data / FILES["CoNLL-2000 train (3 columns, blanks)"]
    if first.exists():
        copy = crlf(first)
        count, rate = speed(copy)
        print(f"| CoNLL-2000 train with CRLF | {count:,} | {rate:,.0f} |")
        copy.unlink()
        with tempfile.NamedTemporaryFile(suffix=".conll") as many:
            for _ in range(50):
                many.write(first.read_bytes() + b"\n")
            many.flush()
            print(f"\npeak memory: {peak(str(first)):.0f} MB once, {peak(many.name):.0f} MB "
                  f"fifty times over ({50 * count:,} tokens)")  # fmt: skip


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
