r"""Learning curves: tagkit on the first N sentences of nine corpora, and tables and plots of them.

    python benchmarks/sizes.py run -o sizes.jsonl --sizes 50 100 400 --seeds 1 2 3
    python benchmarks/sizes.py run conll2003 trec -o sizes.jsonl --vectors none glove \
        --setting default: --setting b8:train.batch_size=8,train.max_epochs=40
    python benchmarks/sizes.py table sizes.jsonl crf.jsonl --part test
    python benchmarks/sizes.py plot sizes.jsonl crf.jsonl -o benchmarks/sizes.svg

A setting is a name and options, `NAME:section.key=value,section.key=value`; without one, the
defaults. Results are JSON Lines, one run each; runs that are there already are not repeated, so the
grid can be stopped and started again. Models go to a temporary folder. Settings are chosen by dev;
the test part is scored with --test only, and with --rest those sentences of dev that select no
epoch. crf.jsonl is of benchmarks/crfsuite.py.
"""

import argparse
import json
import multiprocessing
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora import CORPORA, DATA, SIZES, VECTORS, has_size, read_parts, subset
from curves import PARTS, draw, make_table, read_rows

from tagkit.config import Config, load_config
from tagkit.config.sections import option_values

if TYPE_CHECKING:
    from tagkit.inference.predict.predictor import Predictor

# Options that follow from the corpus, or may do so: recorded as they were resolved. So is whatever
# else differs from the defaults.
RESOLVED = frozenset(
    {
        "train.batch_size",
        "train.max_epochs",
        "train.patience",
        "train.lr",
        "train.warmup_steps",
        "train.average_decay",
        "encoder.dropout",
        "encoder.locked_dropout",
        "encoder.word_dropout",
        "head.dropout",
    }
)


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of the grid; its fields are the key of its line.

    Attributes:
        corpus: name of `CORPORA`.
        size: number of training sentences, or "all".
        vectors: "none" or "glove".
        seed: of the run.
        setting: name of the options.
        options: `section.key=value`, each.
    """

    corpus: str
    size: str
    vectors: str
    seed: int
    setting: str
    options: tuple[str, ...]

    @property
    def key(self) -> tuple[Any, ...]:
        """What distinguishes it from other runs; options go by the name of their setting."""
        return self.corpus, self.size, self.vectors, self.seed, self.setting


def parse_setting(text: str) -> tuple[str, tuple[str, ...]]:
    """Name and options of `NAME:section.key=value,section.key=value`."""
    name, colon, options = text.partition(":")
    if not (name and colon):
        raise argparse.ArgumentTypeError(f"expected NAME:section.key=value,..., found {text!r}")
    # A comma inside a list of values is followed by no name.
    return name, tuple(part for part in re.split(r",(?=[a-z]+\.[a-z_]+=)", options) if part)


def run(trial: Trial, data: Path, *, scored: str) -> dict[str, Any]:
    """Train one model, and what is to be known of it; `scored`: a part beside dev, or nothing."""
    from tagkit.training.trainer import train  # imports torch, which tables do not need

    with tempfile.TemporaryDirectory(prefix="sizes-") as scratch:
        flags = subset(trial.corpus, trial.size, Path(scratch), data, scored=scored)
        if not scored:
            del flags["data.test_file"]
        if trial.vectors == "glove":
            flags["embeddings.vectors"] = str(data / VECTORS)
        flags |= {"train.seed": trial.seed, "output.dir": str(Path(scratch) / "model")}
        config = load_config(None, trial.options, flags)
        start = time.perf_counter()
        trained = train(config)
        seconds = time.perf_counter() - start
        return {
            "model": "tagkit",
            **asdict(trial),
            "sentences": len(read_parts(trial.corpus, data).train)
            if trial.size == "all"
            else int(trial.size),
            "dev": trained.dev.headline,
            "test": None,
            **({scored: trained.test.headline} if trained.test else {}),
            "epochs": len(trained.epochs),
            "best_epoch": trained.best.number,
            "steps": trained.epochs[-1].step,
            "best_step": trained.best.step,
            "ended": trained.ended,
            "resolved": _resolved(trained.predictor.config),
            # Dev by step, from which other rules of stopping can be read without training again.
            "curve": [[epoch.step, round(epoch.score, 5)] for epoch in trained.epochs],
            "seconds": round(seconds, 1),
            **_by_share(trained.predictor, {"dev": "dev", **({scored: "test"} if scored else {})}),
        }


def _by_share(predictor: "Predictor", parts: dict[str, str]) -> dict[str, Any]:
    """Scores of a tagger with each share of its CRF of word features, 0 being the network alone.

    Args:
        predictor: of the model as it was saved.
        parts: names of the parts to score, and of the options that have their files.
    """
    from tagkit.corpus.splits.splits import read_split
    from tagkit.nn.feature_crf.feature_crf import SHARES

    if (crf := predictor.model.feature_crf) is None:
        return {}
    data, needs = predictor.config.data, predictor.task.needs
    files = {part: getattr(data, f"{name}_file") for part, name in parts.items()}
    splits = {
        part: read_split(str(path), data, needs, data.scheme, of_model=True)
        for part, path in files.items()
    }
    chosen = float(crf.share)
    found = {}
    for share in SHARES:
        crf.share.fill_(share)
        scores = {part: predictor.score(split).headline for part, split in splits.items()}
        found[f"{share:g}"] = scores
    return {"share": round(chosen, 2), "by_share": found}


def _resolved(config: Config) -> dict[str, Any]:
    # Files, which the trial names, are where they are on one machine alone.
    files = ("data.", "output.", "embeddings.vectors")
    defaults = option_values(Config())
    return {
        name: value
        for name, value in option_values(config).items()
        if name in RESOLVED or (value != defaults[name] and not name.startswith(files))
    }


def trials(arguments: argparse.Namespace) -> Iterator[Trial]:
    """The runs of the grid, small sizes first."""
    names = arguments.corpora or [*CORPORA]
    if arguments.rest:
        empty = [name for name in names if not read_parts(name, arguments.data).rest]
        for name in empty:
            print(f"{name}: left out, all of its dev selects epochs", file=sys.stderr)
        names = [name for name in names if name not in empty]
    for size in arguments.sizes:
        for name in names:
            if not has_size(read_parts(name, arguments.data), size):
                continue
            for vectors in arguments.vectors:
                if vectors == "glove" and not CORPORA[name].english:
                    continue
                for setting, options in arguments.setting or [("default", ())]:
                    for seed in arguments.seeds:
                        yield Trial(name, size, vectors, seed, setting, options)


def still_to_do(wanted: Sequence[Trial], path: Path, *, scored: str) -> list[Trial]:
    """The runs that are not in a file of results, or lack the score that is wanted."""
    done = {}
    for row in read_rows([path]) if path.exists() else []:
        if row["model"] == "tagkit" and (not scored or row.get(scored) is not None):
            trial = Trial(**{**{name: row[name] for name in Trial.__slots__},
                             "options": tuple(row["options"])})  # fmt: skip
            done[trial.key] = trial
    for trial in wanted:
        if trial.key in done and done[trial.key].options != trial.options:
            found = ",".join(done[trial.key].options) or "no options"
            sys.exit(f"{path}: the setting {trial.setting} is there with {found}; rename one")
    return [trial for trial in wanted if trial.key not in done]


def attempt(trial: Trial, data: Path, *, scored: str) -> dict[str, Any] | str:
    """What `run` gives, or why it failed: the other runs of a long grid are worth having."""
    try:
        return run(trial, data, scored=scored)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def results(
    todo: Sequence[Trial], data: Path, *, scored: str, jobs: int
) -> Iterator[tuple[Trial, dict[str, Any] | str]]:
    """Each run with what it gave, as they come."""
    if jobs == 1:
        for trial in todo:
            yield trial, attempt(trial, data, scored=scored)
        return
    # Torch's threads do not survive a fork.
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(attempt, trial, data, scored=scored): trial for trial in todo}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:  # when the script is interrupted the runs in progress end, and no other begins
            pool.shutdown(cancel_futures=True)


def run_grid(arguments: argparse.Namespace) -> int:
    """Train what is not done yet; the number of runs that failed."""
    scored = "test" if arguments.test else "rest" if arguments.rest else ""
    todo = still_to_do([*trials(arguments)], arguments.output, scored=scored)
    print(f"{len(todo)} runs to do", flush=True)
    failed = 0
    for trial, row in results(todo, arguments.data, scored=scored, jobs=arguments.jobs):
        name = " ".join(map(str, trial.key))
        if isinstance(row, str):
            print(f"{name}: {row}", file=sys.stderr, flush=True)
            failed += 1
            continue
        with arguments.output.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        scores = [f"{part} {100 * row[part]:.2f}" for part in PARTS if row.get(part) is not None]
        print(
            f"{name}: {', '.join(scores)}, best epoch {row['best_epoch']} of {row['epochs']}, "
            f"{row['seconds']:.0f} s",
            flush=True,
        )
    return failed


def main() -> int:
    """Run the grid, or show what it gave."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    grid = commands.add_parser("run", help="train what is not in the file of results yet")
    grid.add_argument("corpora", nargs="*", choices=[[], *CORPORA], metavar="CORPUS")
    grid.add_argument("--sizes", nargs="+", default=SIZES, choices=SIZES)
    grid.add_argument("--vectors", nargs="+", default=["none"], choices=["none", "glove"])
    grid.add_argument("--seeds", nargs="+", type=int, default=[1])
    grid.add_argument("--setting", action="append", type=parse_setting, metavar="NAME:KEY=VALUE,…")
    grid.add_argument("--test", action="store_true", help="score test too")
    grid.add_argument("--rest", action="store_true", help="score the rest of dev too")
    grid.add_argument("--jobs", type=int, default=1, help="runs side by side, one thread each")
    grid.add_argument("--data", type=Path, default=DATA, help="folder of all corpora")
    grid.add_argument("-o", "--output", type=Path, required=True, help="JSON Lines")
    table = commands.add_parser("table", help="print a Markdown table")
    plot = commands.add_parser("plot", help="draw the learning curves")
    plot.add_argument("-o", "--output", type=Path, required=True, help="SVG")
    for command in (table, plot):
        command.add_argument("files", nargs="+", type=Path)
        command.add_argument("--part", default="dev", choices=PARTS)
        command.add_argument("--setting", nargs="+", help="of tagkit; default: all in the files")
    arguments = parser.parse_args()
    if arguments.command == "run":
        return 1 if run_grid(arguments) else 0
    rows = read_rows(arguments.files)
    if arguments.setting:
        rows = [row for row in rows if row.get("setting") in (None, *arguments.setting)]
    if arguments.command == "table":
        print(make_table(rows, arguments.part))
    else:
        draw(rows, arguments.part, arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
