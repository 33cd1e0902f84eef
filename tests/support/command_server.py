"""Commands of a shell, in processes that have imported what takes long, and no module of tagkit.

Where hundreds of commands run, tagkit's modules can be among what is imported before.

A shell starts a small client in place of `tagkit`. It hands its arguments, folder, environment and
streams to a server, which has imported torch and forks a process for each command, and ends with
the status of that process.
"""

import atexit
import contextlib
import json
import os
import shlex
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

# Of others than tagkit.
IMPORTED_BEFORE = [
    "filelock", "markupsafe", "numpy", "numpy.random", "pydantic",
    "pydantic.json_schema", "regex", "rich.console", "safetensors.torch", "syntok.segmenter",
    "threadpoolctl", "tomli_w", "torch", "torch.nn.attention", "torchcrf", "typer",
]  # fmt: skip

_STREAMS = ("stdin", "stdout", "stderr")


@contextlib.contextmanager
def forked_commands(folder: Path, *, with_tagkit: bool = False) -> Iterator[str]:
    """The words of a shell that run `tagkit` in a forked process; the server's socket is here.

    Args:
        folder: of the socket.
        with_tagkit: whether the server imports all of tagkit too. A command then takes a tenth of
            the time, and what it imports when is not tried.
    """
    import subprocess

    address = folder / "socket"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(address))
        listening.listen()
        number = listening.fileno()
        server = subprocess.Popen(
            [sys.executable, __file__, "serve", str(number), *["tagkit"] * with_tagkit],
            stdin=subprocess.DEVNULL, pass_fds=[number],
        )  # fmt: skip
    try:
        # Without site-packages, which a client does not need.
        yield shlex.join([sys.executable, "-ES", __file__, str(address)])
    finally:
        server.kill()
        server.wait()


def _serve(number: int, packages: list[str]) -> None:
    """Returns in the process of a command, ready to run it; `packages` are imported before."""
    import gc
    import importlib

    modules = [name for package in packages for name in (package, *_in(package))]
    for name in [*IMPORTED_BEFORE, *modules]:
        importlib.import_module(name)
    gc.freeze()  # no search for garbage has to pass them
    listening = socket.socket(fileno=number)
    while True:
        connection, _ = listening.accept()
        if os.fork():
            connection.close()
            continue
        listening.close()
        if command := os.fork():
            _, status = os.waitpid(command, 0)
            connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())
            os._exit(0)
        _, streams, *_ = socket.recv_fds(connection, 1, 3)
        with connection, connection.makefile("rb") as message:
            arguments, place, environment = json.load(message)
        for number, (name, copy) in enumerate(zip(_STREAMS, streams, strict=True)):
            os.dup2(copy, number)
            os.close(copy)
            # Python has looked at what the server's were, as whether they have a place to seek.
            old = getattr(sys, name)
            new = open(number, old.mode, encoding=old.encoding, errors=old.errors)
            setattr(sys, name, new)
        os.chdir(place)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = ["tagkit", *arguments]
        sys.path[0] = ""  # as of `python -c`
        return


def _in(package: str) -> Iterator[str]:
    """The names of a package's modules, and of those in its packages."""
    import importlib
    import pkgutil

    names = pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}.")
    # A module of this name is a program, which importing it would run.
    return (each.name for each in names if not each.name.endswith(".__main__"))


def _ask(address: str, arguments: list[str]) -> int:
    """The status of a command that a server runs."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        socket.send_fds(connection, [b"."], [0, 1, 2])
        connection.sendall(json.dumps([arguments, os.getcwd(), dict(os.environ)]).encode())
        connection.shutdown(socket.SHUT_WR)
        status = int(connection.recv(16))
    return status if status >= 0 else 128 - status  # as a shell says it of a signal


if __name__ == "__main__":
    if sys.argv[1] != "serve":
        sys.exit(_ask(sys.argv[1], sys.argv[2:]))
    imported_before = sys.argv[3:]
    _serve(int(sys.argv[2]), imported_before)
    from tagkit.cli.main import main

    try:
        main()
    except SystemExit as ended:
        if not imported_before:
            raise
        # Python would take apart the modules of torch and tagkit one by one, for half a second.
        atexit._run_exitfuncs()
        os._exit(ended.code)
