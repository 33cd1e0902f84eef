"""How fast files are read, and how much memory that takes.

    python benchmarks/reading.py

Tokens a second of one core: median of five passes over each corpus, files in the system's cache.
Memory: peak of a process that streams the same file once and fifty times over. The corpora are not
part of the project; those that are not there are passed over.
"""

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


def main() -> None:
    """Print the table."""
    print("| corpus | tokens | tokens/s |\n| --- | ---: | ---: |")
    for name, file in FILES.items():
        path = DATA / file
        if path.exists():
            count, rate = speed(path)
            print(f"| {name} | {count:,} | {rate:,.0f} |")
    first = DATA / FILES["CoNLL-2000 train (3 columns, blanks)"]
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
    if len(sys.argv) > 1:
        sum(tokens(Path(sys.argv[1])))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    else:
        main()
