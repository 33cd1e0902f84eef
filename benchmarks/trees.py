r"""Recursive networks: trees of a batch together beside a recursive loop, and SST.

    python benchmarks/trees.py speed
    python benchmarks/trees.py sst tree-lstm --set encoder.hidden=150 -o models/sst-tree-lstm

speed: forward and backward on one core over the same trees, 32 random ones of 19 words, as those of
the Stanford Sentiment Treebank have on average; the best of some rounds, a loop and the encoder by
turns. sst: `tagkit train` on its trees with their parses, targets at all nodes, and its report on
test.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from corpora import DATA
from torch import Tensor

from tagkit.config import EncoderConfig, load_config
from tagkit.models.base.building import cell_options
from tagkit.nn.trees import TREES
from tagkit.nn.trees.encoder import TreeEncoder
from tagkit.training.trainer import train

BATCH, WORDS, INPUTS = 32, 19, 100
HIDDEN = {"tree-rnn": 30, "rntn": 30, "tree-lstm": 150}  # as of the papers
SMALL_BATCHES = ("train.batch_size=25", "embeddings.char_cell=none", "train.lr=0.002")


def random_tree(generator: np.random.Generator) -> list[tuple[int, int]]:
    """Children of inner nodes 1, 2, ...: neighbours are joined by chance."""
    left, found = list(range(WORDS)), list[tuple[int, int]]()
    while len(left) > 1:
        at = int(generator.integers(len(left) - 1))
        found.append((left[at], left[at + 1]))
        left[at : at + 2] = [-len(found)]
    return found


def loop(encoder: TreeEncoder, inputs: Tensor, trees: list[list[tuple[int, int]]]) -> Tensor:
    """The sum of the states of all roots, node by node."""
    cell = encoder.cell

    def values(row: int, node: int) -> Tensor:
        if node >= 0:
            return cell.leaf(inputs[row, node : node + 1])
        both = [values(row, child) for child in trees[row][-node - 1]]
        return cell.join(torch.stack(both, dim=1))

    return torch.stack([values(row, 1 - WORDS)[:, : cell.hidden] for row in range(BATCH)]).sum()


def best_s(call: Callable[[], Tensor], rounds: int) -> float:
    """Seconds of the fastest of some forward and backward passes."""
    seconds = []
    for _ in range(rounds):
        began = time.perf_counter()
        call().backward()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def speed() -> None:
    """Print both times of each cell."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    generator = np.random.default_rng(1)
    trees = [random_tree(generator) for _ in range(BATCH)]
    children = torch.tensor([[(0, 0), *tree] for tree in trees])
    inputs, mask = torch.randn(BATCH, WORDS, INPUTS), torch.ones(BATCH, WORDS, dtype=torch.bool)
    print("cell        hidden  loop, ms  together, ms  times as fast")
    for cell in TREES:
        encoder = TreeEncoder(
            cell=cell, options=cell_options(EncoderConfig()), inputs=INPUTS, hidden=HIDDEN[cell],
            dropout=0.0, locked_dropout=0.0, word_dropout=0.0,
        )  # fmt: skip
        calls: tuple[Callable[[], Tensor], ...] = (
            lambda encoder=encoder: loop(encoder, inputs, trees),  # type: ignore[misc]
            lambda encoder=encoder: encoder.read_trees(inputs, mask, children)[1].sum(),  # type: ignore[misc]
        )
        torch.testing.assert_close(calls[0](), calls[1](), rtol=1e-4, atol=1e-3)
        rounds = [[best_s(call, 3) for call in calls] for _ in range(3)]
        slow, fast = (1000 * min(each) for each in zip(*rounds, strict=True))
        print(f"{cell:<12}{HIDDEN[cell]:>6}{slow:>10.1f}{fast:>14.1f}{slow / fast:>15.1f}")


def sst(cell: str, options: list[str], output: Path) -> None:
    """Train on SST, and print the reports on dev and test."""
    files = {f"data.{name}_file": str(DATA / "sst" / f"{name}.txt") for name in
             ("train", "dev", "test")}  # fmt: skip
    named = {**files, "task": "classify", "data.format": "trees", "output.dir": str(output)}
    settings = [f"encoder.cell={cell}", f"encoder.hidden={HIDDEN[cell]}", *SMALL_BATCHES]
    given = {option.partition("=")[0] for option in options}
    kept = [each for each in settings if each.partition("=")[0] not in given]
    trained = train(load_config(overrides=[*kept, *options], flags=named))
    print(trained.dev, trained.test, sep="\n\n")


def main() -> None:
    """Run the command that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("speed")
    of_sst = commands.add_parser("sst")
    of_sst.add_argument("cell", choices=[*TREES])
    of_sst.add_argument("--set", action="append", default=[], metavar="OPTION=VALUE")
    of_sst.add_argument("-o", "--output", type=Path, required=True)
    asked = parser.parse_args()
    if asked.command == "speed":
        speed()
    else:
        sst(asked.cell, asked.set, asked.output)


if __name__ == "__main__":
    main()
