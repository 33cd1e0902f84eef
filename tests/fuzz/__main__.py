"""`python -m tests.fuzz`: run targets, or replay what was found."""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from .case import Case, Target
from .engine import Finding, Room, bound_memory, case_of, guarded, judge, say, shrink
from .targets import TARGETS

_ROUND = 20_000  # inputs between two looks at the clock


def main(arguments: list[str] | None = None) -> int:
    """Exit status 1 if anything was found."""
    options = _parse(arguments)
    if options.list:
        for target in TARGETS.values():
            say(f"{target.name:<20} {target.share / 100:6.2f} %")
        return 0
    if options.replay:
        return replay(Path(options.replay))
    wanted = [TARGETS[name] for name in options.target or TARGETS]
    session = Session(wanted, options.seed, Path(options.findings))
    if options.minutes:
        session.run_for(60 * options.minutes)
    else:
        session.run(options.inputs)
    session.report()
    return 1 if session.found else 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--target", action="append", choices=list(TARGETS), metavar="NAME",
                        help="only this target; may be repeated")  # fmt: skip
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--inputs", type=int, default=20_000, help="number of inputs, in all")
    parser.add_argument("--minutes", type=float, help="in place of a number of inputs")
    parser.add_argument("--findings", default="fuzz-findings", help="folder for failing inputs")
    parser.add_argument("--replay", metavar="FILE", help="run a failing input again")
    parser.add_argument("--list", action="store_true", help="the targets and their shares")
    return parser.parse_args(arguments)


def replay(path: Path) -> int:
    """Run a saved case; exit status 1 if it still breaks a law."""
    name, case = Case.from_json(path.read_text(encoding="utf-8"))
    target = TARGETS[name]
    if target.warm:
        target.warm()
    with Room() as room, guarded():
        bound_memory()
        finding = judge(target, case, room)
    say(f"{finding.key}\n{finding.detail}" if finding else f"{name}: nothing found")
    return 1 if finding else 0


class Session:
    """Some targets under one seed."""

    def __init__(self, targets: list[Target], seed: int, folder: Path) -> None:
        """`folder` takes the failing inputs; it is made with the first one."""
        self.targets = targets
        self.seed = seed
        self.folder = folder
        self.found: Counter[str] = Counter()  # findings by key
        self.done: Counter[str] = Counter()  # inputs by target
        self.seconds: Counter[str] = Counter()

    def run(self, inputs: int) -> None:
        """So many inputs, each target by its share."""
        whole = sum(target.share for target in self.targets)
        # What imports torch comes last: until then the process is small and fast.
        for target in sorted(self.targets, key=lambda target: target.warm is not None):
            self._run(target, max(1, round(inputs * target.share / whole)))

    def run_for(self, seconds: float) -> None:
        """Rounds of all targets until the time is over."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.run(_ROUND)

    def _run(self, target: Target, count: int) -> None:
        if target.warm:
            target.warm()
        began = time.perf_counter()
        first = self.done[target.name]
        with Room() as room, guarded():
            bound_memory()
            for number in range(first, first + count):
                case = case_of(target, self.seed, number)
                finding = judge(target, case, room)
                if finding is not None:
                    self._keep(target, number, case, finding, room)
        self.done[target.name] += count
        taken = time.perf_counter() - began
        self.seconds[target.name] += taken
        say(f"{target.name:<20} {count:>9,} inputs {count / taken:>8,.0f}/s")

    def _keep(self, target: Target, number: int, case: Case, finding: Finding, room: Room) -> None:
        self.found[finding.key] += 1
        if self.found[finding.key] > 1:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{target.name}-{self.seed}-{number}.json"
        path.write_text(case.to_json(target.name, finding.key), encoding="utf-8")
        smaller = shrink(target, case, finding.key, room)
        path.write_text(smaller.to_json(target.name, finding.key), encoding="utf-8")
        shown = "\n".join(f"    {line}" for line in finding.detail.split("\n"))
        say(f"FOUND {finding.key}\n  python -m tests.fuzz --replay {path}\n{shown}")

    def report(self) -> None:
        """Sums of inputs and findings."""
        inputs, seconds = self.done.total(), sum(self.seconds.values())
        rate = inputs / max(seconds, 1e-9)
        say(f"{inputs:,} inputs with seed {self.seed} in {seconds:,.0f} s, {rate:,.0f}/s")
        say(f"{len(self.found)} findings")
        for key, count in self.found.most_common():
            say(f"  {count:>7,}  {key}")


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(main())
