"""Places for outputs: what is there, and whether something can be written there.

All of it is found out before any work is done.
"""

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tagkit.errors import DataError
from tagkit.wording import FORCE, Message, reason

EXISTS = Message("it exists; name another, or replace it with ", FORCE)


def require_place(path: Path, *, replace: bool) -> None:
    """Refuse a place for a file or folder, before any work is done.

    Raises:
        DataError: its folder is missing or cannot be written, or a file is there that cannot be
            or is not to be replaced.
    """
    with refusals(path):
        found = status(path)
        if found is None or stat.S_ISREG(found.st_mode):
            if own_descriptor(path) is None:
                require_folder(path)
                require_replaceable(path, found, replace=replace)


def require_new_folder(path: Path) -> None:
    """Refuse a place for a new folder, before any work is done.

    Raises:
        DataError: something other than an empty folder is there, or it cannot be written.
    """
    with refusals(path):
        if status(path) is None:
            require_folder(path)
        elif not path.is_dir() or any(path.iterdir()):
            raise DataError(f"{path}: is there already. Remove it, or name another folder")


def refuse_input(output: Path, inputs: Iterable[Path]) -> None:
    """Refuse an output that is one of the inputs, whatever the name by which it is reached.

    Raises:
        DataError: it is.
    """
    with suppress(OSError):  # what is not there, or cannot be looked at, is said elsewhere
        found = output.stat()
        if not stat.S_ISREG(found.st_mode) or own_descriptor(output) is not None:
            return
        for path in inputs:
            with suppress(OSError):
                if os.path.samestat(found, path.stat()):
                    same = "" if str(path) == str(output) else f" ({path})"
                    raise DataError(
                        f"{output}: is read{same}, and would be lost: name another file"
                    )


def refuse_folder_of_input(output: Path, inputs: Iterable[Path]) -> None:
    """Refuse an output folder that holds one of the inputs: nobody is to be asked to remove it.

    Raises:
        DataError: it does.
    """
    folder = os.path.realpath(output)
    for path in inputs:
        if Path(os.path.realpath(path)).is_relative_to(folder):
            raise DataError(f"{output}: holds {path}, which is read: name another folder")


def require_name(output: str, what: str) -> None:
    """Refuse an empty name: an unset variable of a shell.

    Raises:
        DataError: the name is empty; `what` in the command line it is for.
    """
    if not output.strip():
        raise DataError(f"{what}: expected a file or folder, found an empty name")


def refuse_inside(output: Path, model: Path) -> None:
    """Refuse an output that lies in the folder of the model that is used.

    Raises:
        DataError: it does.
    """
    place = Path(os.path.realpath(output))
    if place.is_relative_to(os.path.realpath(model)):
        raise DataError(f"{output}: lies in the model's folder, {model}: name a file elsewhere")


def require_folder(path: Path) -> None:
    """Refuse a file or folder for which there is no folder, or none that can be written."""
    folder = Path(os.path.realpath(path)).parent
    if not folder.exists():
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {folder}")
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, f"{folder} is not a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, f"nothing can be written in the folder {folder}")


def require_replaceable(path: Path, found: os.stat_result | None, *, replace: bool) -> None:
    """Refuse a file that is not to be replaced, or is protected."""
    if found is not None and not replace:
        raise FileExistsError(errno.EEXIST, EXISTS)
    if found is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "the file that is there is protected from writing")


def status(path: Path) -> os.stat_result | None:
    """What is at a place, behind links; None where nothing is."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None
    except ValueError:
        raise OSError(errno.EINVAL, "it holds a NUL character, which no name can") from None


def own_descriptor(path: Path) -> int | None:
    """The descriptor of this process that a path such as /dev/stdout stands for."""
    for _ in range(40):  # links, as many as Linux follows
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
    """An error of the file system, as one that a person can read; None is standard output."""
    try:
        yield
    except OSError as error:
        if path is None and isinstance(error, BrokenPipeError):
            raise
        name = "standard output" if path is None else str(path)
        raise DataError(Message(f"{name}: cannot be written: ", reason(error))) from None
