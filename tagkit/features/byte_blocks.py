"""Bytes of a file whose parts have any length, read in blocks."""

from typing import BinaryIO

_BLOCK = 2**16  # bytes


class ByteBlocks:
    """A file read in blocks, whatever is taken from it.

    A call of the file for each byte would take minutes for the words of millions of vectors.
    """

    def __init__(self, file: BinaryIO) -> None:
        """`file`: open, and read by nobody else from now on."""
        self._file = file
        self._block, self._at = b"", 0

    def up_to(self, end: bytes, most: int) -> bytes | None:
        """Bytes up to `end`, which is passed over, or to the file's end; None of over `most`."""
        while (found := self._block.find(end, self._at)) < 0:
            if len(self._block) - self._at > most:
                return None
            if not self._read():
                return self.take(len(self._block) - self._at)
        begin, self._at = self._at, found + len(end)
        return self._block[begin:found] if found - begin <= most else None

    def take(self, size: int) -> bytes:
        """So many bytes, or those to the file's end."""
        while len(self._block) - self._at < size and self._read():
            pass
        begin = self._at
        self._at = min(begin + size, len(self._block))
        return self._block[begin : self._at]

    def _read(self) -> bool:
        """Add a block to what is left; False at the file's end."""
        more = self._file.read(_BLOCK)
        self._block, self._at = self._block[self._at :] + more, 0
        return bool(more)
