"""The options of a command as one dataclass, and what can be asked of all its fields.

An option is one annotated field. typer reads options from the signature of a function, so that
`takes_options` gives a command one with a parameter for each field:

    @dataclass(frozen=True, kw_only=True)
    class TrainOptions:
        reading: Reading  # a group that several commands have: its fields stand in its place
        seed: Annotated[int | None, typer.Option(metavar="N"), Sets("train.seed")] = None

    @takes_options
    def train_command(options: TrainOptions) -> None: ...
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import Field, dataclass, fields, is_dataclass
from functools import wraps
from typing import Any, TypeVar

from typer.models import OptionInfo

_Mark = TypeVar("_Mark")


@dataclass(frozen=True)
class Sets:
    """In the annotation of a field: the option of the configuration that it sets.

    Attributes:
        name: its dotted name.
        read: makes its value of what was typed.
    """

    name: str
    read: Callable[[Any], Any] = lambda typed: typed


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with the fields of its options as parameters of its own."""

    @wraps(command)
    def called(**given: Any) -> None:
        command(**_arguments(command, given))

    parameters = [*_parameters(command)]
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return called


def flags_by_name(command: Callable[..., Any]) -> dict[str, str]:
    """The flag of each option of a command, by its field and by the option that it sets."""
    found = {}
    for each in inspect.signature(command).parameters.values():
        if flag := _flag(each.name, each.annotation):
            found[each.name] = flag
            found |= {mark.name: flag for mark in _marks(each.annotation, Sets)}
    return found


def flags_of(options: Any) -> dict[str, Any]:
    """What a command's options set in the configuration, by dotted name; None if not given."""
    return {
        mark.name: None if typed is None else mark.read(typed)
        for each, typed in _values(options)
        for mark in _marks(each.type, Sets)
    }


def given_flags(options: Any) -> dict[str, bool]:
    """For each option, by its flag, whether it has another value than its default."""
    return {
        flag: typed != each.default
        for each, typed in _values(options)
        if (flag := _flag(each.name, each.type))
    }


def _flag(name: str, annotation: Any) -> str:
    """The flag of a field, the short one where it has two; empty of an argument without one."""
    for mark in _marks(annotation, OptionInfo):
        # typer has the first name that is given in the place of a default.
        named = [each for each in (mark.default, *(mark.param_decls or ())) if each is not ...]
        return str(named[-1]) if named else f"--{name.replace('_', '-')}"
    return ""


def _marks(annotation: Any, kind: type[_Mark]) -> list[_Mark]:
    return [mark for mark in getattr(annotation, "__metadata__", ()) if isinstance(mark, kind)]


def _parameters(function: Callable[..., Any]) -> Iterator[inspect.Parameter]:
    """Those of a command, or of a class of options, whose place its fields take."""
    for each in inspect.signature(function).parameters.values():
        if _is_group(each.annotation):
            yield from _parameters(each.annotation)
            continue
        for mark in _marks(each.annotation, OptionInfo):
            if mark.default is ... and each.annotation.__origin__ is bool:
                # typer would add --no-NAME
                mark.param_decls = (_flag(each.name, each.annotation),)
        # By name: one without a default may follow one that has it.
        yield each.replace(kind=inspect.Parameter.KEYWORD_ONLY)


def _arguments(function: Callable[..., Any], given: dict[str, Any]) -> dict[str, Any]:
    """Those of a command, or of a class of options, from values by the names of fields."""
    kinds = {each.name: each.annotation for each in inspect.signature(function).parameters.values()}
    return {
        name: kind(**_arguments(kind, given)) if _is_group(kind) else given[name]
        for name, kind in kinds.items()
    }


def _is_group(annotation: Any) -> bool:  # for a type checker it stays something to be called
    return is_dataclass(annotation)


def _values(options: Any) -> Iterator[tuple[Field[Any], Any]]:
    """The fields with their values, those of a group in its place."""
    for each in fields(options):
        value = getattr(options, each.name)
        if is_dataclass(value):
            yield from _values(value)
        else:
            yield each, value
