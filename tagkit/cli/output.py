"""Where a command's data goes: standard output, or a file that is whole or not there."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from tagkit.errors import DataError


@contextmanager
def open_output(path: Path | None) -> Iterator[Callable[[str], None]]:
    """A function that writes text, in UTF-8, to a file or, for None, to standard output.

    A file is written beside its place and renamed into it at the end; what goes wrong before that
    leaves it as it was. What goes to standard output is there at once.

    Raises:
        DataError: the file cannot be written.
    """
    if path is None:
        # Bytes, so that the terminal's encoding and line ends do not change the data.
        yield _writer(sys.stdout.buffer)
        return
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield _writer(cast(BinaryIO, file))
        beside.chmod(0o644)  # mkstemp lets nobody else read
        beside.replace(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        beside.unlink(missing_ok=True)


def _writer(file: BinaryIO) -> Callable[[str], None]:
    def write(text: str) -> None:
        file.write(text.encode())
        file.flush()

    return write
