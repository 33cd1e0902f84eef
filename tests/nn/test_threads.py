"""The numbers of threads of NumPy's products and of torch, while tagkit computes and after that."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from cell_options import MOSTLY_SLOW, cell_of
from says import refuses
from threadpoolctl import ThreadpoolController
from torch import Tensor

from tagkit.nn.layers.information_flow import watched_flow
from tagkit.nn.layers.recurrent_layer import RecurrentLayer
from tagkit.nn.threads import (
    choose_threads,
    chosen_threads,
    given_threads,
    read_both,
    second_thread,
)


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
        with refuses(OSError, "library"), chosen_threads():
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


MASK = torch.arange(7) < torch.tensor([7, 2, 5, 1])[:, None]
Found = dict[str, Tensor | None]


def layer(cell: str, segment: int = 0) -> RecurrentLayer:
    torch.manual_seed(2)
    return RecurrentLayer(
        **cell_of(cell),
        inputs=3,
        hidden=4,
        bidirectional=True,
        merge="concat",
        segment=segment,
    )


def computed(
    network: RecurrentLayer, *, leaf: bool = True, change: Callable[[Tensor], Tensor] = torch.relu
) -> Found:
    """States of two inputs, which share the network as two pieces of a step do, and gradients."""
    network.zero_grad()
    found: Found = {}
    for number in range(2):
        generator = torch.Generator().manual_seed(number)
        inputs = torch.randn(4, 7, 3, generator=generator).requires_grad_(leaf)
        states, final = network.read(inputs, MASK)
        if states.requires_grad:
            (change(states).sum() + final.square().sum()).backward()
        found |= {f"states {number}": states.detach(), f"inputs {number}": inputs.grad}
    return found | {name: parameter.grad for name, parameter in network.named_parameters()}


def assert_same(found: Found, expected: Found) -> None:
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        other = found[name]
        assert (tensor is None) == (other is None), name
        assert tensor is None or torch.equal(tensor, other), name  # type: ignore[arg-type]


@pytest.mark.parametrize("segment", [0, 3])
@pytest.mark.parametrize("cell", MOSTLY_SLOW)
def test_two_threads_give_the_states_and_gradients_of_one(cell: str, segment: int) -> None:
    network = layer(cell, segment)
    expected = computed(network)
    fixed = {name for name, weights in network.named_parameters() if not weights.requires_grad}
    assert {name for name, tensor in expected.items() if tensor is None} == fixed
    assert all(tensor.any() for tensor in expected.values() if tensor is not None)
    with second_thread():
        assert_same(computed(network), expected)


@pytest.mark.parametrize("segment", [0, 3])
@pytest.mark.parametrize("cell", MOSTLY_SLOW)
def test_they_do_so_where_a_penalty_has_a_part_in_the_gradients(cell: str, segment: int) -> None:
    network, inputs = layer(cell, segment), torch.randn(4, 7, 3)
    if network.forwards.steps() is None or cell.startswith("echo-state"):
        pytest.skip(f"{cell} has no recurrent weights that are trained")

    def gradients() -> Found:
        network.zero_grad()
        with watched_flow() as penalties:
            states = network.forward(inputs, MASK)
        (states.relu().sum() + 0.3 * sum(penalties)).backward()
        return {name: parameter.grad for name, parameter in network.named_parameters()}

    expected = gradients()
    with second_thread():
        assert_same(gradients(), expected)


def test_the_second_direction_is_read_and_gone_back_through_in_a_thread_of_its_own() -> None:
    network = layer("lstm")
    threads: list[tuple[str, str]] = []

    def note(what: str) -> None:
        threads.append((what, threading.current_thread().name.split("_")[0]))

    for name in ("forwards", "backwards"):
        direction = getattr(network, name)

        def hook(_: object, __: object, output: tuple[Tensor, ...], name: str = name) -> None:
            note(name)
            output[0].register_hook(lambda _: note(f"gradient of {name}"))

        direction.register_forward_hook(hook)
    with second_thread():
        network.forward(torch.randn(4, 7, 3), MASK).sum().backward()
    assert dict(threads) == {
        "forwards": "MainThread", "backwards": "second",
        "gradient of forwards": "MainThread", "gradient of backwards": "second",
    }  # fmt: skip
    network.forward(torch.randn(4, 7, 3), MASK)  # outside of the context there is one thread
    assert threads[-2:] == [("forwards", "MainThread"), ("backwards", "MainThread")]
    with second_thread(), second_thread(wanted=False):  # a run of one thread in another's callback
        network.forward(torch.randn(4, 7, 3), MASK)
    assert threads[-2:] == [("forwards", "MainThread"), ("backwards", "MainThread")]


def test_where_no_thread_can_be_started_one_computes_both(monkeypatch: pytest.MonkeyPatch) -> None:
    network = layer("lstm")
    expected = computed(network)

    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    with second_thread():
        assert_same(computed(network), expected)


@pytest.mark.parametrize("frozen", ["inputs", "forwards", "backwards", "all"])
def test_what_is_frozen_gets_no_gradient(frozen: str) -> None:
    network = layer("lstm")
    for name in ("forwards", "backwards"):
        getattr(network, name).requires_grad_(frozen not in (name, "all"))
    leaf = frozen not in ("inputs", "all")
    expected = computed(network, leaf=leaf)
    with second_thread():
        assert_same(computed(network, leaf=leaf), expected)
    assert (expected["inputs 0"] is None) == (frozen in ("inputs", "all"))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_no_graph_is_kept(mode: Callable[[], torch.no_grad]) -> None:
    network, inputs = layer("lstm"), torch.randn(4, 7, 3)
    expected = network(inputs, MASK).detach()
    with second_thread(), mode():
        found = network(inputs, MASK)
        _, back = read_both(torch.relu, torch.sigmoid, inputs, ([], []))
    assert torch.equal(found, expected)
    assert not found.requires_grad
    assert back.is_inference() == (mode is torch.inference_mode)


def test_both_are_computed_in_mixed_precision() -> None:
    inputs, weights = torch.randn(4, 3), torch.randn(2, 3, 5, requires_grad=True)

    def product(number: int) -> Callable[[Tensor], Tensor]:
        return lambda own: own @ weights[number]

    with second_thread(), torch.autocast("cpu", dtype=torch.bfloat16):
        found = read_both(product(0), product(1), inputs, ([], []))
        with torch.no_grad():
            found += read_both(product(0), product(1), inputs, ([], []))
    assert [tensor.dtype for tensor in found] == [torch.bfloat16] * 4


def test_in_mixed_precision_a_weight_that_is_read_again_has_the_gradient_of_one_thread() -> None:
    inputs, weight = torch.randn(4, 3), torch.randn(3, 5, requires_grad=True)
    other = torch.randn(3, 5, requires_grad=True)

    def gradient() -> Tensor:
        begun = threading.Event()

        def first(own: Tensor) -> Tensor:
            products = own @ weight
            begun.set()
            time.sleep(0.05)  # the second function ends, and its thread leaves autocast
            return products + (own * 3) @ weight

        def second(own: Tensor) -> Tensor:
            begun.wait(1)
            return own @ other

        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = read_both(first, second, inputs, ([weight], [other]))
        (of_weight,) = torch.autograd.grad(found[0].float().square().sum(), weight)
        return of_weight

    expected = gradient()
    with second_thread():
        assert torch.equal(gradient(), expected)


@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_is_raised_when_both_have_ended(failing: int) -> None:
    running = threading.Event()
    ended: list[int] = []

    def function(number: int) -> Callable[[Tensor], Tensor]:
        def called(own: Tensor) -> Tensor:
            if number == failing:
                running.wait(10)  # fails while the other one is at work
                raise RuntimeError(f"can't allocate memory for {number}")
            running.set()
            threading.Event().wait(0.05)
            ended.append(number)
            return own

        return called

    inputs = torch.randn(2, requires_grad=True)
    with second_thread():
        with refuses(RuntimeError, failing, "allocate"):
            read_both(function(0), function(1), inputs, ([], []))
        assert ended == [1 - failing]
        assert read_both(torch.relu, torch.tanh, inputs, ([], []))[0].requires_grad
