"""The numbers of threads of NumPy's products and of torch, while tagkit computes and after that."""

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from threadpoolctl import ThreadpoolController

from tagkit.nn.threads import choose_threads, chosen_threads, given_threads


def threads() -> list[int]:
    """Of each BLAS library that is loaded; NumPy's at least."""
    return [
        library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()
    ]


@pytest.fixture
def two_threads() -> Iterator[None]:
    """Every BLAS library has two threads."""
    np.ones((2, 2)) @ np.ones((2, 2))
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        if not threads() or set(threads()) != {2}:
            pytest.skip("NumPy's BLAS has one thread here, or none that can be limited")
        yield


@pytest.mark.usefixtures("two_threads")
def test_products_have_one_thread_within_and_as_many_as_before_after() -> None:
    with chosen_threads():
        assert set(threads()) == {1}
    assert set(threads()) == {2}


@pytest.mark.usefixtures("two_threads")
def test_the_last_block_to_end_restores_the_number_whichever_began_first() -> None:
    first, second = chosen_threads(), chosen_threads()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(threads()) == {1}
    second.__exit__(None, None, None)
    assert set(threads()) == {2}


@pytest.mark.usefixtures("two_threads")
def test_an_error_restores_the_number() -> None:
    with pytest.raises(ZeroDivisionError), chosen_threads():
        1 / 0  # noqa: B018
    assert set(threads()) == {2}


@pytest.fixture
def torch_threads() -> Iterator[None]:
    """At the end torch has the threads that it had, and one is chosen."""
    before = torch.get_num_threads()
    yield
    choose_threads(1)
    torch.set_num_threads(before)


@pytest.mark.usefixtures("torch_threads")
def test_torch_has_one_thread_within_unless_another_number_was_chosen() -> None:
    choose_threads(1)
    torch.set_num_threads(3)  # as a program may do, or as torch begins
    with chosen_threads():
        assert torch.get_num_threads() == 1
        with chosen_threads():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 3
    choose_threads(2)
    with chosen_threads():
        assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("torch_threads")
def test_a_given_number_holds_within_and_for_no_block_around_or_after_it() -> None:
    choose_threads(2)
    torch.set_num_threads(4)
    with given_threads(3):
        assert torch.get_num_threads() == 3
        with given_threads(1), chosen_threads():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 3
        with pytest.raises(ZeroDivisionError), given_threads(5):
            1 / 0  # noqa: B018
        assert torch.get_num_threads() == 3
    assert torch.get_num_threads() == 4
    with chosen_threads():
        assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_a_limit_that_cannot_be_set_is_tried_again_by_the_next_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails() -> None:
        raise OSError("no such library")

    with monkeypatch.context() as patched:
        patched.setattr("tagkit.nn.threads._libraries", fails)
        with pytest.raises(OSError, match="no such library"), chosen_threads():
            pass
    with chosen_threads():
        assert set(threads()) == {1}
    assert set(threads()) == {2}


@pytest.mark.slow
def test_the_environment_is_left_as_it_was() -> None:
    program = (
        "import os; before = dict(os.environ)\n"
        "from tagkit.nn.threads import chosen_threads\n"
        "with chosen_threads(): pass\n"
        "assert dict(os.environ) == before, {*os.environ} ^ {*before}"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
