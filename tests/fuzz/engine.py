"""Runs cases and judges them: exceptions, messages, warnings, files, time and memory."""

import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from string import ascii_uppercase
from types import FrameType, TracebackType
from typing import Self

from tagkit.errors import TagkitError

from .case import Case, LawBroken, Target

_ROOM_BYTES = 2 << 30  # address space that one process may ask for beyond what it has
_GROWTH_KB = 400 << 10  # resident memory that a single input may add
_BYTES_PER_S = 10_000  # of a large input; brackets, which the segmenter takes longest for
_WAITING = 6  # times the limit of processor time that an input may take by the clock
_LONGEST_LINE = 4_000  # characters of a line of a message
_LONGEST = 40_000  # characters of a message
# What only a programmer understands, or a terminal obeys.
_FOREIGN = re.compile(
    r"\[Errno|Traceback|Value error,|instance of [A-Z]|object at 0x|set_int_max_str_digits"
    r"|pydantic|<class |\b(?:[A-Z][a-z]+)+(?:Error|Exception|Warning)\b|NoneType"
)
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


class TooSlow(BaseException):
    """The time of an input is over; no `except Exception` of the program may catch it."""


@dataclass(frozen=True)
class Finding:
    """A case that broke a law.

    Attributes:
        key: the same for all findings of one cause, as far as can be told.
        detail: the end of the traceback, or what was found.
    """

    key: str
    detail: str


class Room:
    """A folder in memory in which cases run, one after the other."""

    def __init__(self) -> None:
        """Nothing is made yet."""
        self.path = Path()
        self._before: dict[str, tuple[int, int]] = {}

    def __enter__(self) -> Self:
        """Make the folder."""
        memory = Path("/dev/shm")
        place = memory if os.access(memory, os.W_OK) else None
        self.path = Path(tempfile.mkdtemp(prefix="tagkit-fuzz-", dir=place))
        return self

    def __exit__(self, *_: object) -> None:
        """Remove it."""
        shutil.rmtree(self.path, ignore_errors=True)

    def fill(self, case: Case) -> None:
        """Write the case's files."""
        for name, data in case.files.items():
            if "/" in name:
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            with open(os.path.join(self.path, name), "wb") as file:
                file.write(data)
        self._before = self._look()

    def changed(self, allowed: tuple[str, ...]) -> list[str]:
        """Names that appeared, went or changed, apart from those that may."""
        after = self._look()
        names = self._before.keys() | after.keys()
        return sorted(
            name
            for name in names
            if self._before.get(name) != after.get(name) and name.split("/")[0] not in allowed
        )

    def clear(self) -> None:
        """Remove all that is in it."""
        with os.scandir(self.path) as entries:
            for entry in list(entries):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)

    def _look(self) -> dict[str, tuple[int, int]]:
        found = {}
        folders = [str(self.path)]
        start = len(folders[0]) + 1
        while folders:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                        found[entry.path[start:]] = (0, 0)
                    else:
                        facts = entry.stat(follow_symlinks=False)
                        found[entry.path[start:]] = (facts.st_size, facts.st_mtime_ns)
        return found


def check_message(text: str) -> None:
    """Make sure that a message is for people: short, printable, without names of Python's.

    Raises:
        LawBroken: it is not.
    """
    if len(text) > _LONGEST or max(map(len, text.split("\n"))) > _LONGEST_LINE:
        raise LawBroken("a message is too long", f"{len(text):,} characters: {text[:300]!r}")
    found = _CONTROL.search(text)
    if found:
        raise LawBroken("a message has a control character", repr(text))
    found = _FOREIGN.search(text)
    if found:
        raise LawBroken(f"a message says {found[0].rstrip(ascii_uppercase)!r}", repr(text))


def judge(target: Target, case: Case, room: Room) -> Finding | None:
    """Run a case; what is wrong with how it went, if anything is."""
    try:
        room.fill(case)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        finding = _run(target, case, room)
        if finding is None:
            changed = room.changed(target.outputs)
            if changed:
                finding = Finding(f"{target.name}: files changed", ", ".join(changed))
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
        if finding is None and grown > _GROWTH_KB:
            finding = Finding(f"{target.name}: memory", f"{grown >> 10:,} MB more than before")
        return finding
    finally:
        room.clear()


def _run(target: Target, case: Case, room: Room) -> Finding | None:
    # Time may grow with the input, but not faster. It is the processor's, as a busy machine is no
    # finding; what waits for ever takes none of that.
    seconds = target.seconds + sum(map(len, case.files.values())) / _BYTES_PER_S
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, _WAITING * seconds)
    try:
        try:
            target.run(case, room.path)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
    except TagkitError as error:
        try:
            check_message(str(error))
        except LawBroken as broken:
            place = _place(error.__traceback__)
            return Finding(f"{target.name}: {broken.law} ({place})", str(broken))
    except LawBroken as broken:
        return Finding(f"{target.name}: {broken.law}", str(broken))
    except TooSlow as error:
        shown = "".join(traceback.format_exception(error)[-8:])
        return Finding(f"{target.name}: over {target.seconds:g} s", shown)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        shown = "".join(traceback.format_exception(error))[-2500:]
        return Finding(
            f"{target.name}: {type(error).__name__} in {_place(error.__traceback__)}", shown
        )
    return None


def _place(trace: TracebackType | None) -> str:
    """File and function of the innermost frame of the program's own."""
    place = "no frame of tagkit"
    while trace is not None:
        code = trace.tb_frame.f_code
        if f"{os.sep}tagkit{os.sep}" in code.co_filename and "tests" not in code.co_filename:
            file = code.co_filename.rpartition(f"{os.sep}tagkit{os.sep}")[2]
            place = f"{file}:{code.co_qualname}"
        trace = trace.tb_next
    return place


@contextmanager
def guarded() -> Iterator[None]:
    """Within it time and memory are bounded, and a warning is an error."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise TooSlow

    handlers = {number: signal.signal(number, ring) for number in (signal.SIGPROF, signal.SIGALRM)}
    limits = resource.getrlimit(resource.RLIMIT_AS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            resource.setrlimit(resource.RLIMIT_AS, limits)


def bound_memory() -> None:
    """Let the process have a bounded amount of memory more than it has now; only in `guarded`."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + _ROOM_BYTES
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard < 0 else min(limit, hard), hard))


def case_of(target: Target, seed: int, number: int) -> Case:
    """The case of a target with a number: the same in every run."""
    return target.make(Random(f"{seed}/{target.name}/{number}"))


def fuzz(
    target: Target, seed: int, first: int, count: int, room: Room
) -> Iterator[tuple[int, Case, Finding]]:
    """The findings among some cases of a target."""
    for number in range(first, first + count):
        case = case_of(target, seed, number)
        finding = judge(target, case, room)
        if finding is not None:
            yield number, case, finding


def shrink(target: Target, case: Case, key: str, room: Room, seconds: float = 5.0) -> Case:
    """A smaller case with the same finding: parts of its files are left out while it is found."""
    if not target.shrinks:
        return case
    until = time.monotonic() + seconds
    for name in sorted(case.files, key=lambda name: -len(case.files[name])):
        for separator in (b"\n", b""):
            case = _without_parts(target, case, name, separator, key, room, until)
    return case


def _without_parts(
    target: Target, case: Case, name: str, separator: bytes, key: str, room: Room, until: float
) -> Case:
    data = case.files[name]
    parts = data.split(separator) if separator else [data[at : at + 1] for at in range(len(data))]
    if len(parts) > 4000:
        return case
    size = max(1, len(parts) // 2)
    while size:
        at = 0
        while at < len(parts) and time.monotonic() < until:
            fewer = parts[:at] + parts[at + size :]
            smaller = replace(case, files={**case.files, name: separator.join(fewer)})
            finding = judge(target, smaller, room)
            if finding is not None and finding.key == key:
                parts, case = fewer, smaller
            else:
                at += size
        size //= 2
    return case


def say(text: str) -> None:
    """A line on standard output, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
