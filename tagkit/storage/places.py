"""Checks of an output path: what is there, and whether it may and can be written; digests.

Commands call them first, so that a typing mistake is reported at once and not after the work. A
check cannot promise that the write will succeed: the disk may fill up or a file may appear in the
meantime. `tagkit.storage.files` therefore handles the same refusals again.
"""

import errno
import hashlib
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tagkit.errors import CheckpointError, DataError, WriteError
from tagkit.wording import reason

EXISTS = "it exists; name another, or replace it with force=True"


def require_place(path: Path, *, replace: bool) -> None:
    """Refuse a path at which a file or folder cannot be created. A folder that is there may stay.

    Raises:
        DataError: its folder is missing or not writable, or a file is there that cannot or must
            not be replaced.
    """
    with refusals(path), suppress(IsADirectoryError):
        destination(path, replace=replace)


def destination(path: Path, *, replace: bool) -> Path | None:
    """Where a file is put, links followed; None for a device or pipe, which is written directly.

    Raises:
        OSError: nothing can be written there, or what is there must not be replaced.
    """
    found = status(path)
    if found and stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder, and the output is one file")
    if own_descriptor(path) is not None or (found and not stat.S_ISREG(found.st_mode)):
        return None
    place = require_folder(path)
    if found and not replace:
        raise FileExistsError(errno.EEXIST, EXISTS)
    # A rename needs rights on the folder only and would replace a read-only file, whose owner has
    # asked for it to be kept.
    if found and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "the file that is there is protected from writing")
    return place


def require_new_folder(path: Path) -> None:
    """Refuse a path at which a new folder cannot be created.

    Raises:
        DataError: something other than an empty folder is there, or it cannot be written.
    """
    with refusals(path):
        if status(path) is None:
            require_folder(path)
        elif not path.is_dir() or any(path.iterdir()):
            raise DataError(
                f"{path}: exists already; name another folder, or remove this one first"
            )


def refuse_input(output: Path, inputs: Iterable[Path]) -> None:
    """Refuse an output that is one of the inputs, by whatever path it is reached.

    Raises:
        DataError: it is.
    """
    # A path that is missing, cannot be read or is none is reported by the one who opens it.
    with suppress(OSError, ValueError):
        found = output.stat()
        if not stat.S_ISREG(found.st_mode) or own_descriptor(output) is not None:
            return
        for path in inputs:
            with suppress(OSError, ValueError):
                # Device and inode, not the path: links, hard links, ./x and bind mounts are found.
                if os.path.samestat(found, path.stat()):
                    same = "" if str(path) == str(output) else f" ({path})"
                    raise DataError(
                        f"{output}: is an input{same}, and would be lost; name another file"
                    )


def refuse_input_as_standard_output(inputs: Iterable[Path]) -> None:
    """Refuse an input into which a shell writes standard output, as of `> FILE` and `>> FILE`.

    The first has emptied it, and the second would alter it while it is read.

    Raises:
        DataError: there is one.
    """
    try:
        written = os.fstat(sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):  # closed, or none of the system's
        return
    for path in inputs if stat.S_ISREG(written.st_mode) else ():
        with suppress(OSError):
            if os.path.samestat(written, path.stat()):
                raise DataError(
                    f"{path}: is an input, and standard output is written into it; name another "
                    "file there. What > FILE names, the shell has emptied"
                )


def refuse_folder_of_input(output: Path, inputs: Iterable[Path]) -> None:
    """Refuse an output folder that holds one of the inputs.

    Otherwise the message that it exists would advise the user to remove it, input and all.

    Raises:
        DataError: it does.
    """
    folder = os.path.realpath(output)
    for path in inputs:
        if Path(os.path.realpath(path)).is_relative_to(folder):
            raise DataError(f"{output}: holds {path}, which is read: name another folder")


def require_name(output: str, what: str) -> None:
    """Refuse an empty name, such as a shell makes of an unset variable; Path("") would mean ".".

    Raises:
        DataError: the name is empty; the message begins with `what`, the argument it was given for.
    """
    if not output.strip():
        raise DataError(f"{what}: expected a file or folder, found an empty name")


def require_file_name(output: str) -> None:
    """Refuse names that say that an output is no file: that of a folder, or of standard output.

    Raises:
        DataError: it ends in a slash, which a `Path` would no longer show, or is "-".
    """
    if output == "-":
        raise DataError("-: expected the name of a file, found that of standard output")
    if output.endswith(("/", os.sep)):
        raise DataError(
            f"{output}: cannot be written: it ends in a slash, and the output is one file"
        )


def refuse_inside(output: Path, model: Path) -> None:
    """Refuse an output that lies in the folder of the model, whose digests it would invalidate.

    Raises:
        DataError: it does.
    """
    place = Path(os.path.realpath(output))
    if place.is_relative_to(os.path.realpath(model)):
        raise DataError(f"{output}: lies in the model's folder, {model}: name a file elsewhere")


def require_folder(path: Path) -> Path:
    """The path, links followed, of a file or folder that can be created there.

    Raises:
        OSError: its folder is missing or not writable; with that folder in its text.
    """
    place = Path(os.path.realpath(path))
    folder = place.parent
    if not folder.exists():
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {folder}")
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, f"{folder} is not a folder")
    # To create a name takes both rights on the folder: to write it, and to search it.
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, f"nothing can be written in the folder {folder}")
    return place


def status(path: Path) -> os.stat_result | None:
    """The status of what is at a path, links followed; None if nothing is there."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None
    except ValueError:
        raise OSError(errno.EINVAL, "it holds a NUL character, which no name can") from None


def own_descriptor(path: Path) -> int | None:
    """The descriptor of this process that a path such as /dev/stdout stands for."""
    # Link by link: realpath of /dev/stdout would end at the terminal or file behind the descriptor,
    # and lose its number. 40 is Linux's own limit of links in a path (path_resolution(7)).
    for _ in range(40):
        folder = os.path.realpath(path.parent)
        own = folder in ("/dev/fd", f"/proc/{os.getpid()}/fd")
        if own and re.fullmatch("[0-9]{1,9}", path.name):
            return int(path.name)
        if not path.is_symlink():
            return None
        path = Path(folder) / os.readlink(path)
    return None


@contextmanager
def refusals(path: Path | None) -> Iterator[None]:
    """Report an error of the file system as a DataError; a `path` of None is standard output."""
    try:
        yield
    except OSError as error:
        if path is None and isinstance(error, BrokenPipeError):  # `| head`: not a mistake
            raise
        name = "standard output" if path is None else str(path)
        raise DataError(f"{name}: cannot be written: {reason(error)}") from None


_NO_FSYNC = (errno.EINVAL, errno.EBADF, errno.ENOTSUP)
# What was learnt until then is in a checkpoint.
RESUME_AFTER = "correct this, and resume the run with resume=True"


def flush_to_disk(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names, is on the disk.

    write(2) and rename(2) change the page cache only, and fsync(2) of a file does not include its
    entry in the folder: the folder needs an fsync of its own (Linux manual, fsync(2)).
    """
    if os.name == "nt" and path.is_dir():  # Windows cannot open a folder as a file
        return
    # fsync accepts a read-only descriptor on POSIX. Windows implements it by FlushFileBuffers,
    # which fails without the right to write.
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems know no fsync of a folder; what was renamed is in its place by now.
        if error.errno not in _NO_FSYNC or not path.is_dir():
            raise
    finally:
        os.close(descriptor)


def digest_of_bytes(content: bytes) -> str:
    """SHA-256 in hexadecimal: of the parts of models and checkpoints, and of corpora."""
    return hashlib.sha256(content).hexdigest()


def digest_of(path: Path) -> str | None:
    """SHA-256 of a file, or of all names and files of a folder, in hexadecimal; else None.

    Raises:
        DataError: the file, or one in the folder, cannot be read.
    """
    if os.path.isdir(path):
        # Sorted, because the order of a directory's entries depends on the file system; and with
        # the names, because a corpus of folders has its classes there.
        parts = []
        for file in sorted(file for file in path.rglob("*") if os.path.isfile(file)):
            name = os.fsencode(file.relative_to(path).as_posix())  # a name need not be UTF-8
            parts.append(name + f" {digest_of(file)}\n".encode())
        return digest_of_bytes(b"".join(parts))
    # A named pipe or standard input has no digest: reading it here would take its content away
    # from the reader of the corpus.
    if not os.path.isfile(path):
        return None
    try:
        with path.open("rb") as content:  # in blocks: a corpus may be larger than the memory
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {reason(error)}") from None


def cannot_write(path: Path, error: OSError) -> CheckpointError:
    """The error of a run that could not write a file, with the remedy."""
    # Nothing is lost: the last checkpoint was renamed into place before this write began.
    problem = f"{path}: cannot be written: {reason(error)}"
    return WriteError(problem, RESUME_AFTER)


@contextmanager
def write_remedy(remedy: str) -> Iterator[None]:
    """Have errors of `cannot_write` name this remedy, where a run is a part of something else."""
    try:
        yield
    except WriteError as error:
        raise WriteError(error.problem, remedy) from None
