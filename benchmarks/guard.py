"""A guard of speed, for CI: ratios to yardsticks, each with a bound, in under two minutes.

    python benchmarks/guard.py
    python benchmarks/guard.py training start-up --slack 1.5

A ratio is tagkit's time divided by that of a yardstick, which runs in turn with it, so that a slow
machine slows both; of several rounds the fastest of either counts. Other work on the machine can
still disturb a ratio, so one that is over its bound is measured again, up to three times. A bound
is the recorded ratio and a fifth: a later change that costs more is seen at once. Ratios also
depend on the processor, so --slack may be larger on other machines. The exit status is 1 if a ratio
stays over its bound. After a change that is meant, write the new ratio in `GUARDS`.

The corpus is made up (words by Zipf's law, lengths as those of news, 23 tags), so that no other
file is needed. All runs on one thread.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ATTEMPTS = 3  # at a ratio that is over its bound
ROUNDS = 3  # of an attempt
SLACK = 1.2  # how many times the recorded ratio is still good
TRAIN = 640  # sentences of training
TEST = 2000  # sentences of reading, scoring and decoding

Work = Callable[[], float]  # does something and returns its seconds


@dataclass(frozen=True, slots=True)
class Guard:
    """One ratio that is guarded.

    Attributes:
        name: for the command line.
        measured: what is divided by what.
        recorded: the ratio when it was last recorded.
        pair: prepares tagkit's work and the yardstick's.
    """

    name: str
    measured: str
    recorded: float
    pair: Callable[[Path], tuple[Work, Work]]


def timed(work: Callable[[], object]) -> Work:
    """Work that returns its processor time, which other processes disturb less than the clock."""

    def run() -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    return run


@cache
def column_file(folder: Path, count: int, seed: int = 1) -> Path:
    """A file of so many made-up sentences, the same ones for a seed."""
    rng = random.Random(seed)
    words = _words()
    path = folder / f"{count}-{seed}.conll"
    with path.open("w", encoding="utf-8") as file:
        for _ in range(count):
            before = ""
            for _ in range(max(2, min(70, round(rng.gauss(24, 11))))):
                # Zipf's law: the density of rank r is in proportion to 1 / r.
                word, kind = words[int(len(words) ** rng.random()) - 1]
                kind = "" if rng.random() < 0.15 else kind
                file.write(f"{word} {'I-' if kind == before else 'B-'}{kind}\n" if kind
                           else f"{word} O\n")  # fmt: skip
                before = kind
            file.write("\n")
    return path


@cache
def _words() -> list[tuple[str, str]]:
    """20,000 words by rank, the frequent ones shorter, each with the type that it mostly has."""
    rng = random.Random(0)
    words = []
    for rank in range(20_000):
        length = 2 + min(rank // 50, 4) + rng.randrange(4)
        word = "".join(rng.choices("etaoinshrdlucmfwypvbgkqjxz", range(26, 0, -1), k=length))
        words.append((word, f"T{(7 * length + ord(word[-1])) % 11}"))
    return words


def settings(folder: Path, *, feature_crf: int = 0) -> Any:
    """Configuration of one pass with the sizes of the textbook tagger.

    Args:
        folder: of all files.
        feature_crf: weights of a CRF of word features beside the network, of which the textbook
            tagger has none.
    """
    from tagkit.config import load_config

    options = [
        "encoder.hidden=100", "embeddings.char_hidden=25", "embeddings.affix_dim=0",
        "train.max_epochs=1", "train.patience=0", "train.batch_size=32", "train.lr=0.003",
        "train.workers=1", f"head.feature_crf={feature_crf}",
    ]  # fmt: skip
    flags = {
        "data.train_file": str(column_file(folder, TRAIN)),
        "data.dev_file": str(column_file(folder, 10, seed=2)),
        "output.dir": str(folder / f"model-{feature_crf}"),
        "train.device": "cpu",
    }
    return load_config(overrides=options, flags=flags)


@cache
def model(folder: Path) -> Path:
    """A model after one pass."""
    from tagkit.training.trainer import train

    return Path(train(settings(folder), force=True).folder)


def training(folder: Path) -> tuple[Work, Work]:
    """One pass of training, beside the textbook tagger's."""
    import textbook

    from tagkit.training.events.callbacks import Epoch, Listener
    from tagkit.training.trainer import train

    config, path = settings(folder), column_file(folder, TRAIN)
    tokens = sum(map(len, textbook.read(path)))

    class Seconds(Listener):
        """Keeps the seconds of the steps, without reading and scoring."""

        def on_epoch(self, epoch: Epoch) -> None:
            self.seconds = tokens / epoch.tokens_per_s

    listener = Seconds()

    def ours() -> float:
        train(config, listener, force=True)
        return listener.seconds

    return ours, lambda: tokens / textbook.train(path, TRAIN)[0]


def kernels(folder: Path) -> tuple[Work, Work]:
    """One pass of training, beside the bare LSTM of its word sequences, forward and backward."""
    import textbook
    import torch

    sentences = sorted(textbook.read(column_file(folder, TRAIN)), key=len)
    lstm = torch.nn.LSTM(150, 100, bidirectional=True, batch_first=True)
    shapes = [(32, len(sentences[at + 31]), 150) for at in range(0, TRAIN, 32)]
    inputs = [torch.randn(shape, requires_grad=True) for shape in shapes]

    def bare() -> None:
        for batch in inputs:
            lstm(batch)[0].sum().backward()

    return training(folder)[0], timed(bare)


def decoding(folder: Path) -> tuple[Work, Work]:
    """Tags of sentences in memory, beside the textbook tagger's; words that both met before."""
    import textbook

    from tagkit.corpus.splits.splits import read_split
    from tagkit.inference.predict.predictor import load
    from tagkit.limits import BATCH_SIZE

    predictor, path = load(model(folder), device="cpu"), column_file(folder, TEST, seed=3)
    test = read_split(str(path), predictor.config.data, predictor.task.needs, None)
    ids = textbook.Ids(textbook.read(column_file(folder, TRAIN)))
    theirs = textbook.Textbook(ids)

    def ours() -> None:
        predictor.annotate(test.sentences, batch_size=BATCH_SIZE, confidence=False)

    ours()
    return timed(ours), lambda: test.tokens / textbook.decode(theirs, ids, path)


def word_features(folder: Path) -> tuple[Work, Work]:
    """Tags of sentences beside a CRF of word features, and by the network alone."""
    from tagkit.corpus.splits.splits import read_split
    from tagkit.limits import BATCH_SIZE
    from tagkit.training.trainer import train

    predictor = train(settings(folder, feature_crf=2**17), force=True).predictor
    path, crf = column_file(folder, TEST, seed=3), predictor.model.feature_crf
    test = read_split(str(path), predictor.config.data, predictor.task.needs, None)
    assert crf is not None

    def tags(share: float) -> Work:
        def run() -> None:
            crf.share.fill_(share)
            predictor.annotate(test.sentences, batch_size=BATCH_SIZE, confidence=False)

        return timed(run)

    return tags(0.5), tags(0.0)


def chain(folder: Path, name: str) -> tuple[Work, Work]:
    """A CRF's loss with gradient, or its best paths, beside pytorch-crf."""
    from speed import chain_times

    found: dict[str, float] = {}

    def ours() -> float:
        found.update(chain_times(1)[name])  # takes turns by itself
        return found["tagkit"]

    return ours, lambda: found["textbook"]


def reading(folder: Path) -> tuple[Work, Work]:
    """Reading a column file as `train` and `eval` do, beside splitting its lines."""
    import textbook

    from tagkit.config import load_config
    from tagkit.corpus.records.dataset import LabelKinds
    from tagkit.corpus.splits.splits import read_split

    path, data = column_file(folder, TEST, seed=3), load_config().data
    return (
        timed(lambda: read_split(str(path), data, LabelKinds(tags=True, classes=False), None)),
        timed(lambda: textbook.read(path)),
    )


def evaluation(folder: Path) -> tuple[Work, Work]:
    """F1 of two files, beside sets of spans in plain Python."""
    ours, theirs = evaluation_of(folder, column_file(folder, TEST, seed=3))
    return timed(ours), timed(theirs)


def evaluation_of(folder: Path, gold: Path) -> tuple[Work, Work]:
    """Both ways to score a file of which every tenth line has lost its tag; they return F1."""
    import textbook

    from tagkit.inference.score.evaluate import evaluate

    pred = folder / "predicted.conll"
    lines = gold.read_text("utf-8").split("\n")
    lines[::10] = [line and line.split(" ")[0] + " O" for line in lines[::10]]
    pred.write_text("\n".join(lines), encoding="utf-8")

    def plain() -> float:
        ours, theirs = (
            {(number, *span) for number, s in enumerate(textbook.read(path)) for span in _spans(s)}
            for path in (gold, pred)
        )
        return 2 * len(ours & theirs) / (len(ours) + len(theirs))

    return lambda: evaluate(gold=str(gold), pred=str(pred)).headline, plain


def _spans(sentence: Sequence[tuple[str, str]]) -> set[tuple[int, int, str]]:
    spans, start, kind = set(), 0, ""
    for at, (_, tag) in enumerate([*sentence, ("", "O")]):
        if kind and (tag[0] != "I" or tag[2:] != kind):
            spans.add((start, at, kind))
            kind = ""
        if tag[0] == "B" or (tag[0] == "I" and not kind):
            start, kind = at, tag[2:]
    return spans


def start_up(folder: Path) -> tuple[Work, Work]:
    """`tagkit predict` of a sentence as a whole command, beside a program that imports torch."""
    home = model(folder)

    def command(*words: str) -> Work:
        def run() -> float:
            start = time.perf_counter()
            subprocess.run([sys.executable, *words], input=b"a made up sentence .\n", check=True,
                           capture_output=True)  # fmt: skip
            return time.perf_counter() - start

        return run

    return command("-m", "tagkit", "predict", str(home), "-"), command("-c", "import torch")


# The recorded ratios are medians of three runs of this script on one idle machine.
GUARDS = (
    Guard("training", "a pass of training / the textbook tagger's", 0.34, training),
    Guard("kernels", "a pass of training / its bare LSTM kernels", 2.1, kernels),
    Guard("decoding", "decoding / the textbook tagger's", 0.18, decoding),
    Guard("features", "decoding beside word features / without", 1.35, word_features),
    Guard("loss", "a CRF's loss / pytorch-crf", 0.27, lambda folder: chain(folder, "loss")),
    Guard("viterbi", "Viterbi / pytorch-crf", 0.28, lambda folder: chain(folder, "viterbi")),
    Guard("reading", "reading columns / splitting lines", 2.2, reading),
    Guard("eval", "scoring two files / sets of spans", 0.97, evaluation),
    Guard("start-up", "predicting one sentence / importing torch", 1.0, start_up),
)


def ratio(ours: Work, theirs: Work) -> float:
    """Fastest round of the one divided by that of the other."""
    rounds = [(ours(), theirs()) for _ in range(ROUNDS)]
    return min(each[0] for each in rounds) / min(each[1] for each in rounds)


def measure(guard: Guard, folder: Path, bound: float) -> float:
    """The ratio of the first attempt that is within the bound, else the smallest of all."""
    ours, theirs = guard.pair(folder)
    smallest = float("inf")
    for _ in range(ATTEMPTS):
        smallest = min(smallest, ratio(ours, theirs))
        if smallest <= bound:
            break
    return smallest


def main() -> None:
    """Print a table; exit with 1 if a ratio is over its bound."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    names = [guard.name for guard in GUARDS]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}; or all")
    parser.add_argument("--slack", type=float, default=SLACK, help=f"default: {SLACK}")
    options = parser.parse_args()
    chosen = options.names or names
    if unknown := [name for name in chosen if name not in names]:
        parser.error(f"expected names of {', '.join(names)}; found {', '.join(unknown)}")
    import torch

    torch.set_num_threads(1)
    print("| ratio | measured | recorded | bound | |\n| --- | ---: | ---: | ---: | --- |")
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for guard in (guard for guard in GUARDS if guard.name in chosen):
            bound = options.slack * guard.recorded
            found = measure(guard, Path(folder), bound)
            if found > bound:
                failed.append(guard.name)
            print(f"| {guard.measured} | {found:.2f} | {guard.recorded:.2f} | {bound:.2f} | "
                  f"{'over the bound' if found > bound else ''} |", flush=True)  # fmt: skip
    if failed:
        sys.exit(f"slower than recorded: {', '.join(failed)}")


if __name__ == "__main__":
    main()
