"""pytest in processes that have imported what takes long, and no module of tagkit.

Each run is a process of its own, forked from a server that has imported torch: hundreds of runs of
one test each would import it hundreds of times.
"""

import contextlib
import gc
import io
import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from command_server import IMPORTED_BEFORE

# Not plugins of pytest: they want to be imported by it.
_IMPORTED_BEFORE = [*IMPORTED_BEFORE, "hypothesis", "pytest"]
# The only plugins that are not pytest's own: to import all that are installed takes as long as most
# of the tests, and pytest warns of packages with plugins that are there before (hypothesis).
_PLUGINS = ["-p", "_hypothesis_pytestplugin", "-p", "xdist.plugin"]


@dataclass(frozen=True, slots=True)
class TestRun:
    """What a run has come to.

    Attributes:
        status: of pytest.
        output: what it has printed.
    """

    __test__ = False  # pytest would take it for a class of tests

    status: int
    output: str


@contextlib.contextmanager
def processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """So many processes at a time, a new one for each run."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_IMPORTED_BEFORE)
    with ProcessPoolExecutor(count, context, max_tasks_per_child=1) as pool:
        yield pool


def run(folder: Path, arguments: Sequence[str]) -> TestRun:
    """pytest with the package `tagkit` that lies in a folder."""
    import pytest

    gc.freeze()  # no search for garbage has to pass what the server has imported
    imported = [name for name in sys.modules if name.partition(".")[0] == "tagkit"]
    assert not imported, imported
    os.environ["PYTHONPATH"] = str(folder)  # of programs that tests start
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.path.insert(0, str(folder))
    os.chdir(folder)
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        status = pytest.main([*_PLUGINS, *arguments])
    tested = Path(sys.modules["tagkit"].__file__ or "")
    assert tested.is_relative_to(folder), tested
    return TestRun(int(status), output.getvalue())
