"""What a chain costs with many tags: time and memory, beside the plain loss and the best path.

    python benchmarks/many_tags.py --tags 17 45 93 200 500 1000
    python benchmarks/many_tags.py --tags 17 93 --operations plain constrained --rounds 9
    python benchmarks/many_tags.py --tags 17 --operations viterbi paths --rounds 400 --fastest
    python benchmarks/many_tags.py --tags 17 --operations paths --paths 10 --by-lists --sentences 8

Each row is one number of tags: 32 sentences of 24 tokens, `B-` and `I-` of as many labels as there
are, and `O`. `plain`, `constrained` (IOB2 forbids its steps) and `weighted` are losses with their
gradients, beside `plain`; the others are decoding, beside `viterbi`: `n_best` computes the
log-partition too, which turns scores into probabilities, `paths` does not. Times are of one process
in which all operations are called by turns, medians in milliseconds, with `--fastest` the fastest;
memory is the peak of a process that does nothing else, beyond what it had before, in MB.
`--limit-s` leaves out an operation for larger numbers of tags once a single call took longer.
`--by-lists` finds paths by lists, however few they are.
"""

import argparse
import json
import os
import random
import resource
import statistics
import time
from collections.abc import Callable

import torch

from tagkit.models.tagging.tag_head import continuations, illegal_steps
from tagkit.nn.crf import n_best as paths
from tagkit.nn.crf.chain import Chain, path_score, viterbi
from tagkit.nn.crf.confidence import span_confidence
from tagkit.nn.crf.n_best import n_best
from tagkit.nn.crf.partition import log_partition
from tagkit.nn.crf.weighted_loss import weighted_loss
from tagkit.text.schemes import PLAIN

TIME = 24
# Each operation and the one that its ratio is taken to.
OPERATIONS = {
    "plain": "plain",
    "constrained": "plain",
    "weighted": "plain",
    "weighted_constrained": "plain",
    "viterbi": "viterbi",
    "viterbi_constrained": "viterbi",
    "confidence": "viterbi",
    "confidence_constrained": "viterbi",
    "n_best": "viterbi",
    "n_best_constrained": "viterbi",
    "paths": "viterbi",
}


def names(count: int) -> tuple[str, ...]:
    """So many tags: `O`, then `B-` and `I-` of one label after the other."""
    return ("O", *(f"{'BI'[i % 2]}-{i // 2}" for i in range(count - 1)))


def operation(name: str, tags: int, sentences: int, best: int) -> Callable[[], object]:
    """A function without arguments that does the work once, for so many sentences and paths."""
    torch.manual_seed(1)
    emissions = torch.randn(sentences, TIME, tags, requires_grad=True)
    transitions, start, end = (
        (0.1 * torch.randn(*shape)).requires_grad_() for shape in ((tags, tags), (tags,), (tags,))
    )
    mask = torch.ones(sentences, TIME, dtype=torch.bool)
    gold = torch.zeros(sentences, TIME, dtype=torch.int64)  # O, which every constraint allows
    parts = emissions, transitions, start, end
    illegal = illegal_steps(names(tags), "iob2" if "constrained" in name else PLAIN)
    weights = torch.rand(tags) + 0.5

    def chain() -> Chain:
        return Chain(
            emissions,
            transitions + illegal.transitions,
            start + illegal.start,
            end + illegal.end,
            mask,
            checked=True,
        )

    def loss() -> object:
        if name.startswith("weighted"):
            total = weighted_loss(chain(), gold, weights).sum()
        else:
            total = (log_partition(chain()) - path_score(chain(), gold)).sum()
        return torch.autograd.grad(total, parts)

    def decode() -> object:
        with torch.no_grad():
            if name == "paths":
                return n_best(chain(), best)
            if name.startswith("n_best"):
                scores = chain()
                return n_best(scores, best), log_partition(scores)
            found = viterbi(chain())
            if name.startswith("confidence"):
                return span_confidence(chain(), found[0], continuation)
            return found

    continuation = continuations(names(tags), "iob2")
    return loss if OPERATIONS[name] == "plain" else decode


def in_process(work: Callable[[], dict[str, float]]) -> dict[str, float]:
    """What a process of its own returns; its memory begins with ours."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, json.dumps(work()).encode())
        finally:
            os._exit(0)  # never back into the table below
    os.close(writing)
    with os.fdopen(reading) as answer:
        found = answer.read()
    os.waitpid(child, 0)
    if not found:
        raise SystemExit("a measurement failed")
    parsed: dict[str, float] = json.loads(found)
    return parsed


def measure(names: list[str], tags: int, options: argparse.Namespace) -> dict[str, float]:
    """Milliseconds of each operation and seconds of its first call, as `NAME ms` and `NAME first`.

    By turns, in another order each time: called again and again by itself, an operation finds its
    code and its numbers in the nearest caches, as it never does after a network; and what an
    operation costs depends by a fifth on the one before it.
    """
    order = random.Random(1)

    def work() -> dict[str, float]:
        calls = {n: operation(n, tags, options.sentences, options.paths) for n in names}
        times: dict[str, list[float]] = {name: [] for name in names}
        for number in range(options.rounds + 1):
            for name in order.sample(names, len(names)):
                began = time.perf_counter()
                calls[name]()
                times[name].append(time.perf_counter() - began)
            if number and sum(map(sum, times.values())) > 4 * len(names):
                break  # large sizes vary little
        of_all = min if options.fastest else statistics.median
        return {
            f"{name} {what}": value
            for name, (first, *later) in times.items()
            for what, value in (("ms", 1000 * of_all(later)), ("first", first))
        }

    return in_process(work)


def peak_memory(name: str, tags: int, options: argparse.Namespace) -> float:
    """Of two calls, in MB, in a process of its own."""

    def work() -> dict[str, float]:
        call = operation(name, tags, options.sentences, options.paths)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        call()
        call()
        return {"mb": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024}

    return in_process(work)["mb"]


def main() -> None:
    """Print a table of milliseconds, one of ratios, and one of memory."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tags", type=int, nargs="+", default=[17, 45, 93, 200, 500, 1000])
    parser.add_argument("--operations", nargs="+", choices=OPERATIONS, default=list(OPERATIONS))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--limit-s", type=float, default=20.0)
    parser.add_argument("--fastest", action="store_true")
    parser.add_argument("--sentences", type=int, default=32)
    parser.add_argument("--paths", type=int, default=5)
    parser.add_argument("--by-lists", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.by_lists:
        paths._FEW = 0
    found: dict[tuple[str, int], dict[str, float]] = {}
    names = options.operations
    for tags in options.tags:
        times = measure(names, tags, options)
        for name in names:
            found[name, tags] = {
                "ms": times[f"{name} ms"],
                "mb": peak_memory(name, tags, options),
            }
        names = [name for name in names if times[f"{name} first"] <= options.limit_s]

    def ratio(name: str, tags: int) -> float:
        other = found.get((OPERATIONS[name], tags))
        return found[name, tags]["ms"] / other["ms"] if other else float("nan")

    for title, cell in (
        ("milliseconds", lambda name, tags: f"{found[name, tags]['ms']:,.2f}"),
        ("ratio to the plain loss, or to the best path", lambda *at: f"{ratio(*at):.2f}"),
        ("peak MB", lambda name, tags: f"{found[name, tags]['mb']:,.0f}"),
    ):
        print(f"\n| {title} | {' | '.join(map(str, options.tags))} |")
        print("| --- |" + " ---: |" * len(options.tags))
        for name in options.operations:
            cells = [cell(name, t) if (name, t) in found else "" for t in options.tags]
            print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
