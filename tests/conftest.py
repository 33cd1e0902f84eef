"""What all tests share."""

import functools
import gc
import os
import signal
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from stopped_run import Stopped

# One thread is enough for small models; on busy cores several wait for each other for minutes.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Tests start hundreds of processes: each would compile all modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The same examples in every run: a red build is one that somebody has made red.
# tests/e2e/test_laws.py runs the slow profile.
settings.register_profile("tagkit", derandomize=True, deadline=None, max_examples=25)
settings.register_profile("tagkit-slow", settings.get_profile("tagkit"), max_examples=100)
settings.load_profile("tagkit")

CORPORA = Path(__file__).parents[2] / "shared" / "data"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of a GPU are slow ones where it is a pretended one."""
    marked = [item for item in items if item.get_closest_marker("cuda")]
    if marked and not has_gpu():
        for item in marked:
            item.add_marker("slow")


def pytest_collection_finish() -> None:
    """Thousands of tests stay until the end: no search for garbage has to pass them again."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Tests of a GPU have a pretended one where there is none."""
    if not item.get_closest_marker("cuda") or has_gpu():
        return (yield)
    from pretended_gpu import pretended_gpu

    with pretended_gpu():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[object]:
    """All other tests have none: they say what a CPU computes, to the bit."""
    if item.get_closest_marker("cuda") or not has_gpu():
        return (yield)
    import torch

    # Around the fixtures too, some of which train a model for a whole file of tests.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.cuda, "is_available", lambda: False)
        patch.setattr(torch.cuda, "device_count", lambda: 0)
        patch.setenv("CUDA_VISIBLE_DEVICES", "")  # of the processes that they start
        return (yield)


@functools.cache
def has_gpu() -> bool:
    """Whether torch can use a GPU."""
    import torch  # not above: most tests need no torch

    return torch.cuda.is_available()


@pytest.fixture(scope="session", autouse=True)
def default_signals() -> Iterator[None]:
    """Commands that tests start end by signals also where the tests themselves ignore them.

    `nohup` ignores SIGHUP, a shell SIGINT in its background, and what they start inherits that. A
    handler in its place is not inherited.
    """
    ignored = []
    if threading.current_thread() is threading.main_thread():
        numbers = [getattr(signal, name) for name in ("SIGHUP", "SIGINT") if hasattr(signal, name)]
        ignored = [number for number in numbers if signal.getsignal(number) == signal.SIG_IGN]
        for number in ignored:
            signal.signal(number, lambda number, frame: None)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk() -> Iterator[None]:
    """Files of tests are not flushed to the disk: no test survives a loss of power.

    That they would be, and in which order, is proved in tests/storage/test_places.py. What is no
    file (a pipe, a device) is flushed all the same, as it may refuse that.
    """
    flush = os.fsync

    def flush_others(descriptor: int) -> None:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            flush(descriptor)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", flush_others)
        yield


@pytest.fixture(scope="session", autouse=True)
def short_fits() -> Iterator[int]:
    """The weights of word features are found in a few steps: most tests ask only that they are.

    Returns:
        The number of steps that they are found in otherwise.
    """
    from tagkit.nn.feature_crf import feature_crf_fit  # imports torch, as `has_gpu` does

    steps = feature_crf_fit._MAX_STEPS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feature_crf_fit, "_MAX_STEPS", 5)
        yield steps


@pytest.fixture
def full_fits(short_fits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are found in all steps."""
    monkeypatch.setattr("tagkit.nn.feature_crf.feature_crf_fit._MAX_STEPS", short_fits)


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of real corpora, which is not part of the project."""
    if not (CORPORA / "README.md").is_file():
        pytest.skip(f"no corpora for measuring in {CORPORA}")
    return CORPORA


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> "Stopped":
    """A run that was stopped in its second epoch."""
    from stopped_run import stop  # imports torch, which not all tests need

    return stop(tmp_path_factory.mktemp("stopped"))
