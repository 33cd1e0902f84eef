"""A GPU for machines without one: tensors on the CPU, and the rules of a device of their own.

Within `pretended_gpu()` torch has one GPU. Tensors that go there compute what a CPU computes, but

- a tensor of the CPU beside one of the GPU is an error, but for numbers (tensors without
  dimensions), indices, and copies,
- NumPy does not see them: they have to be brought back by `cpu()` before,
- torch's recurrent layers want their first states contiguous, as cuDNN does.

So a test that passes here shows that no tensor is left behind on the other device, and that the
ways that only GPUs take give the numbers of a CPU. What it cannot show: kernels of CUDA and cuDNN,
the order of their sums, their memory and speed; and autocast, which leaves these tensors alone.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode

GPU, CPU = torch.device("cuda:0"), torch.device("cpu")
# What torch itself takes the tensors for: it asks for no driver of this device, and its engine
# computes their gradients in the thread that asks for them.
_UNKNOWN = torch.device("meta")

_ATEN = torch.ops.aten
_INDEXED = {_ATEN.index.Tensor, _ATEN.index_put.default, _ATEN.index_put_.default,
            _ATEN._index_put_impl_.default}  # fmt: skip
_COPIES = {_ATEN.copy_.default, _ATEN._to_copy.default}
_MADE_OF_DATA = {torch.tensor, torch.as_tensor, torch.asarray}
_RECURRENT = {torch._VF.lstm, torch._VF.gru, torch._VF.rnn_tanh, torch._VF.rnn_relu}


class OnGpu(Tensor):
    """A tensor on the pretended GPU.

    Attributes:
        inner: the same numbers on the CPU.
    """

    inner: Tensor
    # Only `_Functions` sees calls of functions: there is no second way around this class.
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inner: Tensor) -> "OnGpu":
        """The same numbers on the GPU."""
        made: OnGpu = torch.Tensor._make_wrapper_subclass(
            cls,
            inner.size(),
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            layout=inner.layout,
            device=_UNKNOWN,
            requires_grad=inner.requires_grad,
        )
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        """A call outside of `pretended_gpu()`, as of a gradient that is computed later."""
        return _computed(func, args, kwargs or {})

    # Properties of torch.Tensor, which would answer for `_UNKNOWN`.
    device = property(lambda self: GPU)  # type: ignore[assignment]
    is_cuda = property(lambda self: True)  # type: ignore[assignment]
    is_cpu = property(lambda self: False)  # type: ignore[assignment]
    is_meta = property(lambda self: False)  # type: ignore[assignment]

    def numpy(self, *args: object, **kwargs: object) -> Any:
        """No array, as of every GPU.

        Raises:
            TypeError: always.
        """
        raise TypeError("can't convert cuda:0 device type tensor to numpy; use Tensor.cpu() first")

    __array__ = numpy

    def tolist(self) -> Any:
        """Numbers, which torch brings back by itself."""
        return self.inner.tolist()

    def __repr__(self) -> str:  # type: ignore[override]
        """The numbers."""
        return f"OnGpu({self.inner})"


def _is_gpu(device: object) -> bool:
    return device is not None and torch.device(device).type in (GPU.type, _UNKNOWN.type)  # type: ignore[arg-type]


def _moved(
    tensor: Tensor, device: object, dtype: torch.dtype | None = None, *, copy: bool = False
) -> Tensor:
    """A tensor on another device, or itself where it is there already; with a gradient."""
    there = isinstance(tensor, OnGpu) if device is None else _is_gpu(device)
    if there == isinstance(tensor, OnGpu) and dtype in (None, tensor.dtype) and not copy:
        return tensor
    moved: Tensor = _ATEN._to_copy(tensor, dtype=dtype, device=_UNKNOWN if there else CPU)
    return moved


def _refuse_mixed(func: Any, args: tuple[Any, ...], tensors: list[Tensor]) -> None:
    """Raise where tensors of both devices meet.

    Raises:
        RuntimeError: they do.
    """
    if func in _COPIES:
        return
    if func in _INDEXED and isinstance(args[0], OnGpu):
        tensors = [x for x in (args[0], *args[2:3]) if isinstance(x, Tensor)]  # not the indices
    left = [x for x in tensors if not isinstance(x, OnGpu) and x.dim()]
    if left and any(isinstance(x, OnGpu) for x in tensors):
        found = ", ".join(str(tuple(x.shape)) for x in left)
        raise RuntimeError(
            f"{func}: expected all tensors to be on the same device, found {found} on the CPU"
        )


# Arguments and results of operators are tensors, numbers, and lists and tuples of these. torch's
# own walk knows many more types, and takes most of the time of a small operator.


def _tensors_in(values: Iterable[Any]) -> Iterator[Tensor]:
    """The tensors among arguments."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors_in(value)


def _on_cpu(value: Any) -> Any:
    """The same argument with the numbers that its tensors hold."""
    if isinstance(value, OnGpu):
        return value.inner
    return type(value)(map(_on_cpu, value)) if type(value) in (list, tuple) else value


def _on_gpu(value: Any) -> Any:
    """The same result with its tensors on the GPU."""
    if isinstance(value, Tensor):
        return OnGpu(value)
    return type(value)(map(_on_gpu, value)) if type(value) in (list, tuple) else value


def _computed(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
    """What an operator of torch gives, computed on the CPU."""
    tensors = [*_tensors_in(args), *_tensors_in(kwargs.values())]
    there = any(isinstance(x, OnGpu) for x in tensors)
    _refuse_mixed(func, args, tensors)
    to_gpu = there
    if func is _ATEN.copy_.default:
        to_gpu = isinstance(args[0], OnGpu)
    if kwargs.get("device") is not None:
        to_gpu = _is_gpu(kwargs["device"])
        kwargs = {**kwargs, "device": CPU}
    plain_args = _on_cpu(args)
    found = func(*plain_args, **{name: _on_cpu(value) for name, value in kwargs.items()})
    if func is _ATEN._to_copy.default and found is plain_args[0]:
        found = found.clone()
    if to_gpu:
        found = _on_gpu(found)
    if there and torch.Tag.inplace_view in func.tags:
        with no_dispatch():  # sizes and strides of the tensor that torch sees
            func(*args, **kwargs)
    return _with_written(func, args, kwargs, found)


@cache
def _written(func: Any) -> tuple[tuple[int, int, str], ...]:
    """Of each result that is an argument written into: its place, the argument's, and its name."""
    return tuple(
        (place, number, argument.name)
        for place, one in enumerate(func._schema.returns)
        if one.alias_info is not None and one.alias_info.is_write
        for number, argument in enumerate(func._schema.arguments)
        if argument.alias_info is not None
        and argument.alias_info.is_write
        and argument.alias_info.before_set == one.alias_info.before_set
    )


def _with_written(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], found: Any) -> object:
    """The results, in which a tensor that was written into is the one that was passed."""
    if not (written := _written(func)):
        return found
    several = len(func._schema.returns) > 1
    results = list(found) if several else [found]
    for place, number, name in written:
        results[place] = kwargs[name] if name in kwargs else args[number]
    return type(found)(results) if several else results[0]


class _Operators(TorchDispatchMode):
    """Operators, of which some make tensors on the GPU from nothing."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: nothing is compiled here, and to say so at each operator takes a tenth of a test."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        """Computed on the CPU."""
        return _computed(func, args, kwargs or {})


class _Functions(TorchFunctionMode):
    """Functions that would look for a driver, and rules that operators do not know."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        """The function, but for what it does with the name of the device."""
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.to:
            return _to(*args, **kwargs)
        if func is torch.Tensor.cuda:
            return _moved(args[0], GPU)
        if func is torch.Tensor.new_tensor and isinstance(args[0], OnGpu):
            return _moved(args[0].inner.new_tensor(*args[1:], **kwargs), GPU)
        if func in (torch.Tensor.__getitem__, torch.Tensor.__setitem__):
            args = (args[0], _as_tensors(args[1]), *args[2:])
        if func in _RECURRENT:
            _refuse_strided(args[1])
        if _is_gpu(kwargs.get("device")):
            if func in _MADE_OF_DATA:
                del kwargs["device"]
                return _moved(func(*args, **kwargs), GPU)
            kwargs["device"] = _UNKNOWN
        return func(*args, **kwargs)


def _as_tensors(index: Any) -> Any:
    """An index without lists, which torch would make tensors of where no operator sees it."""
    if isinstance(index, tuple):
        return tuple(map(_as_tensors, index))
    return torch.tensor(index) if isinstance(index, list) else index


def _to(tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """`Tensor.to`, of which each argument may be a device, a type or another tensor."""
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    for one in (*args, kwargs.get("other")):
        if isinstance(one, Tensor):
            device, dtype = one.device, one.dtype
        elif isinstance(one, torch.dtype):
            dtype = one
        elif isinstance(one, torch.device | str):
            device = one
    return _moved(tensor, device, dtype, copy=kwargs.get("copy", False))


def _refuse_strided(states: Tensor | tuple[Tensor, ...]) -> None:
    """Raise as cuDNN does.

    Raises:
        RuntimeError: first states of a recurrent layer are not contiguous.
    """
    for state in states if isinstance(states, tuple) else (states,):
        if isinstance(state, OnGpu) and not state.is_contiguous():
            raise RuntimeError("rnn: hx is not contiguous")


def _inference_mode(mode: bool) -> AbstractContextManager[object]:
    """In its place no gradients: wrapped tensors cannot lose their counters of versions."""
    return torch.no_grad() if mode else nullcontext()


@contextmanager
def pretended_gpu() -> Iterator[None]:
    """One GPU, in this thread."""
    answers: dict[str, Callable[..., object]] = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "is_bf16_supported": lambda *_, **__: True,
        "get_rng_state": lambda device=None: torch.get_rng_state(),
        "set_rng_state": lambda state, device=None: torch.set_rng_state(state),
        "empty_cache": lambda: None,
        "synchronize": lambda device=None: None,
        "is_current_stream_capturing": lambda: False,
        "_lazy_init": lambda: None,
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, answer in answers.items():
            patch.setattr(torch.cuda, name, answer)
        patch.setattr(torch.backends.cudnn, "is_acceptable", lambda tensor: False)
        patch.setattr(torch._C, "_InferenceMode", _inference_mode)
        with _Functions(), _Operators():
            yield
