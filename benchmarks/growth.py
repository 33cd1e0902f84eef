"""Does a token cost the same in a long input as in a short one?

    python benchmarks/growth.py MODEL --most 10000000

Tags column files of 1,000 tokens up to `--most`, made of the sentences of CoNLL-2000 over and over,
with `tagkit predict`; prints seconds, tokens a second beyond start-up, and peak memory.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from itertools import cycle
from pathlib import Path

DATA = Path("../shared/data/conll2000")
PROGRAM = "from tagkit.cli.main import main; main()"


def write(path: Path, sentences: list[str], tokens: int) -> int:
    """A file of at least so many tokens; how many it has."""
    written = 0
    with path.open("w", encoding="utf-8") as file:
        for sentence in cycle(sentences):
            file.write(f"{sentence}\n\n")
            written += sentence.count("\n") + 1
            if written >= tokens:
                return written
    return written


def run(model: str, path: Path, threads: int) -> tuple[float, float]:
    """Seconds and peak memory in MB of tagging a file."""
    command = [sys.executable, "-c", PROGRAM, "predict", model, str(path), "-o", f"{path}.out",
               "--input-format", "columns", "--threads", str(threads)]  # fmt: skip
    start = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"tagkit predict failed on {path}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    sentences = [
        sentence
        for name in ("train.txt", "test.txt")
        for sentence in (DATA / name).read_text("utf-8").strip().split("\n\n")
    ]
    print("| tokens | seconds | tokens/s beyond start-up | peak MB |")
    print("| ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.conll"
        write(path, sentences, 1)
        started = min(run(options.model, path, options.threads)[0] for _ in range(3))
        size = 1000
        while size <= options.most:
            tokens = write(path, sentences, size)
            seconds, peak = run(options.model, path, options.threads)
            rate = tokens / max(seconds - started, 1e-9)
            print(f"| {tokens:,} | {seconds:.2f} | {rate:,.0f} | {peak:,.0f} |", flush=True)
            size *= 10


if __name__ == "__main__":
    main()
