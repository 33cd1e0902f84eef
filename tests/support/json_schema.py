"""What a value breaks of a JSON Schema, of the keywords that the schemas here have."""

from collections.abc import Iterator, Mapping
from typing import Any

_TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
    "number": (int, float), "integer": int,
}  # fmt: skip
_LIMITS = {
    "minimum": lambda value, limit: value >= limit,
    "maximum": lambda value, limit: value <= limit,
    "exclusiveMinimum": lambda value, limit: value > limit,
    "exclusiveMaximum": lambda value, limit: value < limit,
    "minLength": lambda value, limit: len(value) >= limit,
    "minItems": lambda value, limit: len(value) >= limit,
}


def broken(value: Any, schema: Mapping[str, Any], root: Any = None, at: str = "") -> Iterator[str]:
    """The places of a value at which it breaks a schema, as `head.kind: enum`."""
    root = schema if root is None else root
    if ref := schema.get("$ref"):
        yield from broken(value, root["$defs"][ref.rpartition("/")[2]], root, at)
    if any_of := schema.get("anyOf"):
        if all(any(broken(value, each, root, at)) for each in any_of):
            yield f"{at}: anyOf"
    kind = schema.get("type")
    is_bool = isinstance(value, bool) and kind != "boolean"
    if kind and (is_bool or not isinstance(value, _TYPES[kind])):
        yield f"{at}: {kind}"
        return
    if value not in schema.get("enum", [value]) or value != schema.get("const", value):
        yield f"{at}: enum"
    for keyword, holds in _LIMITS.items():
        if keyword in schema and not holds(value, schema[keyword]):
            yield f"{at}: {keyword}"
    if kind == "array":
        for number, each in enumerate(value):
            yield from broken(each, schema.get("items", {}), root, f"{at}[{number}]")
    if kind == "object":
        yield from (f"{at}: lacks {key}" for key in schema.get("required", ()) if key not in value)
        known, other = schema.get("properties", {}), schema.get("additionalProperties", True)
        for key, each in value.items():
            place = f"{at}.{key}".lstrip(".")
            if key not in known and other is False:
                yield f"{place}: unknown"
            own = known.get(key, other if isinstance(other, Mapping) else {})
            yield from broken(each, own, root, place)
