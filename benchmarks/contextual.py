r"""What states of character language models bring to CoNLL-2003 English NER.

    python benchmarks/contextual.py text FOLDER
    python benchmarks/contextual.py models FOLDER --epochs 3
    python benchmarks/contextual.py adapt FOLDER --epochs 5
    python benchmarks/contextual.py taggers FOLDER glove glove+lm glove+adapted --seeds 1 2 3
    python benchmarks/contextual.py taggers FOLDER glove glove+lm --sentences 1000 --seeds 1 2 3
    python benchmarks/contextual.py table FOLDER

text: the stories of Reuters of 1987, their words separated from punctuation as CoNLL-2003 has them,
a sentence a line. models: a forward and a backward model of its characters, one after the other.
adapt: both trained further on the words of CoNLL-2003's train part, with those of dev to choose the
epoch; setting `adapted`. taggers: runs whose models stay in FOLDER, so that `tagkit eval MODEL
MODEL eng.testb` can compare two of them; `taggers.jsonl` there has a line for each, and runs that
are in it are not repeated. The corpora are expected beside the project, as in benchmarks/configs.
"""

import argparse
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from corpora import DATA, VECTORS
from grid import Done, Run, run_all

from tagkit.config import load_config
from tagkit.evaluation.reports.language_report import LanguageReport
from tagkit.text.tokenizer import tokenize
from tagkit.training.trainer import train

DIRECTIONS = ("forward", "backward")
MODEL = (
    "data.unit=character", "embeddings.word_dim=64", "embeddings.tied=false",
    "encoder.hidden=512", "encoder.locked_dropout=0", "encoder.word_dropout=0",
    "train.batch_size=32", "train.precision=bf16",
)  # fmt: skip
ADAPTED = (*MODEL, "encoder.locked_dropout=0.1", "train.batch_size=16", "train.lr=0.002")
SETTINGS = ("plain", "glove", "lm", "glove+lm", "adapted", "glove+adapted")
PARTS = ("train", "dev", "test")
KEYS = ("setting", "sentences", "seed")
RESULTS = "taggers.jsonl"


def write_text(folder: Path, data: Path) -> None:
    """Train, dev and test in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        with (
            (data / "reuters21578" / f"{part}.txt").open(encoding="utf-8") as source,
            (folder / f"{part}.txt").open("w", encoding="utf-8") as written,
        ):
            for paragraph in source:
                for sentence in tokenize(paragraph):
                    print(*(token.text for token in sentence), file=written)


def write_words(folder: Path, data: Path) -> None:
    """The words of CoNLL-2003's train and dev parts in `folder`, a sentence a line."""
    for part, name in (("train", "eng.train"), ("dev", "eng.testa")):
        blocks = (data / "conll2003" / name).read_text("utf-8").strip("\n").split("\n\n")
        lines = [
            " ".join(line.split(" ")[0] for line in block.split("\n"))
            for block in blocks
            if not block.startswith("-DOCSTART-")
        ]
        (folder / f"conll-{part}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def train_models(
    folder: Path, epochs: int, options: tuple[str, ...], texts: dict[str, Path], ending: str = ""
) -> None:
    """Both language models in `folder`; one that is there is resumed, or kept as it is.

    Args:
        folder: of the models.
        epochs: of each.
        options: of each.
        texts: train, dev and perhaps test.
        ending: of the names of models that start from those without it; empty for these.
    """
    for direction in DIRECTIONS:
        flags: dict[str, Any] = {
            "task": "language-model",
            "data.direction": direction,
            "train.max_epochs": epochs,
            "train.threads": 1,
            "train.workers": 1,
            "output.dir": str(folder / f"{direction}{ending}"),
        }
        flags |= {f"data.{part}_file": str(path) for part, path in texts.items()}
        if ending:
            flags["train.init_from"] = str(folder / direction)
        start = time.process_time()
        trained = train(load_config(None, options, flags), resume=True)
        minutes = (time.process_time() - start) / 60
        assert isinstance(trained.dev, LanguageReport)
        bits = f"dev {trained.dev.bits_per_character:.4f} bits per character"
        print(f"{direction}{ending}: {bits}, {minutes:.1f} minutes of one core", flush=True)


def taggers(arguments: argparse.Namespace, done: Done) -> Iterator[Run]:
    """Key and work of each run, seed by seed."""
    for seed in arguments.seeds:
        for setting in arguments.settings or SETTINGS:
            key = {
                "setting": " ".join((setting, *arguments.set)), "options": arguments.set,
                "sentences": arguments.sentences, "seed": seed,
            }  # fmt: skip
            yield key, partial(run_tagger, arguments, setting, seed)


def run_tagger(arguments: argparse.Namespace, setting: str, seed: int) -> dict[str, Any]:
    """Train and score one tagger; its model stays."""
    folder, corpus = arguments.folder, arguments.data / "conll2003"
    name = "-".join((setting, arguments.sentences, str(seed), *arguments.set))
    flags: dict[str, Any] = {
        "data.train_file": str(first(corpus / "eng.train", arguments.sentences, folder)),
        "data.dev_file": str(corpus / "eng.testa"),
        "data.test_file": str(corpus / "eng.testb"),
        "train.seed": seed,
        "train.threads": 1,
        "train.workers": 1,
        "output.dir": str(folder / name.replace("=", "-")),
    }
    if "glove" in setting:
        flags["embeddings.vectors"] = str(arguments.data / VECTORS)
    for kind, ending in (("lm", ""), ("adapted", "-adapted")):
        if kind in setting.split("+"):
            flags["embeddings.contextual"] = [str(folder / f"{one}{ending}") for one in DIRECTIONS]
    start = time.process_time()
    trained = train(load_config(None, arguments.set, flags), resume=True)
    assert trained.test is not None  # flags name a file
    return {
        "dev": round(100 * trained.dev.headline, 2),
        "test": round(100 * trained.test.headline, 2),
        "best_epoch": trained.best.number,
        "epochs": len(trained.epochs),
        "minutes": round((time.process_time() - start) / 60, 1),
        "first_tokens_per_s": round(trained.epochs[0].tokens_per_s),
        "later_tokens_per_s": round(statistics.median(e.tokens_per_s for e in trained.epochs[1:])),
        "model": flags["output.dir"],
    }


def first(path: Path, sentences: str, folder: Path) -> Path:
    """The first so many sentences of a corpus as a file in `folder`; "all" for the corpus."""
    if sentences == "all":
        return path
    kept, left = [], int(sentences)
    for block in path.read_text("utf-8").strip("\n").split("\n\n"):
        if left == 0:
            break
        kept.append(block)
        left -= not block.startswith("-DOCSTART-")
    written = folder / f"train-{sentences}.conll"
    written.write_text("\n\n".join(kept) + "\n", encoding="utf-8")
    return written


def table(path: Path) -> str:
    """A Markdown table: mean and sample deviation over seeds."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        groups[row["setting"], row["sentences"]].append(row)
    lines = ["| setting | sentences | seeds | dev F1 | test F1 | minutes |", "|" + " --- |" * 6]
    for (setting, sentences), rows in groups.items():
        cells = [
            setting, sentences, str(len(rows)),
            _mean([row["dev"] for row in rows]), _mean([row["test"] for row in rows]),
            f"{statistics.mean(row['minutes'] for row in rows):.1f}",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _mean(values: list[float]) -> str:
    mean = f"{statistics.mean(values):.2f}"
    return f"{mean} ± {statistics.stdev(values):.2f}" if len(values) > 1 else mean


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    top = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = top.add_subparsers(dest="command", required=True)
    text = commands.add_parser("text", help="write the text of the language models")
    models = commands.add_parser("models", help="train the two language models")
    adapt = commands.add_parser("adapt", help="train them further on the text of the taggers")
    runs = commands.add_parser("taggers", help="train taggers with and without them")
    shown = commands.add_parser("table", help="print a Markdown table")
    for command in (text, models, adapt, runs, shown):
        command.add_argument("folder", type=Path, help="of texts, models and results")
    for command in (text, adapt, runs):
        command.add_argument("--data", type=Path, default=DATA, help="folder of all corpora")
    models.add_argument("--epochs", type=int, default=3)
    adapt.add_argument("--epochs", type=int, default=5)
    runs.add_argument("settings", nargs="*", choices=[[], *SETTINGS], metavar="SETTING")
    runs.add_argument("--sentences", default="all", help="of train, from its beginning, or all")
    runs.add_argument("--seeds", nargs="+", type=int, default=[1])
    runs.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="an option")
    return top


def main() -> int:
    """Run what the arguments ask for."""
    arguments = parser().parse_args()
    if arguments.command == "text":
        write_text(arguments.folder, arguments.data)
    elif arguments.command == "models":
        texts = {part: arguments.folder / f"{part}.txt" for part in PARTS}
        train_models(arguments.folder, arguments.epochs, MODEL, texts)
    elif arguments.command == "adapt":
        write_words(arguments.folder, arguments.data)
        texts = {part: arguments.folder / f"conll-{part}.txt" for part in ("train", "dev")}
        train_models(arguments.folder, arguments.epochs, ADAPTED, texts, "-adapted")
    elif arguments.command == "table":
        print(table(arguments.folder / RESULTS))
    else:
        return run_all(arguments.folder / RESULTS, partial(taggers, arguments), KEYS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
