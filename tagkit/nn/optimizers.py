"""torch's optimizers without its compiler, and the search for the least value of a function."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import unwrap
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def without_compiler(
    optimizer: type[torch.optim.Optimizer],
) -> Callable[..., torch.optim.Optimizer]:
    """The same optimizer, whose methods do not import `torch._dynamo`.

    torch wraps these methods so that torch.compile, which is not used here, leaves them out. Only
    the wrappers import it: more than a second, and 70 MB with sympy. Where a version of torch wraps
    a method in nothing, `unwrap` returns the method itself.
    """
    own: dict[str, Any] = {
        name: unwrap(getattr(optimizer, name))
        for name in ("add_param_group", "state_dict", "load_state_dict", "zero_grad")
    }
    own["step"] = torch.no_grad()(unwrap(optimizer.step))  # the wrapper has turned gradients off
    return type(optimizer.__name__, (optimizer,), own)


_LBFGS = without_compiler(torch.optim.LBFGS)
# Steps that L-BFGS remembers: torch's default, unless that takes more numbers than these (128 MB).
# 3 to 20 are usual (Nocedal and Wright 2006, section 7.2).
_MOST_REMEMBERED, _LEAST_REMEMBERED, _HISTORY = 100, 5, 2**24


class _TimeIsOverError(Exception):
    """Ends a search within a step."""


@dataclass(frozen=True, slots=True)
class Minimized:
    """What a search for the least value did.

    Attributes:
        evaluations: how often the function was computed: once a step, or a few times.
        is_cut: whether the time ended it.
    """

    evaluations: int
    is_cut: bool


class _Known(torch.autograd.Function):
    """A value whose gradient is known together with it."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, slopes: Sequence[Tensor], *weights: Tensor) -> Tensor:
        ctx.slopes = slopes
        return value.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, *(grad * slope for slope in ctx.slopes)


def with_gradient(value: Tensor, slopes: Sequence[Tensor], weights: Sequence[Tensor]) -> Tensor:
    """() `value`, of which `slopes` are the derivatives by `weights`, each of its shape."""
    found: Tensor = _Known.apply(value, slopes, *weights)  # type: ignore[no-untyped-call]
    return found


def minimize(
    weights: Sequence[Tensor], loss: Callable[[], Tensor], max_steps: int, max_seconds: float
) -> Minimized:
    """Change weights until a smooth loss of them is smallest, or for so many steps.

    L-BFGS (Nocedal and Wright 2006, algorithm 7.5): nothing is random.

    Args:
        weights: that have a gradient; those of the first step.
        loss: () of the weights as they are.
        max_steps: in each of which the loss is computed once or a few times.
        max_seconds: after which the weights with the smallest loss until then are kept; infinite
            for a result that does not depend on the clock.
    """
    # Each step that is remembered takes two numbers a weight.
    count = sum(each.numel() for each in weights)
    history = min(_MOST_REMEMBERED, max(_LEAST_REMEMBERED, _HISTORY // (2 * max(1, count))))
    search = _LBFGS(
        weights, max_iter=max_steps, history_size=history, line_search_fn="strong_wolfe"
    )
    ends_s = time.monotonic() + max_seconds
    smallest, best = math.inf, [each.detach().clone() for each in weights]
    evaluations = 0

    def closure() -> Tensor:
        nonlocal smallest, best, evaluations
        if time.monotonic() > ends_s:
            raise _TimeIsOverError
        evaluations += 1
        search.zero_grad()
        value = loss()
        value.backward()  # type: ignore[no-untyped-call]
        # Where there is a limit alone: a step may end in the middle of its line search.
        if max_seconds < math.inf and float(value.detach()) < smallest:
            smallest, best = float(value.detach()), [each.detach().clone() for each in weights]
        return value.detach()  # it is read as a float

    try:
        search.step(closure)  # type: ignore[arg-type]
    except _TimeIsOverError:
        with torch.no_grad():
            for each, kept in zip(weights, best, strict=True):
                each.copy_(kept)
        return Minimized(evaluations, is_cut=True)
    return Minimized(evaluations, is_cut=False)
