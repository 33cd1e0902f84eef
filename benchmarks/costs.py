"""What a run costs beside the arithmetic of its networks.

    python benchmarks/costs.py preparation
    python benchmarks/costs.py padding
    python benchmarks/costs.py long-texts
    python benchmarks/costs.py stream --model models/travel --tokens 300000 --rounds 3
    python benchmarks/costs.py imports --rounds 15

Preparation: tokens a second from files to ids, with reading and without. Padding: the share of it
in the batches of training and of prediction. Both of CoNLL-2000, which is not part of the project.
Long texts: peak memory of training on six texts of 10,000 tokens, with segments of 512 tokens and
without, beside texts of 100 tokens; each a process of its own. Stream: tokens a second and peak
memory of `Predictor.stream` on lines of text, beside `tagkit predict` on a file of the same lines,
in turns; each a process of its own, its start included in neither rate. Lines are those of
data/travel, repeated, so that the words of every round are the same. Imports: processor time of
the configuration's module beside that of numpy, each a process of its own, in turns.
"""

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from tagkit.config import load_config
from tagkit.corpus.files import read
from tagkit.features.batching.document_batches import (
    batches_at_random,
    batches_with_little_padding,
    padding_share,
)
from tagkit.inference.predict.predictor import load
from tagkit.limits import BATCH_SIZE
from tagkit.models.task_table import task_of
from tagkit.text.json_text import to_json
from tagkit.training.setup.setup import prepare
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
        batches = batches_with_little_padding(window, BATCH_SIZE, 16_384)
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


def stream(model: str, tokens: int, rounds: int) -> None:
    """Speed and peak memory of `Predictor.stream` and of `tagkit predict`, in turns."""
    lines = [" ".join(sentence.words) for sentence in read("data/travel/train.conll")]
    per_pass = sum(len(line.split()) for line in lines)
    figures: dict[str, list[Figures]] = {"stream": [], "predict": []}
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "lines.txt"
        with path.open("w", encoding="utf-8") as file:
            for _ in range(max(1, round(tokens / per_pass))):
                file.writelines(f"{line}\n" for line in lines)
        empty = Path(name) / "empty.txt"
        empty.write_text("", encoding="utf-8")
        for number in range(rounds):
            # Neither is always the first of a round.
            for way in sorted(figures, reverse=bool(number % 2)):
                figures[way].append(stream_figures(way, model, path, empty))
    print("| | tokens/s | peak MB |\n| --- | ---: | ---: |")
    for way, found in figures.items():
        rate = statistics.median(each.tokens / each.seconds for each in found)
        peak = statistics.median(each.peak_mb for each in found)
        print(f"| {way} | {rate:,.0f} | {peak:,.0f} |")


class Figures(NamedTuple):
    """What one process needed."""

    tokens: int
    seconds: float
    peak_mb: float


def stream_figures(way: str, model: str, path: Path, empty: Path) -> Figures:
    """Tokens, seconds without those of the start, and peak memory of one process."""
    program = [sys.executable, __file__, "stream-once", "--model", model, "--file"]
    if way == "predict":
        code = "from tagkit.cli.main import main; main()"
        program = [sys.executable, "-c", code, "predict", model, "--quiet", "--format", "jsonl",
                   "--input-format", "text", "--device", "cpu", "-o", os.devnull]  # fmt: skip
    seconds, peak_mb = [], 0.0
    for file in (empty, path):
        begun = time.perf_counter()
        process = subprocess.Popen([*program, str(file)], stdout=subprocess.DEVNULL)
        # wait4 gives the peak of this child alone; getrusage, the highest of all of them.
        _, status, usage = os.wait4(process.pid, 0)
        seconds.append(time.perf_counter() - begun)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, program
        peak_mb = usage.ru_maxrss / 1024
    tokens = sum(len(line.split()) for line in path.open(encoding="utf-8"))
    return Figures(tokens, seconds[1] - seconds[0], peak_mb)


def stream_once(model: str, path: str) -> None:
    """Predict for each line of a file, and keep nothing."""
    predictor = load(model, "cpu")
    with open(path, encoding="utf-8") as file:
        for answer in predictor.stream(line.rstrip("\n") for line in file):
            # What the command does with an answer: it becomes a line of JSON.
            to_json(answer.to_dict())


# The programs that are compared, by what they are called.
IMPORTS = {
    "nothing": "pass",
    "numpy": "import numpy",
    "pydantic": "import pydantic; pydantic.BaseModel, pydantic.Field",
    "tagkit.config": "import tagkit.config",
    "and tagkit.toml read": "import tagkit.config; tagkit.config.load_config('tagkit.toml')",
}


def imports(rounds: int) -> None:
    """Processor time of imports, beyond that of an interpreter that imports nothing."""
    seconds = import_seconds(IMPORTS, rounds)
    print("| | median, ms | fastest, ms | of numpy's |\n| --- | ---: | ---: | ---: |")
    for name in list(IMPORTS)[1:]:
        beyond = {
            figure: [figure(seconds[each]) - figure(seconds["nothing"]) for each in (name, "numpy")]
            for figure in (statistics.median, min)
        }
        (median, of_numpy), (fastest, _) = beyond.values()
        ratio = median / of_numpy
        print(f"| {name} | {1000 * median:.0f} | {1000 * fastest:.0f} | {ratio:.2f} |")


def import_seconds(programs: Mapping[str, str], rounds: int) -> dict[str, list[float]]:
    """Processor seconds of a whole process of each program in each round, by its name."""
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    with tempfile.TemporaryDirectory() as name:
        # In the round before the first one everything is compiled, wherever it is installed.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": name}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for number in range(rounds + 1):
            for each, program in programs.items():
                before = children_seconds()
                subprocess.run([sys.executable, "-c", program], check=True, env=environment)
                if number:
                    seconds[each].append(children_seconds() - before)
    return seconds


def children_seconds() -> float:
    """Processor seconds of all processes that this one has started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print one of the figures."""
    parser = argparse.ArgumentParser()
    figures = {"preparation": preparation, "padding": padding, "long-texts": long_texts}
    parser.add_argument("what", choices=[*figures, "one", "stream", "stream-once", "imports"])
    parser.add_argument("--tokens", type=int, default=0)
    parser.add_argument("--bptt", type=int, default=0)
    parser.add_argument("--model", default="models/travel")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--file", default="")
    options = parser.parse_args()
    if options.what == "one":
        one(options.tokens, options.bptt)
    elif options.what == "stream":
        stream(options.model, options.tokens or 300_000, options.rounds)
    elif options.what == "stream-once":
        stream_once(options.model, options.file)
    elif options.what == "imports":
        imports(options.rounds)
    else:
        figures[options.what]()


if __name__ == "__main__":
    main()
