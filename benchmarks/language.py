r"""Language models: perplexity on PTB, bits per character of War and Peace, speed of training.

    python benchmarks/language.py ptb 200x2 --seeds 1 2 3 --minutes 30 -o language.jsonl
    python benchmarks/language.py ptb -o language.jsonl \
        --setting "gru:encoder.cell=gru,encoder.hidden=200,embeddings.word_dim=200"
    python benchmarks/language.py characters --orders 5 8 -o language.jsonl
    python benchmarks/language.py characters 512 --minutes 60 -o language.jsonl
    python benchmarks/language.py speed 200x2 650x2 --rounds 5 -o language.jsonl
    python benchmarks/language.py table language.jsonl

A setting is a name and options, as in benchmarks/sizes.py; those of `SETTINGS` can be named.
Results are JSON Lines, one run each; runs that are there already are not repeated.

ptb: words of the Penn Treebank, whose ends of lines are predicted too. characters: without a
setting, n-grams with Kneser-Ney smoothing (benchmarks/kneser_ney.py) alone; both are models of the
same characters, one for each line feed, and of the same unknown one. speed: steps of training
beside torch's LSTM and softmax of the same sizes, by turns (benchmarks/language_speed.py).
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from corpora import DATA
from grid import Done, Run, run_all
from kneser_ney import KneserNey
from language_results import tables
from language_speed import measure
from recurrent_results import read_rows
from sizes import parse_setting

from tagkit.config import Config, load_config
from tagkit.evaluation.reports.language_report import LanguageReport
from tagkit.models.language.text_scoring import ids_of
from tagkit.models.task_table import task_of
from tagkit.training.trainer import train

Setting = tuple[str, tuple[str, ...]]
# The defaults of every language model before they followed from unit and text: a line with the
# name of a setting says the same as before. "default" alone follows the defaults of today.
DROPOUT = ("encoder.locked_dropout=0.4", "encoder.word_dropout=0.05")
SETTINGS: dict[str, tuple[str, ...]] = {
    "default": (),
    "200x2": ("embeddings.word_dim=200", "encoder.hidden=200", "encoder.layers=2", *DROPOUT),
    "650x2": (
        "embeddings.word_dim=650", "encoder.hidden=650", "encoder.layers=2",
        "encoder.dropout=0.5", *DROPOUT,
    ),
    # Merity et al. 2017, table 7, with the projection that `embeddings.tied` brings.
    "awd": (
        "embeddings.word_dim=400", "encoder.hidden=1150", "encoder.layers=3", "train.bptt=70",
        "train.batch_size=40", "embeddings.dropout=0.1", "encoder.dropout=0",
        *DROPOUT, "encoder.weight_drop=0.5", "train.averaging=triggered",
        "train.max_epochs=300",
    ),
    "512": ("embeddings.word_dim=128", "encoder.hidden=512", *DROPOUT),
}  # fmt: skip
CORPORA = {"ptb": "ptb/ptb", "characters": "war-and-peace/wap"}
PARTS = {"train": "train", "dev": "valid", "test": "test"}
# Fields of a line that distinguish it from others; a kind of run has some of them.
KEYS = ("kind", "setting", "order", "seed", "minutes", "epochs", "round", "steps")


def ptb(arguments: argparse.Namespace, done: Done) -> Iterator[Run]:
    """Key and work of each run, seed by seed."""
    yield from _trained(arguments, settings_of(arguments, ("200x2",)), ())


def characters(arguments: argparse.Namespace, done: Done) -> Iterator[Run]:
    """The same for `characters`, n-grams first."""
    unit = ("data.unit=character",)
    for order in arguments.orders:
        key = {"kind": "characters", "setting": "kneser-ney", "order": order, "options": []}
        yield key, partial(run_kneser_ney, configured(arguments, unit), order)
    yield from _trained(arguments, settings_of(arguments, ()), unit)


def speed(arguments: argparse.Namespace, done: Done) -> Iterator[Run]:
    """The same for `speed`, round by round, so that all settings meet the same conditions."""
    for round_ in range(1, arguments.rounds + 1):
        for name, options in settings_of(arguments, ("200x2",)):
            key = {
                "kind": "speed", "setting": name, "options": list(options), "round": round_,
                "steps": arguments.steps,
            }  # fmt: skip
            config = configured(arguments, options)
            yield key, partial(measure, config, arguments.steps, ours_first=bool(round_ % 2))


def _trained(
    arguments: argparse.Namespace, settings: list[Setting], unit: tuple[str, ...]
) -> Iterator[Run]:
    for seed in arguments.seeds:
        for name, options in settings:
            key = {
                "kind": arguments.command, "setting": name, "options": list(options), "seed": seed,
                "minutes": arguments.minutes, "epochs": arguments.epochs,
            }  # fmt: skip
            changed: dict[str, Any] = {"train.seed": seed, "train.device": arguments.device}
            if arguments.device == "cpu":
                changed |= {"train.threads": 1, "train.workers": 1}
            if arguments.minutes:
                changed["train.max_minutes"] = arguments.minutes
            if arguments.epochs:
                changed["train.max_epochs"] = arguments.epochs
            yield key, partial(run_training, configured(arguments, (*unit, *options), changed))


def settings_of(arguments: argparse.Namespace, default: tuple[str, ...]) -> list[Setting]:
    """The settings that are named and those that are given, or else the default ones."""
    named = arguments.settings or ([] if arguments.setting else default)
    return [(name, SETTINGS[name]) for name in named] + list(arguments.setting)


def configured(
    arguments: argparse.Namespace, options: tuple[str, ...], changed: dict[str, Any] | None = None
) -> Config:
    """The configuration of a setting on the corpus of the command."""
    start = arguments.data / CORPORA.get(arguments.command, CORPORA["ptb"])
    files = {f"data.{part}_file": f"{start}.{name}.txt" for part, name in PARTS.items()}
    return load_config(None, options, {"task": "language-model", **files, **(changed or {})})


def run_training(config: Config) -> dict[str, Any]:
    """Train and score a language model."""
    with tempfile.TemporaryDirectory(prefix="language-") as scratch:
        output = config.output.model_copy(update={"dir": f"{scratch}/model"})
        start = time.monotonic()
        trained = train(config.model_copy(update={"output": output}))
        elapsed = time.monotonic() - start
        dev, test = trained.dev, trained.test
        assert isinstance(dev, LanguageReport)
        assert isinstance(test, LanguageReport)
        return {
            "dev_perplexity": round(dev.perplexity, 3),
            "test_perplexity": round(test.perplexity, 3),
            "dev_bits": round(dev.bits_per_character, 4),
            "test_bits": round(test.bits_per_character, 4),
            "weights": trained.predictor.model.saved_weights,
            "tokens_per_s": round(statistics.median(e.tokens_per_s for e in trained.epochs)),
            "trained_epochs": len(trained.epochs),
            "best_epoch": trained.best.number,
            "ended": trained.ended,
            "elapsed_minutes": round(elapsed / 60, 2),
        }


def run_kneser_ney(config: Config, order: int) -> dict[str, Any]:
    """Count the n-grams of train, and score dev and test."""
    start = time.process_time()
    task = task_of(config)
    corpus = task.read(config)
    vocabulary = task.vocabulary(config, corpus.train.sentences)
    assert vocabulary is not None  # a language model has its own
    symbols = len(vocabulary.words) + 1

    def numbers(lines: Any) -> Any:
        # From 0 on, the unknown character first.
        return np.asarray(ids_of(config, lines, vocabulary)) - 1

    model = KneserNey(numbers(corpus.train.sentences), order=order, symbols=symbols)
    found: dict[str, Any] = {}
    for part, split in (("dev", corpus.dev), ("test", corpus.test)):
        assert split is not None
        text = numbers(split.sentences)
        # Each character is a unit, and so is the end of a line.
        found[f"{part}_bits"] = round(model.bits(text) / (len(text) - 1), 4)
    elapsed = (time.process_time() - start) / 60
    return found | {"symbols": symbols, "elapsed_minutes": round(elapsed, 2)}


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    top = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = top.add_subparsers(dest="command", required=True)
    words = commands.add_parser("ptb", help="train models of words, and score them")
    chars = commands.add_parser("characters", help="n-grams and models of characters")
    steps = commands.add_parser("speed", help="tokens/s beside torch's LSTM and softmax")
    for command, runs in ((words, ptb), (chars, characters), (steps, speed)):
        command.set_defaults(runs=runs)
        command.add_argument("settings", nargs="*", choices=[[], *SETTINGS], metavar="SETTING")
        command.add_argument(
            "--setting", action="append", default=[], type=parse_setting, metavar="NAME:KEY=VALUE,…"
        )
        command.add_argument("--data", type=Path, default=DATA, help="folder of all corpora")
        command.add_argument("-o", "--output", type=Path, required=True, help="JSON Lines")
    for command in (words, chars):
        command.add_argument("--seeds", nargs="+", type=int, default=[1])
        command.add_argument("--minutes", type=float, help="of each run, at most")
        command.add_argument("--epochs", type=int, help="default: as tagkit train")
        command.add_argument("--device", default="cpu")
    chars.add_argument("--orders", nargs="*", type=int, default=[5], help="of n-grams")
    steps.add_argument("--rounds", type=int, default=5)
    steps.add_argument("--steps", type=int, default=30, help="of a round, after three others")
    table = commands.add_parser("table", help="print Markdown tables")
    table.add_argument("files", nargs="+", type=Path)
    return top


def main() -> int:
    """Run a grid, or show what it gave."""
    arguments = parser().parse_args()
    if arguments.command == "table":
        print(tables(read_rows(arguments.files)))
        return 0
    torch.set_num_threads(1)
    return 1 if run_all(arguments.output, partial(arguments.runs, arguments), KEYS) else 0


if __name__ == "__main__":
    sys.exit(main())
