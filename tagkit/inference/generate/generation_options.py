"""What texts a language model is asked for; this module imports no torch."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, get_args

from tagkit.errors import DataError
from tagkit.limits import MAX_BEAM, MAX_SAMPLES, MAX_UNITS, check_count
from tagkit.nn.generation.ended import Ended
from tagkit.wording import clipped, plural

_LARGEST = sys.float_info.max  # a whole number may be larger
ENDS: tuple[Ended, ...] = get_args(Ended)
# Options that are numbers: which ones have a meaning, and how that is said.
_NUMBERS: dict[str, tuple[Callable[[float], bool], str]] = {
    "temperature": (lambda value: 0 <= value <= _LARGEST, "a finite number, at least 0"),
    "top_p": (lambda value: 0 < value <= 1, "a number above 0 and at most 1"),
    "repetition_penalty": (
        lambda value: 0 < value <= _LARGEST, "a finite number above 0",
    ),
    "length_penalty": (lambda value: 0 <= value <= 10, "a number from 0 to 10"),
    # As train.seed.
    "seed": (
        lambda value: 0 <= value < 2**63, "a whole number, at least 0 and below 2**63",
    ),
}  # fmt: skip
_OF_SAMPLING = ("temperature", "top_k", "top_p", "seed")


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationOptions:
    """How texts are generated: by sampling, unless `greedy` or `beam` is given.

    Attributes:
        samples: number of texts; of a beam, its best ones.
        max_units: most units of a text; with `end="length"`, of each text, where the model does not
            predict their number.
        greedy: take the most probable unit each time.
        beam: hypotheses of a beam search; 0 for none.
        length_penalty: of a beam search; the power of the length that log probabilities are divided
            by.
        temperature: of sampling; 0 is greedy.
        top_k: units to sample from; 0 for all.
        top_p: mass of the units to sample from, above 0; 1 for all.
        repetition_penalty: above 0; 1 for none.
        allow_unknown: whether the unknown unit may be generated.
        end: what ends a text; None for what the model was trained with.
        seed: of sampling.
    """

    samples: int = 1
    max_units: int = MAX_UNITS
    greedy: bool = False
    beam: int = 0
    length_penalty: float = 1.0
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    allow_unknown: bool = False
    end: Ended | None = None
    seed: int = 1


def options_of(given: Mapping[str, Any]) -> GenerationOptions:
    """The options that a caller gives, by name.

    Raises:
        DataError: one is unknown, has a value without a meaning, or would have no effect.
    """
    names = [field.name for field in fields(GenerationOptions)]
    if unknown := [name for name in given if name not in names]:
        raise DataError(f"unknown option {clipped(unknown[0])}; expected one of {', '.join(names)}")
    if problem := without_effect(given):
        raise DataError(problem)
    options = GenerationOptions(**given)
    check_options(options)
    # torch divides by no number of NumPy, and by no whole one of more than 64 bits.
    return replace(
        options,
        temperature=float(options.temperature),
        repetition_penalty=float(options.repetition_penalty),
    )


def without_effect(given: Mapping[str, Any]) -> str | None:
    """Why an option would have no effect beside the others; None if each has one.

    An option that is ignored hides a mistake.

    Args:
        given: the options that a caller gives, by name, also with their defaults as values.
    """
    used = {name for name, value in given.items() if value is not None and value is not False}
    idle: tuple[str, ...] = ()
    because = ""
    if given.get("beam"):
        idle = ("greedy", "repetition_penalty", *_OF_SAMPLING)
        because = " has no effect on a search with beam=..."
    elif "length_penalty" in used:
        idle, because = ("length_penalty",), " is for beam=..."
    elif given.get("greedy"):
        idle = (*_OF_SAMPLING, "samples")
        because = " is for sampling: with greedy=True there is one text"
    elif given.get("temperature") == 0:  # the most probable unit: nothing is divided by 0
        idle = (*_OF_SAMPLING[1:], "samples")
        because = " is for sampling: with temperature=0 there is one text"
    return next((f"{option}=...{because}" for option in idle if option in used), None)


def check_options(options: GenerationOptions) -> None:
    """Refuse values that have no meaning.

    Raises:
        DataError: a value, with the name of its option.
    """
    check_count("max_units", options.max_units)
    check_count("top_k", options.top_k, 0)
    # As many rows are read at once, each with a score for every unit.
    check_count("samples=...", options.samples, 1, MAX_SAMPLES)
    check_count("beam=...", options.beam, 0, MAX_BEAM)
    for name, (is_valid, expected) in _NUMBERS.items():
        value = getattr(options, name)
        if not is_valid(value):
            found = clipped(repr(value))
            raise DataError(f"{name}=...: expected {expected}, found {found}")
    if options.end not in (None, *ENDS):
        found = clipped(repr(options.end))
        raise DataError(f"end=...: expected {' or '.join(ENDS)}, found {found}")
    if options.beam and options.greedy:
        raise DataError("greedy=True and beam=... are two searches: choose one")
    if options.beam and options.samples > options.beam:
        raise DataError(
            f"samples=...: a beam of {options.beam} finds at most {plural(options.beam, 'text')}, "
            f"not {options.samples:,}; give a larger beam"
        )
