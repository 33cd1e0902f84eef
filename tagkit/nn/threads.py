"""How many threads compute: one, unless another number was chosen, however many cores there are.

NumPy's BLAS and torch spread a product over all cores from a small size on, and their threads wait
for one another in a loop. On cores that other work uses they wait for as long as that work is
given: on two cores with two other processes, prediction in batches of 8 to 12 sentences took 30 ms
a sentence with NumPy's threads in place of 0.8, and single sentences 44 ms with torch's in place
of 2. On idle cores two threads of NumPy gained 4 %.

A second core is of use to two networks that read the same input (`second_thread`, `read_both`).
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Lock, local
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

_lock = Lock()
_chosen = 1  # threads of torch
_inside = 0  # blocks that are being executed, in all threads of the program
_before = 1  # threads of torch outside of them
_limited: Any = None  # what restores the numbers of threads of BLAS
_own = local()  # `depth`: blocks that this thread is in
_Result = TypeVar("_Result")
# Of the calling thread alone: another one that trains at the same time has its own.
_executor: ContextVar[Executor | None] = ContextVar("executor", default=None)


def choose_threads(count: int) -> None:
    """Let torch have so many threads from now on, within `chosen_threads` and elsewhere."""
    global _chosen, _before
    _chosen = _before = count
    torch.set_num_threads(count)


@cache
def _libraries() -> Any:
    """The BLAS libraries of this process."""
    # As it is imported, threadpoolctl sets a variable of the environment that processes which this
    # one starts would have too.
    name = "KMP_DUPLICATE_LIB_OK"
    before = os.environ.get(name)
    from threadpoolctl import ThreadpoolController  # looks through all libraries that are loaded

    if before is None:
        os.environ.pop(name, None)
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def chosen_threads() -> Iterator[None]:
    """Within it torch has the threads that were chosen, and NumPy's products have one.

    These numbers belong to the process: other threads of the program have them too. So they are
    restored when the last of several blocks ends, which may be in several threads.
    """
    global _inside, _before, _limited
    with _lock:
        if not _inside:
            _limited = _libraries().limit(limits=1)
            _before = torch.get_num_threads()
        _inside += 1  # not before: a limit that failed is none to restore
        torch.set_num_threads(_chosen)
    _own.depth = _depth() + 1
    try:
        yield
    finally:
        _own.depth -= 1
        with _lock:
            _inside -= 1
            if not _inside:
                _limited.restore_original_limits()
                torch.set_num_threads(_before)


@contextmanager
def given_threads(count: int) -> Iterator[None]:
    """`chosen_threads` with so many threads of torch, whatever number was chosen before.

    At the end that number is the chosen one again.
    """
    global _chosen
    with kept_threads():
        _chosen = count
        with chosen_threads():
            yield


@contextmanager
def kept_threads() -> Iterator[None]:
    """At the end torch has the threads that it has now, and the same number is the chosen one."""
    global _chosen, _before
    chosen, before, now = _chosen, _before, torch.get_num_threads()
    try:
        yield
    finally:
        _chosen, _before = chosen, before
        torch.set_num_threads(now)


def _depth() -> int:
    depth: int = getattr(_own, "depth", 0)
    return depth


def _forget_other_threads() -> None:
    """In a process that was forked: of all threads it has the one that forked.

    Blocks of the others never end there, and one of them may have held the lock. The numbers of
    threads are left as they are: one is enough there.
    """
    global _inside, _lock
    _lock, _inside = Lock(), _depth()


if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
    os.register_at_fork(after_in_child=_forget_other_threads)


# Two networks that read the same input at the same time, each on a core of its own.
#
# torch's own threads divide each product among the cores: too little work for each, in networks of
# this size, and other last bits of every sum. The two directions of a bidirectional layer are large
# pieces that do not wait for each other. Each is computed by the same operations on the same
# numbers as in one thread, so the result is the same bit for bit.
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
