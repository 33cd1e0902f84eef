"""Types of the options' values: fixed choices, ranges of numbers, and texts of a certain form."""

import math
import re
from itertools import pairwise
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field

from tagkit.text.scheme_names import SYNONYMS

Value = TypeVar("Value")

# Chosen from the size of the training corpus (`training/setup/defaults.py`).
Auto = Literal["auto"]
Cell = Literal[
    "lstm", "gru", "elman", "lstm-peephole", "gru-reset-before", "leaky", "skip", "skip-lstm",
    "clockwork", "output-feedback", "echo-state", "sru", "deep-transition",
    "recurrent-highway", "ntm", "transformer", "cnn", "window", "tree-rnn", "rntn", "tree-lstm",
]  # fmt: skip
NOT_RECURRENT = ("transformer", "cnn", "window")
TREES = ("tree-rnn", "rntn", "tree-lstm")
WITHOUT_STEPS = (*NOT_RECURRENT, *TREES)  # that lead from each token to the next one
# A decoder is read step by step.
DecoderCell = Literal[
    "lstm", "gru", "elman", "lstm-peephole", "gru-reset-before", "leaky", "skip", "skip-lstm",
    "clockwork", "output-feedback", "echo-state", "sru", "deep-transition", "recurrent-highway",
    "ntm",
]  # fmt: skip
PairUnit = Literal["character", "word", "tokens", "bpe"]
Format = Literal[
    "auto", "columns", "conllu", "token-rows", "sentence-rows", "jsonl", "jsonl-tokens",
    "jsonl-spans", "jsonl-texts", "brat", "slash", "parallel", "tsv", "csv", "fasttext", "trec",
    "trees", "folder", "text",
]  # fmt: skip
CharCell = Literal[
    "lstm", "gru", "elman", "lstm-peephole", "gru-reset-before", "leaky", "skip", "skip-lstm",
    "clockwork", "output-feedback", "echo-state", "sru", "deep-transition", "recurrent-highway",
    "ntm", "cnn", "none",
]  # fmt: skip
Pooling = Literal[
    "auto", "last", "mean", "max", "mean+max", "concat", "attention", "scaled-attention", "memory"
]
Column = int | str  # a place, from 0 or from -1 backwards, or the name that a header gives it
# One column, or a list of those that are learnt together, by one encoder.
TagColumns = Column | tuple[Column, ...]

# 1 is excluded: dropping everything trains nothing, and a running mean would never move.
Probability = Annotated[float, Field(ge=0, lt=1)]
Share = Annotated[float, Field(ge=0, le=1)]
# A mistyped size is refused by name; beyond this one torch would fail for want of memory.
Size = Annotated[int, Field(ge=1, le=100_000)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]  # TOML's integers are signed, of 64 bits
Weight = Annotated[float, Field(gt=0)]

DEVICES = "'auto', 'cpu', 'cuda' or 'cuda:N'"
_DEVICE = re.compile(r"auto|cpu|cuda(:[0-9]{1,4})?")
_MAX_DIGITS = 18  # of a number that 64 bits surely hold; int() of very long texts is slow


def fixed(value: Value | Auto) -> Value:
    """The value of an option that may be "auto", of a resolved configuration.

    Raises:
        ValueError: it is "auto": the configuration is not resolved.
    """
    if value == "auto":
        raise ValueError("the configuration is not resolved: an option is 'auto'")
    return value


def canonical_scheme(name: Any) -> Any:
    """A scheme's name as seqeval has it: BIO is iob2, BIOES iobes."""
    return SYNONYMS.get(name.lower(), name.lower()) if isinstance(name, str) else name


def _learnable(name: Any) -> Any:
    # BMES is IOBES in other letters.
    scheme = canonical_scheme(name)
    return "iobes" if scheme == "bmes" else scheme


def is_device(name: str) -> bool:
    """Whether a device may be called that; there may be no such device on this machine."""
    return _DEVICE.fullmatch(name) is not None


def _cuda_or_cpu(name: str) -> str:
    if is_device(name):
        return name
    raise ValueError(f"expected {DEVICES}")


def _known_encoding(name: str) -> str:
    try:
        "".encode(name)
    except (LookupError, ValueError):  # ValueError: a name that holds NUL
        raise ValueError("expected the name of a text encoding, such as 'utf-8'") from None
    return name


def _rising_from_one(periods: tuple[int, ...]) -> tuple[int, ...]:
    # The first is 1, so that at every step some unit reads the input.
    if periods[:1] == (1,) and all(a < b for a, b in pairwise(periods)):
        return periods
    raise ValueError("expected rising numbers of which the first is 1, such as [1, 2, 4, 8]")


def _slots_and_values(memory: tuple[int, ...]) -> tuple[int, ...]:
    if len(memory) == 2:
        return memory
    raise ValueError("expected two numbers, of slots and of the values in each, such as [64, 16]")


def _none_or_range(longest: int) -> int:
    # Times are drawn between 2 and the longest.
    if longest == 0 or longest >= 3:
        return longest
    raise ValueError("expected 0, or a number greater than or equal to 3")


def _steps_or_minutes(text: int | str) -> int | str:
    if isinstance(text, int):
        if text >= 1:
            return text
    # `train.checkpoint_every = "500"` is text, and means the number.
    elif text.isdecimal() and len(text) <= _MAX_DIGITS and int(text):
        return int(text)
    elif text.endswith("m") and _is_positive(text[:-1]):
        return text
    raise ValueError("expected a number of steps, such as 500, or of minutes, such as '10m'")


def _is_positive(text: str) -> bool:
    try:
        return 0 < float(text) < math.inf
    except ValueError:
        return False


Scheme = Annotated[
    Literal["auto", "iob1", "iob2", "iobes", "bilou", "bmes", "io", "labels"],
    BeforeValidator(canonical_scheme),
]
TrainScheme = Annotated[Literal["iob2", "iobes", "bilou"], BeforeValidator(_learnable)]
Device = Annotated[str, AfterValidator(_cuda_or_cpu)]
Encoding = Annotated[str, AfterValidator(_known_encoding)]
Periods = Annotated[tuple[Size, ...], AfterValidator(_rising_from_one)]
MemorySize = Annotated[tuple[Size, ...], AfterValidator(_slots_and_values)]
Chrono = Annotated[int, AfterValidator(_none_or_range)]
Interval = Annotated[int | str, AfterValidator(_steps_or_minutes)]
