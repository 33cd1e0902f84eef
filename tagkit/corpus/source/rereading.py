"""Files that are read several times in place of holding what was read once."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from tagkit.config import DataConfig
from tagkit.corpus.source.digests import Digests
from tagkit.corpus.source.options import source_of
from tagkit.corpus.source.source import Source, is_regular
from tagkit.errors import DataError

_Read = TypeVar("_Read")


def several_times(
    source: Source, data: DataConfig, read: Callable[[Source], Iterator[_Read]]
) -> Iterable[_Read]:
    """What is read of a source, to be taken as often as is wanted.

    A file is read again each time, so that memory does not grow with its length. What a pipe or a
    folder holds is read once and held: a pipe gives it once, and the files of a folder are many.

    Args:
        source: of which nothing has been read but its beginning.
        data: how it is read.
        read: reads a source.
    """
    if is_regular(source.path):
        return _Reread(source.path, data, read)
    return list(read(source))


@dataclass
class _Reread(Generic[_Read]):
    """What is read of a file, which is read anew each time."""

    path: str
    data: DataConfig
    read: Callable[[Source], Iterator[_Read]]
    digest: str | None = None  # of the file, once it has been read to its end

    def __iter__(self) -> Iterator[_Read]:
        digests = Digests()
        yield from self.read(source_of(self.path, self.data, digests))
        digest = digests.of(self.path)
        # What the first reading showed may not be true of what has just been read.
        if self.digest not in (None, digest):
            raise DataError(f"{self.path}: was changed while it was read; start again")
        self.digest = digest
