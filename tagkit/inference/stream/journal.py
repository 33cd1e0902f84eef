"""What a prediction that was stopped goes on from: a manifest beside the unfinished output.

Its lines are JSON. The first one says what is predicted: the model, the options, the inputs. Each
further one says how far that is done, a line every few seconds; the last whole one counts. To go
on, the inputs are read again up to there, since only a reader knows where it is in a document or a
table. Chunks are cut as before, and those that were answered are skipped: so the rest is predicted
in the same batches, and the output is the same, byte for byte.
"""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from tagkit import __version__
from tagkit.corpus.formats.table import by_ending, by_name
from tagkit.corpus.source.digests import RunningDigest
from tagkit.corpus.source.source import STDIN, is_regular, source_name
from tagkit.errors import DataError
from tagkit.inference.stream.chunks import Output
from tagkit.models.answers.kind import Removed
from tagkit.models.folder.parts import find_bundle
from tagkit.storage import METADATA, PACKED, OutputWriter, Unfinished, digest_of, partial_names
from tagkit.storage.places import flush_to_disk
from tagkit.text.json_text import plain, to_json
from tagkit.wording import joined

_EVERY_S = 2.0


@dataclass(frozen=True, slots=True)
class Done:
    """How far a prediction is done.

    Attributes:
        chunks: of all inputs, whose output is written.
        read: SHA-256 of what was read of the inputs when the last of them was taken.
        has_begun: whether anything is written of the input of that chunk.
        size: bytes of the output.
        digest: SHA-256 of these.
        tail: last characters of the output.
        refused: records of these chunks that the output could not hold.
        removed: as in `Removed`.
    """

    chunks: int = 0
    read: str = ""
    has_begun: bool = False
    size: int = 0
    digest: str = ""
    tail: str = ""
    refused: int = 0
    removed: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def manifest_of(partial: Path) -> Path:
    """The manifest of an unfinished output."""
    return partial.with_name(f"{partial.name}.manifest")


def identity(model: Path, options: Mapping[str, Any], inputs: Sequence[str]) -> dict[str, Any]:
    """What is predicted: to go on, all of it has to be the same.

    Raises:
        BundleError: there is no model in this folder.
    """
    return {
        "version": __version__,
        # The metadata of a model has the digests of all its parts.
        "model": digest_of(find_bundle(model) / METADATA),
        "options": plain(options),
        "inputs": plain(inputs),
    }


def why_not(output: Path | None, format: str, inputs: Sequence[str], order: str) -> str:
    """Why an output could not be gone on with, in a sentence; empty where it could."""
    if order != "input":
        return f"order={order} writes at the end, and cannot be gone on with"
    if output is None:
        return "standard output cannot be gone on with"
    rows = by_name(format, written=True) or by_ending(output.name, written=True)
    if whole := [row.name for row in rows if row.many_files or row.holds == "all"]:
        return f"{whole[0]} is written as a whole, and cannot be gone on with"
    if output.suffix == PACKED:
        return f"{output}: is packed, and cannot be gone on with"
    for path in inputs:
        if path == STDIN or (
            os.path.exists(path) and not os.path.isdir(path) and not is_regular(path)
        ):
            return f"{source_name(path)}: cannot be read again up to where it was left"
    return ""


class Journal:
    """Keeps the manifest of an output, and knows how far an earlier command came.

    Attributes:
        digests: which take note of what is read; None where nobody could go on.
        start: how far an earlier command came.
        unfinished: its output; None where there is none.
    """

    def __init__(self, what: Callable[[], Mapping[str, Any]] | None = None) -> None:
        """`what` is predicted, as plain values; None where nobody could go on with it."""
        self.digests = None if what is None else RunningDigest()
        self.start = self._done = self._saved = Done()
        self.unfinished: Unfinished | None = None
        self._what = what
        self._taken, self._saved_s = 0, time.monotonic()
        self._has_seen_record = False
        self._header: Mapping[str, Any] = {}
        self._manifest: Path | None = None
        self._write: OutputWriter | None = None

    def find(self, output: Path) -> None:
        """Go on with the first unfinished output of the same prediction; without any, begin.

        Raises:
            DataError: there are unfinished outputs, and all are of other predictions.
        """
        what, others = self._what() if self._what else {}, ""
        for path in takewhile(os.path.exists, partial_names(Path(os.path.realpath(output)))):
            header, *done = _lines_of(manifest_of(path)) or [{}]
            differing = [*_differing(what, header)]
            if done and not differing:
                self.start = self._done = self._saved = Done(**done[-1])
                self.unfinished = Unfinished(path, self.start.size, self.start.digest)
                return
            if done and not others:
                others = (
                    f"{path}: was begun by a command that differs in {joined(differing, 'and')}"
                )
        if others:
            raise DataError(f"{others}; remove it, or leave out resume=True, to begin again")

    def begin(self) -> None:
        """Take note of what is predicted as it is now: the model's folder may get another one."""
        self._header = self._what() if self._what else {}

    @property
    def is_behind(self) -> bool:
        """Whether the next chunk is one that an earlier command has answered."""
        return self._taken < self.start.chunks

    def opened(self, write: OutputWriter) -> None:
        """The output is written by this function."""
        if self.digests and write.partial:
            self._write, self._manifest = write, manifest_of(write.partial)

    def gated(self, write: Callable[[str], None]) -> Callable[[str], None]:
        """The function, which writes nothing of what an earlier command has written."""
        return lambda text: None if self.is_behind else write(text)

    def take(self) -> tuple[int, str]:
        """Count a chunk, of those that are taken; its number, and the digest of what was read."""
        self._taken += 1
        return self._taken, self.digests.so_far() if self.digests else ""

    def repeated(
        self, answer: Callable[[], Iterable[Output]], *, by_record: bool
    ) -> Iterator[Output]:
        """What is joined with the rest, of the output of a chunk that was answered before.

        Args:
            answer: annotates it again.
            by_record: whether a format is written from records, whose writer has to see the first
                one again: it decides on the header of a table.
        """
        if by_record and not self._has_seen_record:
            for output in answer():
                self._has_seen_record |= bool(output.items)
                yield output
        elif not by_record and self._taken + 1 == self.start.chunks and self.start.has_begun:
            yield Output("", self.start.tail, (), 0, 0)

    def skip(self) -> None:
        """Count a chunk that an earlier command has answered.

        Raises:
            DataError: it is the last one, and another text was read up to there.
        """
        if self.take() == (self.start.chunks, self.start.read) or self.is_behind:
            return
        self._refuse()

    def require_all(self) -> None:
        """Make sure that the inputs were not shorter than those of the earlier command.

        Raises:
            DataError: they were.
        """
        if self.is_behind:
            self._refuse()

    def _refuse(self) -> None:
        path = self.unfinished.path if self.unfinished else ""
        raise DataError(
            f"{path}: was begun with inputs that have changed since; remove it to begin again"
        )

    def add(self, output: Output, taken: tuple[int, str], *, has_begun: bool) -> None:
        """Take note that the output of a chunk is written; it is saved every few seconds."""
        if self._write is None:
            return
        removed = Removed(dict(self._done.removed))
        removed.merge(output.removed)
        self._done = Done(
            *taken, has_begun, self._write.size, self._write.digest.hexdigest(),
            f"{self._done.tail}{output.text[-4:]}"[-4:], self._done.refused + len(output.refused),
            removed.counts,
        )  # fmt: skip
        if time.monotonic() - self._saved_s > _EVERY_S:
            self.save()

    def save(self) -> bool:
        """Write how far the prediction is done; whether an output can be gone on with."""
        if self._manifest is None or self._write is None or self._done.chunks == 0:
            return False
        new = [] if self._saved.chunks else [self._header]
        with suppress(OSError):  # what the system refuses here it will refuse of the output
            if self._done is not self._saved:
                flush_to_disk(self._write.partial or self._manifest)  # first what it speaks of
                with self._manifest.open("ab" if self._saved.chunks else "wb") as file:
                    # Before each line its end: one that a loss of power has cut is a line too.
                    lines = "".join(f"\n{to_json(each)}" for each in [*new, asdict(self._done)])
                    file.write(lines.encode())
                flush_to_disk(self._manifest)
                self._saved = self._done
        self._saved_s = time.monotonic()
        return self._saved.chunks > 0

    def remove(self) -> None:
        """Remove the manifest: the output is complete, or nothing of it is kept."""
        if self._manifest is not None:
            with suppress(OSError):
                self._manifest.unlink(missing_ok=True)


def _differing(what: Mapping[str, Any], header: Mapping[str, Any]) -> Iterator[str]:
    """In what two predictions differ, in words."""
    yield from (key for key in what if key != "options" and what[key] != header.get(key))
    before = header.get("options", {})
    for name, value in what.get("options", {}).items():
        if value != before.get(name):
            yield f"{name}=..."


def _lines_of(manifest: Path) -> list[dict[str, Any]]:
    """The whole lines of a manifest; none where there is none."""
    found = []
    with suppress(OSError), manifest.open("rb") as file:
        for line in file:
            with suppress(ValueError):
                found.append(json.loads(line))
    return [each for each in found if isinstance(each, dict)]
