"""A text as one long row of units, and the segments that a language model learns from.

The text is cut into as many streams as a batch has rows, each a stretch of it, and these into
segments. A step reads the next segment of every stream, whose state goes on from the step before:

    text       a b c d e f g h i j k l
    streams    a b c d e f             a step reads  a b c | d e f
               g h i j k l                           g h i | j k l

Sentences that are independent of each other are an example each, as in the other tasks.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import IO

import numpy as np
import numpy.typing as npt

from tagkit.features import Arrays, Ids
from tagkit.features.batching.batch import Batch, Tokens, Words
from tagkit.features.vocabulary import UNKNOWN_ID

_IDS_AT_ONCE = 1 << 20
UnitIds = npt.NDArray[np.int32]


def unit_ids(
    lines: Iterable[Sequence[str]], ids: Mapping[str, int], unknown: int, end: int
) -> UnitIds:
    """The units of lines as ids, each line with its end, in a file that memory is mapped to.

    The first id is that of an end too: a text begins as if a line had ended before it. The file has
    no name and vanishes with the array: a text may be larger than memory.

    Args:
        lines: units of each.
        ids: of the units that are known.
        unknown: id of all others.
        end: id of the end of a line. A unit in a line that has this id by its name is an unknown
            one: a word "</s>" ends no line.
    """
    ids = {unit: number for unit, number in ids.items() if number != end}
    with tempfile.TemporaryFile(prefix="tagkit-units-") as file:
        total = _write(file, lines, ids, unknown, end)
        # The map keeps a handle of its own.
        return np.memmap(file, np.int32, "r", shape=(total,))


def _write(
    file: IO[bytes], lines: Iterable[Sequence[str]], ids: Mapping[str, int], unknown: int, end: int
) -> int:
    """Write the ids of `unit_ids`, and return their number."""
    waiting = [end]
    total = 0
    for line in lines:
        waiting += [ids.get(unit, unknown) for unit in line]
        waiting.append(end)
        if len(waiting) >= _IDS_AT_ONCE:
            total += file.write(np.array(waiting, np.int32).tobytes())
            waiting.clear()
    total += file.write(np.array(waiting, np.int32).tobytes())
    file.flush()
    return total // np.dtype(np.int32).itemsize


def places_of(ids: UnitIds, unit: int) -> Iterator[Ids]:
    """Where a unit stands in a text, in order, part after part: a text may exceed memory."""
    for start in range(0, len(ids), _IDS_AT_ONCE):
        yield np.flatnonzero(ids[start : start + _IDS_AT_ONCE] == unit).astype(np.int64) + start


@dataclass(frozen=True)
class UnitStream:
    """Units to learn from; the same interface as `Encoded`, an example being a segment.

    Attributes:
        ids: (units + 1,) of the whole text, from `unit_ids`.
        starts: (examples,) place of each example's first unit.
        ends: (examples,) place after its last one.
        streams: (examples,) row of the batch that each continues, and number of its segment there,
            (examples, 2); None where no example continues another.
        delimiter: id of the unit after which the units of an example count, once in each; None
            where all of them count.
    """

    ids: UnitIds
    starts: Ids
    ends: Ids
    streams: Ids | None
    delimiter: int | None = None
    classes: Ids | None = None

    def __len__(self) -> int:
        """Number of examples."""
        return len(self.starts)

    @cached_property
    def lengths(self) -> Ids:
        """(examples,) number of units in each."""
        return self.ends - self.starts

    @property
    def documents(self) -> None:
        """None: an example is continued by what is carried, not by a document."""
        return None

    @property
    def target_count(self) -> int:
        """Number of units that count."""
        if self.delimiter is None:
            return len(self.ids) - 1
        delimiters = np.concatenate([*places_of(self.ids, self.delimiter)])
        return int((self.ends - delimiters - 1).sum())

    def batch(self, indices: Sequence[int] | Ids) -> Batch[Arrays]:
        """The examples at `indices`, in that order.

        Targets: "units" (batch, time) as numbers from 0 on; "places" (units,) of those that count,
        in the batch laid out flat; "streams" (batch, 2) where examples continue others; "classes"
        (batch,) where they have some.
        """
        chosen = np.asarray(indices)
        starts, lengths = self.starts[chosen], self.lengths[chosen]
        steps = np.arange(int(lengths.max()))
        filled = steps < lengths[:, None]  # (batch, time)
        places = np.where(filled, starts[:, None] + steps, 1)
        units = np.where(filled, self.ids[places] - UNKNOWN_ID, 0).astype(np.int64)
        read = self.ids[places - 1]  # at each step the unit before the one that is predicted
        distinct, rows = np.unique(read, return_inverse=True)
        words = Words(
            distinct.astype(np.int64),
            np.zeros(len(distinct), np.int64),
            (),
            np.zeros((len(distinct), 0), np.int64),
        )
        places_of = rows.reshape(filled.shape).astype(np.int64)
        targets: dict[str, Arrays] = {"units": units}
        if self.streams is not None:
            targets["streams"] = self.streams[chosen]
        if self.classes is not None:
            targets["classes"] = self.classes[chosen]
        counted = filled
        if self.delimiter is not None:
            counted = filled & np.maximum.accumulate(read == self.delimiter, axis=1)
        # Found here: a GPU would have to be waited for to tell how many there are.
        targets["places"] = np.flatnonzero(counted)
        return Batch(words, Tokens(places_of, filled, ()), targets)


def streams_of(ids: UnitIds, count: int, segment: int) -> UnitStream:
    """A text as `count` streams at most, read in segments of so many units."""
    total = len(ids) - 1
    width = -(-total // count)
    starts, ends, streams = [], [], []
    for row, begin in enumerate(range(1, total + 1, width)):
        stop = min(begin + width, total + 1)
        own = np.arange(begin, stop, segment)
        starts.append(own)
        ends.append(np.minimum(own + segment, stop))
        streams.append(np.stack((np.full(len(own), row), np.arange(len(own))), axis=1))
    return UnitStream(ids, np.concatenate(starts), np.concatenate(ends), np.concatenate(streams))


def lines_of(ids: UnitIds, classes: Ids | None = None) -> UnitStream:
    """A text whose lines are independent of each other, each an example, with classes or not."""
    # The first id is the end of a line too, so that each line begins after one.
    borders = np.concatenate([*places_of(ids, ids[0])]) + 1
    return UnitStream(ids, borders[:-1], borders[1:], None, classes=classes)


def continuations_of(ids: UnitIds, delimiter: int) -> UnitStream:
    """Independent lines of which the units after the delimiter count, and the end."""
    return replace(lines_of(ids), delimiter=delimiter)


def backwards(ids: UnitIds) -> UnitIds:
    """The same text from its end: the last line comes first, and the last unit of each."""
    return ids[::-1]  # it ends with an end of a line, and begins with one


def steps_of(stream: UnitStream) -> list[Ids]:
    """The examples of each step of an epoch, in the order of the text: the next of each stream."""
    assert stream.streams is not None
    numbers = stream.streams[:, 1]
    order = np.lexsort((stream.streams[:, 0], numbers))
    cuts = np.flatnonzero(np.diff(numbers[order])) + 1
    return [part.astype(np.int64) for part in np.split(order, cuts)]
