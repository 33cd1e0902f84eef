r"""Every recurrent cell in the same tagger and classifier, and on problems that need long memory.

    python benchmarks/recurrent.py tasks --corpora ewt conll2000 trec --seeds 1 2 3 -o cells.jsonl
    python benchmarks/recurrent.py tasks lstm gru --sentences 2000 --epochs 6 -o cells.jsonl
    python benchmarks/recurrent.py speed --rounds 3 -o cells.jsonl
    python benchmarks/recurrent.py synthetic --grid reduced -o cells.jsonl
    python benchmarks/recurrent.py synthetic lstm --problems copy --lengths 50 -o cells.jsonl \
        --hidden 128 --setting "skip-half:encoder.cell=skip,encoder.skip=25"
    python benchmarks/recurrent.py memory --tasks copy --steps 1400 -o cells.jsonl
    python benchmarks/recurrent.py table cells.jsonl
    python benchmarks/recurrent.py plot cells.jsonl -o benchmarks/recurrent.svg

A setting is a name and options, as in benchmarks/sizes.py; the name of each cell is a setting, and
so are those of `SETTINGS`. `{T}` in an option of a synthetic problem stands for its length. Results
are JSON Lines, one run each; runs that are there already are not repeated, so that each command can
be stopped and started again.

tasks: cells are compared at equal size. Embeddings have most of a model's weights, and are the same
for all; so each encoder gets the number of hidden units with which it has about as many weights,
trained or not, as the LSTM's at the default options. Dev is what benchmarks/corpora.py takes of it,
test is whole. speed: training and decoding with the same encoders on a quiet machine, cells by
turns, a round after the other. synthetic: the problems of benchmarks/long_range.py with the same
number of hidden units for all cells. memory: the tasks of benchmarks/memory_tasks.py, an NTM beside
an LSTM of as many weights.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from corpora import CORPORA, DATA
from grid import Done, Run, identity, run_all
from long_range import PROBLEMS, Budget, learn
from memory_tasks import MEMORY_TASKS, learn_short
from recurrent_results import draw, read_rows, tables
from recurrent_tasks import run_speed, run_task
from sizes import parse_setting

from tagkit.nn.layers.encoder import LAYERS

Setting = tuple[str, tuple[str, ...]]
SETTINGS: dict[str, tuple[str, ...]] = {
    **{name: (f"encoder.cell={name}",) for name in LAYERS},
    "elman-relu": ("encoder.cell=elman", "encoder.activation=relu"),
    "leaky-learned": ("encoder.cell=leaky", "encoder.leak=learned"),
    # Time scales that fit the longer problems.
    "leaky-0.01": ("encoder.cell=leaky", "encoder.leak=0.01"),
    "skip-25": ("encoder.cell=skip", "encoder.skip=25"),
    "lstm-chrono": ("encoder.cell=lstm", "encoder.chrono={T}"),
    "gru-chrono": ("encoder.cell=gru", "encoder.chrono={T}"),
    # Elman's network as the books have it, its recurrent weights drawn at random.
    "elman-normal": ("encoder.cell=elman", "encoder.init=normal"),
    "elman-xavier": ("encoder.cell=elman", "encoder.init=xavier"),
    "elman-relu-identity": (
        "encoder.cell=elman",
        "encoder.activation=relu",
        "encoder.init=identity",
    ),
    "elman-flow": ("encoder.cell=elman", "train.flow_strength=1"),
    "elman-xavier-flow": ("encoder.cell=elman", "encoder.init=xavier", "train.flow_strength=1"),
    "ntm-one-head": ("encoder.cell=ntm", "encoder.heads=1", "encoder.memory=[128,20]"),
    "clockwork-128": ("encoder.cell=clockwork", "encoder.periods=[1,2,4,8,16,32,64,128]"),
}
# Units of `memory`: with as many weights, 73,812 and 76,032.
MEMORY_UNITS = {"ntm-one-head": 100, "lstm": 132}
# Fields of a line that distinguish it from others; a kind of run has some of them.
KEYS = (
    "kind", "corpus", "sentences", "epochs", "problem", "length", "setting", "seed", "round", "lr",
    "hidden", "batch", "max_steps", "max_seconds",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plan:
    """What `synthetic` runs of a problem without further options.

    Attributes:
        settings: names of `SETTINGS`.
        lengths: numbers of steps T.
        rates: learning rates.
        budget: of each run.
    """

    settings: tuple[str, ...]
    lengths: tuple[int, ...]
    rates: tuple[float, ...]
    budget: Budget


_FULL = Budget(hidden=100, batch=32, steps=20_000, seconds=300)
_REDUCED = Budget(hidden=100, batch=32, steps=3000, seconds=60)
# By name and problem.
GRIDS = {
    # Some hours on one core for each seed and problem.
    "full": {
        name: Plan(
            settings=tuple(name for name in SETTINGS if name != "output-feedback"),
            lengths=problem.lengths,
            rates=(0.001, 0.003),
            budget=_FULL,
        )
        for name, problem in PROBLEMS.items()
    },
    # Less than 40 minutes on one core.
    "reduced": {
        "remember": Plan(
            settings=("elman", "lstm", "gru", "leaky", "skip", "clockwork", "lstm-peephole"),
            lengths=(10, 20, 50, 100, 200),
            rates=(0.001,),
            budget=_REDUCED,
        ),
        "adding": Plan(
            settings=("gru", "lstm", "elman"),
            lengths=(50, 100, 200, 400),
            rates=(0.003,),
            budget=replace(_REDUCED, seconds=240),
        ),
        "copy": Plan(
            settings=("gru", "lstm", "elman"), lengths=(10, 20), rates=(0.003,), budget=_REDUCED
        ),
    },
}


def tasks(arguments: argparse.Namespace, done: Done) -> Iterator[Run]:
    """Key and work of each run, seed by seed."""
    for seed in arguments.seeds:
        for corpus in arguments.corpora:
            for name, options in settings_of(arguments, LAYERS):
                key = {
                    "kind": "task", "corpus": corpus, "sentences": arguments.sentences,
                    "epochs": arguments.epochs, "setting": name, "options": list(options),
                    "seed": seed,
                }  # fmt: skip
                given = corpus, arguments.sentences, arguments.epochs, options, seed
                yield key, partial(run_task, *given, arguments.data)


def speeds(arguments: argparse.Namespace, done: Done) -> Iterator[Run]:
    """The same for `speed`, round by round, so that all cells meet the same conditions."""
    for round_ in range(1, arguments.rounds + 1):
        for corpus in arguments.corpora:
            for name, options in settings_of(arguments, LAYERS):
                key = {
                    "kind": "speed", "corpus": corpus, "sentences": arguments.sentences,
                    "setting": name, "options": list(options), "round": round_,
                }  # fmt: skip
                given = corpus, arguments.sentences, options, round_
                yield key, partial(run_speed, *given, arguments.data)


def synthetic(arguments: argparse.Namespace, done: Done) -> Iterator[Run]:
    """The same for `synthetic`.

    Lengths rise until a setting has failed at `--give-up` of them in a row.
    """
    for seed in arguments.seeds:
        for problem in arguments.problems:
            plan = GRIDS[arguments.grid][problem]
            budget = Budget(
                arguments.hidden or plan.budget.hidden,
                arguments.batch or plan.budget.batch,
                arguments.steps or plan.budget.steps,
                arguments.seconds or plan.budget.seconds,
            )
            for name, options in settings_of(arguments, plan.settings):
                for rate in arguments.rates or plan.rates:
                    failed = 0
                    for length in sorted(arguments.lengths or plan.lengths):
                        key = {
                            "kind": "synthetic", "problem": problem, "length": length,
                            "setting": name, "options": list(options), "lr": rate, "seed": seed,
                            "hidden": budget.hidden, "batch": budget.batch,
                            "max_steps": budget.steps, "max_seconds": budget.seconds,
                        }  # fmt: skip
                        given = PROBLEMS[problem], length, options, budget
                        yield key, partial(learn, *given, lr=rate, seed=seed)
                        solved = done.get(identity(key, KEYS), {}).get("ended") == "solved"
                        failed = 0 if solved else failed + 1
                        if failed and failed == arguments.give_up:
                            break


def memory_tasks(arguments: argparse.Namespace, done: Done) -> Iterator[Run]:
    """The same for `memory`."""
    for seed in arguments.seeds:
        for task in arguments.tasks:
            for name, options in settings_of(arguments, MEMORY_UNITS):
                hidden = arguments.hidden or MEMORY_UNITS.get(name, 100)
                budget = Budget(hidden, arguments.batch, arguments.steps, arguments.seconds)
                key = {
                    "kind": "memory", "problem": task, "setting": name, "options": list(options),
                    "lr": arguments.rate, "seed": seed, "hidden": hidden, "batch": budget.batch,
                    "max_steps": budget.steps, "max_seconds": budget.seconds,
                }  # fmt: skip
                given = MEMORY_TASKS[task], options, budget
                yield key, partial(learn_short, *given, lr=arguments.rate, seed=seed)


def settings_of(arguments: argparse.Namespace, default: Iterable[str]) -> list[Setting]:
    """The settings that are named and those that are given, or else the default ones."""
    named = arguments.cells or ([] if arguments.setting else default)
    return [(name, SETTINGS[name]) for name in named] + list(arguments.setting)


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    top = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = top.add_subparsers(dest="command", required=True)
    task = commands.add_parser("tasks", help="train and score taggers and classifiers")
    speed = commands.add_parser("speed", help="measure tokens/s; on a quiet machine")
    problems = commands.add_parser("synthetic", help="train on problems that need long memory")
    memory = commands.add_parser("memory", help="train on short sequences, test on longer ones")
    all_runs = (task, tasks), (speed, speeds), (problems, synthetic), (memory, memory_tasks)
    for command, runs in all_runs:
        command.set_defaults(runs=runs)
        command.add_argument("cells", nargs="*", choices=[[], *SETTINGS], metavar="CELL")
        command.add_argument(
            "--setting", action="append", default=[], type=parse_setting, metavar="NAME:KEY=VALUE,…"
        )
        command.add_argument("-o", "--output", type=Path, required=True, help="JSON Lines")
    for command, sentences in ((task, "all"), (speed, "500")):
        command.add_argument("--corpora", nargs="+", choices=CORPORA, default=["conll2000"])
        command.add_argument("--sentences", default=sentences, help="of train, from the first on")
        command.add_argument("--data", type=Path, default=DATA, help="folder of all corpora")
    task.set_defaults(corpora=["ewt", "conll2000", "trec"])
    task.add_argument("--epochs", type=int, help="all of them; default: as tagkit train")
    speed.add_argument("--rounds", type=int, default=3)
    for command in (task, problems, memory):
        command.add_argument("--seeds", nargs="+", type=int, default=[1])
    problems.add_argument("--grid", choices=GRIDS, default="reduced")
    problems.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    problems.add_argument("--lengths", nargs="+", type=int, metavar="T")
    problems.add_argument("--rates", nargs="+", type=float, help="learning rates of Adam")
    problems.add_argument("--hidden", type=int, help="units")
    problems.add_argument("--batch", type=int, help="sequences of a step of training")
    problems.add_argument("--steps", type=int, help="of training, at most")
    problems.add_argument("--seconds", type=float, help="of computing, at most")
    problems.add_argument("--give-up", type=int, default=2, help="lengths that fail; 0 for never")
    memory.add_argument("--tasks", nargs="+", choices=MEMORY_TASKS, default=list(MEMORY_TASKS))
    memory.add_argument("--rate", type=float, default=0.001, help="learning rate of Adam")
    memory.add_argument("--hidden", type=int, help="units")
    memory.add_argument("--batch", type=int, default=16, help="sequences of a step of training")
    memory.add_argument("--steps", type=int, default=100_000, help="of training, at most")
    memory.add_argument("--seconds", type=float, default=600, help="of computing, at most")
    table = commands.add_parser("table", help="print Markdown tables")
    plot = commands.add_parser("plot", help="draw the synthetic problems")
    plot.add_argument("-o", "--output", type=Path, required=True, help="SVG")
    for command in (table, plot):
        command.add_argument("files", nargs="+", type=Path)
    return top


def main() -> int:
    """Run a grid, or show what it gave."""
    arguments = parser().parse_args()
    if arguments.command == "table":
        print(tables(read_rows(arguments.files)))
    elif arguments.command == "plot":
        draw(read_rows(arguments.files), arguments.output)
    else:
        torch.set_num_threads(1)
        runs = partial(arguments.runs, arguments)
        return 1 if run_all(arguments.output, runs, KEYS) else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
