"""JSON read and written as RFC 8259 has it: without NaN, infinity and unlimited depth.

`plain` makes records (dataclasses) into values that JSON gives back equal.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import fields
from importlib import import_module
from pathlib import PurePath
from typing import Any

INTERNAL = "internal"  # key in the metadata of a field that means nothing outside this process
MAX_DEPTH = 32  # of values that are printed again; metadata.json has five levels


def to_json(value: Any, *, indent: int | None = None) -> str:
    """`value` as JSON text; numbers that are not finite become null, as JSON has no other name."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    # Twice only where a number is not finite: looking at each value first would cost every record.
    except ValueError:
        return json.dumps(_finite_or_none(value), ensure_ascii=False, indent=indent)


def plain(value: Any) -> Any:
    """`value` as JSON gives it back: dictionaries, lists, texts, numbers, booleans and None.

    An object with `to_dict` becomes what that returns, a path its text, a number that is not finite
    None.

    Raises:
        TypeError: a value that JSON has no name for.
    """
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [plain(each) for each in value]
    raise TypeError(f"{type(value).__name__} is not a value of JSON")


class Record:
    """A dataclass with `to_dict`."""

    __slots__ = ()  # so that the records of text, of which there are millions, have no __dict__

    def to_dict(self) -> dict[str, Any]:
        """Each field by its name, as values that JSON has: lists for tuples, None as it is.

        Fields whose metadata has `INTERNAL` are left out.
        """
        shown = [each.name for each in fields(self) if not each.metadata.get(INTERNAL)]  # type: ignore[arg-type]
        return {name: plain(getattr(self, name)) for name in shown}

    def _repr_html_(self) -> str | None:
        return notebook_html(self)


def notebook_html(record: object) -> str | None:
    """What a notebook shows of a record in place of its repr; None for the repr."""
    # A notebook asks the record, and what draws it knows all kinds of records: from far above.
    found: str | None = import_module("tagkit.evaluation.html_report.notebook").html_of(record)
    return found


def from_json(content: bytes) -> Any:
    """The value of a JSON text in UTF-8.

    Raises:
        ValueError: it is not JSON; the message is the reason, in words.
    """
    try:
        return json.loads(
            content.decode(), parse_float=_finite_float, parse_int=_int, parse_constant=_refuse
        )
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start + 1:,}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON at line {error.lineno:,}, column {error.colno:,}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None


def require_plain(value: Any) -> None:
    """Raise where a value is nested deeply, or holds text that cannot be written.

    Raises:
        ValueError: the message is the reason, in words.
    """
    # Level by level rather than by recursion, which a hostile file could exhaust.
    level = [value]
    for _ in range(MAX_DEPTH):
        inner: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                inner += [*each, *each.values()]
            elif isinstance(each, list):
                inner += each
            elif isinstance(each, str) and not is_writable(each):
                raise ValueError("text with half of a surrogate pair")
        level = inner
        if not level:
            return
    raise ValueError("nested too deeply")


def is_writable(text: str) -> bool:
    """Whether a text can be written in UTF-8: it holds no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _finite_or_none(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite_or_none(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite_or_none(each) for each in value]
    return value


def _finite_float(text: str) -> float:
    number = float(text)  # 1e999 is valid JSON, and infinity as a float
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _int(text: str) -> int:
    if len(text) > 4300:  # Python's own limit, whose message names a function of Python
        raise ValueError(f"a number has {len(text):,} digits")
    return int(text)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def checked_strings(found: Any, name: str) -> tuple[str, ...]:
    """A list of strings, as JSON has it.

    Raises:
        TypeError: it is something else, or holds something else than text.
    """
    if not isinstance(found, (list, tuple)):
        raise TypeError(f"{name}: expected a list of strings, found {kind_of(found)}")
    # One pass in C for each check: a vocabulary may have millions of words.
    if set(map(type, found)) - {str}:
        wrong = next(each for each in found if type(each) is not str)
        raise TypeError(f"{name}: expected strings, found {kind_of(wrong)}")
    try:
        "".join(found).encode()  # JSON can spell lone surrogates, which cannot be written again
    except UnicodeEncodeError:
        raise TypeError(f"{name}: expected text, found half of a surrogate pair") from None
    return tuple(found)


def kind_of(value: Any) -> str:
    """The kind of a value, in JSON's terms."""
    match value:
        case None:
            return "null"
        case bool():  # before int, of which bool is a subclass
            return "true" if value else "false"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case dict():
            return "an object"
    return "a list"
