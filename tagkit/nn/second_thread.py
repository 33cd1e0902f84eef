"""Two networks that read the same input at the same time, each on a core of its own.

torch's own threads divide each product among the cores: too little work for each, in networks of
this size, and other last bits of every sum. The two directions of a bidirectional layer are large
pieces that do not wait for each other. Each is computed by the same operations on the same numbers
as in one thread, so the result is the same bit for bit.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

_Result = TypeVar("_Result")

# Of the calling thread alone: another one that trains at the same time has its own.
_executor: ContextVar[Executor | None] = ContextVar("executor", default=None)


@contextmanager
def second_thread(*, wanted: bool = True) -> Iterator[None]:
    """Within this context `read_both` computes its second network in a thread of its own.

    Where the system has no thread left, both are computed in one, with the same result.

    Args:
        wanted: False for one thread also within another context, as of a run whose callback trains.
    """
    # Without a call the executor has no thread.
    with ThreadPoolExecutor(1, "second") as executor:
        token = _executor.set(executor if wanted and _starts(executor) else None)
        try:
            yield
        finally:
            _executor.reset(token)


def _starts(executor: Executor) -> bool:
    """Whether the executor has its thread, which it starts with its first call."""
    try:
        executor.submit(int)
    except RuntimeError:  # a container's limit, or too little memory
        return False
    return True


def read_both(
    first: Callable[[Tensor], Tensor],
    second: Callable[[Tensor], Tensor],
    inputs: Tensor,
    parameters: Sequence[Sequence[Tensor]],
    *,
    shared: bool = False,
) -> tuple[Tensor, Tensor]:
    """What two functions return for the same input, at the same time where that is possible.

    Args:
        first: of a tensor; draws no random numbers.
        second: likewise.
        inputs: of both.
        parameters: that the first function reads, and those of the second; none in common.
        shared: whether something else reads parameters too. A gradient then has a summand more, and
            the order of its sum must be the same with a second thread as without one: the
            function's own part is summed first.
    """
    executor = _executor.get()
    # In mixed precision one after the other. torch keeps the weights that it has cast to 16 bits
    # for all threads together, and forgets all of them when any thread leaves autocast. Whether a
    # weight is then cast again depends on the order of the threads, and so does the rounding of its
    # gradient.
    mixed = torch.is_autocast_enabled("cpu")
    plain = executor is None and not (shared and torch.is_grad_enabled())
    if plain or inputs.device.type != "cpu" or mixed:
        return first(inputs), second(inputs)
    if not torch.is_grad_enabled():
        return _at_once(executor, _with_modes(first), _with_modes(second), inputs, inputs)
    # Parameters are arguments, since gradients are returned for arguments alone.
    of_first, of_second = parameters
    found: tuple[Tensor, Tensor] = _Both.apply(  # type: ignore[no-untyped-call]
        executor, (first, second), len(of_first), inputs, *of_first, *of_second
    )
    return found


class _Both(torch.autograd.Function):
    """`read_both` with gradients.

    torch's engine goes back in the thread that calls it, one operation after the other. So each
    function gets a graph of its own, which its thread goes back through.
    """

    @staticmethod
    def forward(
        ctx: Any,
        executor: Executor | None,
        functions: tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]],
        count: int,
        inputs: Tensor,
        *parameters: Tensor,
    ) -> tuple[Tensor, Tensor]:
        def graph(function: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor]:
            with torch.enable_grad():
                own = inputs.detach().requires_grad_(ctx.needs_input_grad[3])
                return own, function(own)

        graphs = _at_once(executor, _with_modes(graph), _with_modes(graph), *functions)
        ctx.executor, ctx.graphs = executor, graphs
        ctx.parameters = parameters[:count], parameters[count:]
        return graphs[0][1].detach(), graphs[1][1].detach()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        graphs, ctx.graphs = ctx.graphs, None  # as torch frees what a backward pass has used

        def back(number: int) -> list[Tensor | None]:
            inputs, outputs = graphs[number]
            sources = [inputs, *ctx.parameters[number]]
            wanted = [source for source in sources if source.requires_grad]
            if not wanted:
                return [None] * len(sources)
            # The gradient of this sum by the outputs is the one that has arrived, bit for bit.
            # Given gradients, torch would import sympy, a second and 60 MB, to compare shapes.
            with torch.enable_grad():
                total = (outputs * gradients[number]).sum()
            found = iter(torch.autograd.grad(total, wanted))
            return [next(found) if source.requires_grad else None for source in sources]

        first, second = _at_once(ctx.executor, back, back, 0, 1)
        # Two summands: their order does not matter.
        inputs = None if first[0] is None or second[0] is None else first[0] + second[0]
        return (None, None, None, inputs, *first[1:], *second[1:])


def _at_once(
    executor: Executor | None,
    first: Callable[[Any], _Result],
    second: Callable[[Any], _Result],
    of_first: Any,
    of_second: Any,
) -> tuple[_Result, _Result]:
    """The results of two functions, the second in the executor's thread, if there is one."""
    if executor is None:
        return first(of_first), second(of_second)
    pending: Future[_Result] = executor.submit(second, of_second)
    try:
        found = first(of_first)
    finally:
        # Also after an error, such as one of too little memory: the next attempt at the step must
        # not run beside the rest of this one.
        pending.exception()
    return found, pending.result()


def _with_modes(function: Callable[[Any], _Result]) -> Callable[[Any], _Result]:
    """`function` in any thread as in this one: torch keeps such modes for each thread."""
    gradients, inference = torch.is_grad_enabled(), torch.is_inference_mode_enabled()

    def in_modes(argument: Any) -> _Result:
        with torch.inference_mode(inference), torch.set_grad_enabled(gradients):
            return function(argument)

    return in_modes
