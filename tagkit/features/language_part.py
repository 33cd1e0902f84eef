"""A language model inside another model, as the vocabulary of that model describes it."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from tagkit.text.json_text import kind_of

_MAX_STATES = 1_000_000  # values of a state; those of real models are a hundredth


@dataclass(frozen=True)
class LanguagePart:
    """All of a language model but its weights.

    Attributes:
        path: of its folder when the model was trained.
        sha256: of the file of its weights there, in hexadecimal.
        states: number of values at a word, of all layers that are read.
        config: its configuration, as TOML.
        vocabulary: its vocabulary, as plain values of JSON.
        layers: that are read, side by side, the lowest first; of 1 it is the topmost.
    """

    path: str
    sha256: str
    states: int
    config: str
    vocabulary: dict[str, Any]
    layers: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; as before there were layers where one alone is read."""
        return {name: each for name, each in asdict(self).items() if (name, each) != ("layers", 1)}


def read_parts(values: Any) -> tuple[LanguagePart, ...]:
    """The parts of a vocabulary, each as `to_dict` gave it; what is in them is not checked.

    Raises:
        KeyError: a value is missing.
        TypeError: a value has the wrong type.
        ValueError: a model has no states, or more than any.
    """
    if not isinstance(values, list):
        raise TypeError(f"contextual: expected a list, found {kind_of(values)}")
    found = []
    for each in values:
        if not isinstance(each, dict):
            raise TypeError(f"contextual: expected objects, found {kind_of(each)}")
        values_of = {"layers": 1, **each}
        part = LanguagePart(**{field.name: values_of[field.name] for field in fields(LanguagePart)})
        for field in fields(LanguagePart):
            value = getattr(part, field.name)
            # Not isinstance: True is an int too.
            if type(value) is not _TYPES[field.name]:
                raise TypeError(f"contextual: {field.name} may not be {kind_of(value)}")
        if not 0 < part.layers <= part.states <= _MAX_STATES or part.states % part.layers:
            raise ValueError(f"contextual: expected a number of states, found {part.states}")
        found.append(part)
    return tuple(found)


_TYPES = {
    "path": str, "sha256": str, "states": int, "config": str, "vocabulary": dict, "layers": int,
}  # fmt: skip
