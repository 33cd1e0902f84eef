"""Figures of a GPU: training, decoding, the CRF alone, a large encoder, and equality with the CPU.

    python benchmarks/gpu.py
    python benchmarks/gpu.py --device cpu --sentences 64 -o figures.jsonl

Prints a table a subject and writes each figure as a line of JSON as soon as it is known. Takes some
five minutes on one GPU; benchmarks/gpu.sh runs it with the CUDA tests. The corpus is made up, as in
benchmarks/guard.py. Training is timed in its second epoch, when all shapes are known. The exit
status is 1 if tags differ from those of the CPU, or probabilities by more than 0.0001.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from guard import column_file
from torch import Tensor

from tagkit.config import load_config
from tagkit.corpus.splits.splits import read_split
from tagkit.inference.predict.predictor import Predictor, load
from tagkit.nn.crf.chain import Chain, path_score, viterbi
from tagkit.nn.crf.partition import log_partition
from tagkit.training.events.callbacks import Epoch, Listener
from tagkit.training.trainer import train

PRECISIONS = {"cuda": ("fp32", "bf16", "fp16"), "cpu": ("fp32", "bf16")}
BATCHES = (32, 128, 512)
CHAINS = ((32, 24, 23), (256, 48, 23), (32, 24, 200))  # batch, time, tags
LARGE = ("encoder.hidden=1024", "encoder.layers=4")
Figure = dict[str, Any]


class LastEpoch(Listener):
    """Keeps the speed of the last epoch."""

    tokens_per_s = 0.0

    def on_epoch(self, epoch: Epoch) -> None:
        """Called after each epoch."""
        self.tokens_per_s = epoch.tokens_per_s


def trained(folder: Path, device: str, count: int, *options: str) -> float:
    """Tokens per second of training; the model goes to `folder`/model."""
    flags = {
        "data.train_file": str(column_file(folder, count)),
        "data.dev_file": str(column_file(folder, 10, seed=2)),
        "output.dir": str(folder / "model"),
        "train.device": device,
    }
    fixed = ("train.max_epochs=2", "train.patience=0", "train.lr=0.001")
    listener = LastEpoch()
    train(load_config(overrides=[*fixed, *options], flags=flags), listener, force=True)
    return listener.tokens_per_s


def decoded(predictor: Predictor, path: Path, batch_size: int) -> float:
    """Tokens per second of decoding, median of three passes after a first one."""
    test = read_split(str(path), predictor.config.data, predictor.task.needs, None)
    seconds = []
    for _ in range(4):
        start = time.perf_counter()
        predictor.annotate(test.sentences, batch_size=batch_size, confidence=False)
        seconds.append(time.perf_counter() - start)
    return test.tokens / statistics.median(seconds[1:])


def training(folder: Path, device: str, count: int) -> Iterator[Figure]:
    """Training with default sizes."""
    for precision in PRECISIONS[device]:
        for batch in BATCHES:
            options = f"train.precision={precision}", f"train.batch_size={batch}"
            speed = trained(folder, device, count, *options)
            yield {"precision": precision, "batch": batch, "training tokens/s": round(speed)}


def decoding(folder: Path, device: str, count: int) -> Iterator[Figure]:
    """Decoding with default sizes."""
    trained(folder, device, count, "train.batch_size=32")
    predictor = load(folder / "model", device)
    for batch in (1, *BATCHES):
        speed = decoded(predictor, column_file(folder, count, seed=3), batch)
        yield {"batch": batch, "decoding tokens/s": round(speed)}


def large(folder: Path, device: str, count: int) -> Iterator[Figure]:
    """An encoder of four layers of 1,024 units."""
    for precision in PRECISIONS[device]:
        options = *LARGE, f"train.precision={precision}", "train.batch_size=64"
        speed = trained(folder, device, count, *options)
        predictor = load(folder / "model", device)
        yield {
            "precision": precision,
            "training tokens/s": round(speed),
            "decoding tokens/s": round(decoded(predictor, column_file(folder, count, seed=3), 64)),
        }


def _differentiate(chain: Callable[[], Chain], gold: Tensor) -> None:
    scores = chain()  # anew at each step, as in training
    (log_partition(scores) - path_score(scores, gold)).sum().backward()


@torch.no_grad()
def _decode(chain: Callable[[], Chain]) -> None:
    viterbi(chain())


def chains(folder: Path, device: str, count: int) -> Iterator[Figure]:
    """A CRF's loss with gradient, and its best paths."""
    for batch, time_, tags in CHAINS:
        torch.manual_seed(1)
        emissions = torch.randn(batch, time_, tags, device=device, requires_grad=True)
        steps = [torch.randn(*shape, device=device, requires_grad=True)
                 for shape in ((tags, tags), (tags,), (tags,))]  # fmt: skip
        gold = torch.randint(tags, (batch, time_), device=device)
        mask = torch.ones(batch, time_, dtype=torch.bool, device=device)

        chain = partial(Chain, emissions, *steps, mask)
        loss, paths = partial(_differentiate, chain, gold), partial(_decode, chain)
        yield {
            "batch": batch, "time": time_, "tags": tags,
            "loss and gradient (ms)": round(1e3 * median_s(loss, device), 2),
            "Viterbi (ms)": round(1e3 * median_s(paths, device), 2),
        }  # fmt: skip


def median_s(work: Callable[[], None], device: str) -> float:
    """Median seconds of eleven runs after two, waiting for the device each time."""
    seconds = []
    for _ in range(13):
        start = time.perf_counter()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[2:])


def equality(folder: Path, device: str, count: int) -> Iterator[Figure]:
    """The answers of a model on the device beside those on the CPU."""
    trained(folder, device, count, "train.batch_size=32")
    path = column_file(folder, count, seed=3)
    answers = []
    for where in ("cpu", device):
        predictor = load(folder / "model", where)
        test = read_split(str(path), predictor.config.data, predictor.task.needs, None)
        answers.append(predictor.annotate(test.sentences, batch_size=64, confidence=True))
    here, there = answers
    differing = sum(
        mine != theirs
        for left, right in zip(here, there, strict=True)
        for mine, theirs in zip(left.tags, right.tags, strict=True)
    )
    largest = max(
        abs(mine.probability - theirs.probability)
        for left, right in zip(here, there, strict=True)
        if left.tags == right.tags
        for mine, theirs in zip(left.spans, right.spans, strict=True)
    )
    yield {"tokens": test.tokens, "tags that differ": differing,
           "largest difference of a probability": round(largest, 6)}  # fmt: skip


SUBJECTS = {each.__name__: each for each in (equality, training, decoding, chains, large)}


def main() -> None:
    """Print the tables; exit with 1 if the device's answers differ from the CPU's."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", choices=list(PRECISIONS), default="cuda")
    parser.add_argument("--sentences", type=int, default=3000, help="of the made-up corpus")
    parser.add_argument("--subjects", nargs="+", choices=SUBJECTS, default=[*SUBJECTS])
    parser.add_argument("-o", "--output", type=Path, help="JSON Lines")
    options = parser.parse_args()
    if options.device == "cuda":
        print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, "
              f"CUDA {torch.version.cuda}\n")  # fmt: skip
    wrong = False
    for subject in (SUBJECTS[name] for name in options.subjects):
        print(f"{(subject.__doc__ or '').strip()}\n")
        # In memory where the system has a folder for that: a large model has 3 GB of checkpoints.
        memory = Path("/dev/shm")
        with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
            rows = subject(Path(folder), options.device, options.sentences)
            for number, figure in enumerate(rows):
                if not number:
                    print(f"| {' | '.join(figure)} |\n|{' ---: |' * len(figure)}")
                print(f"| {' | '.join(map(str, figure.values()))} |", flush=True)
                if options.output:
                    with options.output.open("a", encoding="utf-8") as file:
                        file.write(json.dumps({"subject": subject.__name__, **figure}) + "\n")
                wrong |= bool(figure.get("tags that differ"))
                wrong |= figure.get("largest difference of a probability", 0.0) > 0.0001
        print()
    if wrong:
        sys.exit("the answers differ from those of the CPU")


if __name__ == "__main__":
    main()
