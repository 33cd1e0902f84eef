"""tagkit beside the textbook tagger: same sizes, same data, one run, alternating.

    python benchmarks/speed.py --threads 1 2 --rounds 5
    python benchmarks/speed.py --rounds 5 --limit 1200 --against CHECKOUT

Each figure is the median of the rounds; each round is a process of its own that trains one pass
over the first sentences of CoNLL-2000 train, then tags CoNLL-2000 test twice, and tells its peak
memory. `command` is a whole program, from its start to tags in a file. The last rows are the chain
alone: log-partition with gradient, and Viterbi, of 32 sentences of 24 tokens with 23 tags, beside
pytorch-crf. The corpora are not part of the project.

`--against` compares this version with another one, in the folder CHECKOUT, which runs its own
script in its own folder; the two take turns at being the first of a round.
"""

import argparse
import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

DATA = Path("../shared/data/conll2000")
TRAIN, TEST = DATA / "train.txt", DATA / "test.txt"
SIZES = [
    "encoder.hidden=100", "embeddings.char_hidden=25", "embeddings.affix_dim=0",
    "train.batch_size=32", "train.max_epochs=1", "train.patience=0", "train.lr=0.003",
]  # fmt: skip
FIGURES = ("train", "decode_first", "decode", "peak_mb", "command")


def textbook(limit: int) -> dict[str, float]:
    """Figures of the textbook tagger."""
    from textbook import decode, train

    speed, model, ids = train(TRAIN, limit)
    speeds = [decode(model, ids, TEST) for _ in range(2)]
    return {"train": speed, "decode_first": speeds[0], "decode": speeds[1]}


def textbook_command() -> None:
    """What a program would do that tags a file: fresh weights are as fast as trained ones."""
    from textbook import Ids, Textbook, decode, read

    ids = Ids(read(TRAIN))
    decode(Textbook(ids), ids, TEST)


def chain_times(rounds: int) -> dict[str, dict[str, float]]:
    """Microseconds of a CRF's loss with gradient and of its best paths, theirs and ours."""
    import torchcrf

    from tagkit.nn.crf.chain import Chain, path_score, viterbi
    from tagkit.nn.crf.partition import log_partition

    torch.manual_seed(1)
    batch, time_, tags = 32, 24, 23
    crf = torchcrf.CRF(tags, batch_first=True)
    emissions = torch.randn(batch, time_, tags, requires_grad=True)
    gold = torch.randint(tags, (batch, time_))
    mask = torch.arange(time_) < torch.randint(time_ - 4, time_ + 1, (batch, 1))
    mask[0] = True
    weights = crf.transitions, crf.start_transitions, crf.end_transitions

    def their_loss() -> None:
        (-crf(emissions, gold, mask)).backward()

    def our_loss() -> None:
        chain = Chain(emissions, *weights, mask)
        (log_partition(chain) - path_score(chain, gold)).sum().backward()

    def their_path() -> None:
        with torch.no_grad():
            crf.decode(emissions, mask)

    def our_path() -> None:
        with torch.no_grad():
            viterbi(Chain(emissions, *weights, mask))[0].tolist()

    found: dict[str, dict[str, float]] = {}
    for name, pair in (("loss", (their_loss, our_loss)), ("viterbi", (their_path, our_path))):
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(20 * rounds):
            for run, kept in zip(pair, times, strict=True):
                start = time.perf_counter()
                run()
                kept.append(1e6 * (time.perf_counter() - start))
        theirs, mine = (statistics.median(kept[5:]) for kept in times)
        found[name] = {"textbook": theirs, "tagkit": mine}
    return found


def ours(limit: int, home: str) -> dict[str, float]:
    """Figures of tagkit, through the functions that its commands call."""
    from tagkit.config import load_config
    from tagkit.corpus.splits.splits import read_split
    from tagkit.inference.predict.predictor import load
    from tagkit.limits import BATCH_SIZE
    from tagkit.training.events.callbacks import Epoch, Listener
    from tagkit.training.trainer import train

    class Speed(Listener):
        """Keeps the last epoch."""

        def on_epoch(self, epoch: Epoch) -> None:
            self.speed = epoch.tokens_per_s

    with tempfile.TemporaryDirectory() as folder:
        lines = TRAIN.read_text("utf-8").split("\n\n")[:limit]
        part = Path(folder) / "train.conll"
        part.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
        dev = Path(folder) / "dev.conll"
        dev.write_text("\n\n".join(lines[:10]) + "\n", encoding="utf-8")
        flags = {"data.train_file": str(part), "data.dev_file": str(dev), "output.dir": home,
                 "train.threads": torch.get_num_threads(), "train.workers": 1,
                 "train.device": "cpu"}  # fmt: skip
        listener = Speed()
        train(load_config(overrides=SIZES, flags=flags), listener)
        predictor = load(home, device="cpu")
    test = read_split(str(TEST), predictor.config.data, predictor.task.needs, None)
    gc.collect()
    gc.freeze()  # as the command does: what is there stays there
    speeds = []
    for _ in range(2):  # the first time it meets the words
        start = time.perf_counter()
        predictor.annotate(test.sentences, batch_size=BATCH_SIZE, confidence=False)
        speeds.append(test.tokens / (time.perf_counter() - start))
    return {"train": listener.speed, "decode_first": speeds[0], "decode": speeds[1]}


def command_time(who: str, model: str, threads: int) -> float:
    """Seconds of a whole program that tags CoNLL-2000 test."""
    if who == "textbook":
        command = [sys.executable, __file__, "--one", "textbook-command"]
    else:
        program = "from tagkit.cli.main import main; main()"
        command = [sys.executable, "-c", program, "predict", model, str(TEST)]
    start = time.perf_counter()
    subprocess.run([*command, "--threads", str(threads)], check=True, capture_output=True)
    return time.perf_counter() - start


def measured(who: str, threads: int, limit: int) -> dict[str, float]:
    """Figures of a process of its own."""
    command = [sys.executable, __file__, "--one", who, "--threads", str(threads), "--limit",
               str(limit)]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        ended = subprocess.run([*command, "--folder", folder], check=True, capture_output=True,
                               text=True)  # fmt: skip
        figures = dict(json.loads(ended.stdout.splitlines()[-1]))
        return {**figures, "command": command_time(who, folder, threads)}


def compare(other: Path, rounds: int, limit: int) -> None:
    """Print the figures of another version and of this one, and their ratio."""
    folders = {"before": other.resolve(), "after": Path(__file__).resolve().parents[1]}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in folders}
    for number in range(rounds):
        for name in list(folders)[:: -1 if number % 2 else 1]:
            found[name].append(figures_of(folders[name], limit))
    print("| figure | before | after | ratio |\n| --- | ---: | ---: | ---: |")
    for figure in found["after"][0]:
        old, new = (statistics.median(each[figure] for each in found[name]) for name in folders)
        digits = 2 if figure == "command" else 0
        print(f"| {figure} | {old:,.{digits}f} | {new:,.{digits}f} | {new / old:.2f} |")


def figures_of(version: Path, limit: int) -> dict[str, float]:
    """Figures of a version of tagkit, each from processes of its own, on one thread."""
    environment = {**os.environ, "PYTHONPATH": f"{version}{os.pathsep}{version / 'benchmarks'}"}

    def output(*words: str) -> str:
        ended = subprocess.run([sys.executable, *words], cwd=version, env=environment, check=True,
                               capture_output=True, text=True)  # fmt: skip
        return ended.stdout

    chain = "import json, torch; torch.set_num_threads(1); from speed import chain_times; "
    chain += "print(json.dumps({k: v['tagkit'] for k, v in chain_times(12).items()}))"
    with tempfile.TemporaryDirectory() as folder:
        train = output("benchmarks/speed.py", "--one", "tagkit", "--limit", str(limit),
                       "--folder", folder)  # fmt: skip
        start = time.perf_counter()
        output("-m", "tagkit", "predict", folder, str(TEST))
        seconds = time.perf_counter() - start
    return {
        **json.loads(train.splitlines()[-1]),
        "command": seconds,
        **json.loads(output("-c", chain)),
    }


def main() -> None:
    """Print a table for each number of threads."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=4000)
    parser.add_argument("--one", choices=["textbook", "tagkit", "textbook-command"])
    parser.add_argument("--folder", default="")
    parser.add_argument("--against", type=Path, help="folder of another version")
    options = parser.parse_args()
    if options.against:
        compare(options.against, options.rounds, options.limit)
        return
    if options.one:
        torch.set_num_threads(options.threads[0])
        if options.one == "textbook-command":
            textbook_command()
            return
        textbook_too = options.one == "textbook"
        found = textbook(options.limit) if textbook_too else ours(options.limit, options.folder)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({**found, "peak_mb": peak}))
        return
    print("| threads | figure | textbook | tagkit | ratio |\n| ---: | --- | ---: | ---: | ---: |")
    for threads in options.threads:
        rounds: dict[str, list[dict[str, float]]] = {"textbook": [], "tagkit": []}
        for _ in range(options.rounds):
            for who, figures in rounds.items():
                figures.append(measured(who, threads, options.limit))
        for name in FIGURES:
            theirs, mine = (
                statistics.median(figures[name] for figures in rounds[who]) for who in rounds
            )
            digits = 2 if name == "command" else 0
            print(
                f"| {threads} | {name} | {theirs:,.{digits}f} | {mine:,.{digits}f} | "
                f"{mine / theirs:.2f} |"
            )
        torch.set_num_threads(threads)
        for name, pair in chain_times(options.rounds).items():
            theirs, mine = pair["textbook"], pair["tagkit"]
            print(
                f"| {threads} | {name} (us) | {theirs:,.0f} | {mine:,.0f} | {mine / theirs:.2f} |"
            )


if __name__ == "__main__":
    main()
