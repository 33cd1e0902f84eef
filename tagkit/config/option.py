"""What an option is, beside its type and default: its help text and its properties.

Whatever a command needs to know of an option stands at its field, in the module of its section,
such as `encoder_section.py`:

    hidden: Annotated[Size, Option("Hidden units for each direction.", inherit=True)] = 200

Training, tuning and transfer ask `options_of(Config)`, so that a new option is one field and no
entry in a list elsewhere.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, model_validator

# Tasks that predict tags of tokens, and those that predict classes of texts.
TAGS = ("tag", "both")
CLASSES = ("classify", "both")
# Tasks that learn labels, and those that learn a text itself.
LABELS = ("tag", "classify", "both")
TEXT = ("language-model",)
# Those that write strings.
STRINGS = ("transduce",)


class Section(BaseModel):
    """Base of the sections: frozen; unknown keys and infinite numbers are refused."""

    # Validators are built when the first value is checked: many imports of this package check none.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    # Whether `tagkit tune` may search for good values of its options; `Option.tune` overrides it.
    tunable: ClassVar[bool] = True

    @model_validator(mode="before")
    @classmethod
    def _refuse_bool_for_number(cls, given: Any) -> Any:
        """Refuse true and false where a number is expected: for Python they are 1 and 0."""
        if not isinstance(given, Mapping):
            return given
        fields = cls.model_fields
        return {
            key: _marked(value) if key in fields and _is_number(fields[key].annotation) else value
            for key, value in given.items()
        }


@dataclass(frozen=True, slots=True)
class MarkedBool:
    """true or false, as a value of no type that an option has: pydantic says what it expects."""

    value: bool


def _is_number(annotation: Any) -> bool:
    """Whether an option of this type takes a number, and neither true nor false."""
    kinds = {*re.findall(r"\w+", str(annotation))}
    takes_number = "int" in kinds or "float" in kinds or any(map(str.isdigit, kinds))
    return takes_number and "bool" not in kinds


def _marked(value: Any) -> Any:
    """A value in which each true or false is marked as such."""
    if isinstance(value, Mapping):
        return {key: _marked(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_marked, value))
    return MarkedBool(value) if isinstance(value, bool) else value


@dataclass(frozen=True, slots=True)
class Needs:
    """A condition on another option, without which this one has no effect.

    Attributes:
        option: the other one's dotted name.
        values: those with which there is an effect; empty for all but `but`.
        but: those with which there is none.
        exempt: tasks in which it has an effect whatever the other one's value.
        alternative: a condition that serves in the place of this one; None for nothing.
    """

    option: str
    values: tuple[Any, ...] = ()
    but: tuple[Any, ...] = ()
    exempt: tuple[str, ...] = ()
    alternative: "Needs | None" = None

    def are_met_by(self, value: Any) -> bool:
        """Whether this one has an effect where the other has `value`."""
        return value not in self.but and (not self.values or value in self.values)

    def applies_to(self, name: str) -> bool:
        """Whether it is a condition in the task of this name."""
        return name not in self.exempt


# Of options that matter where weights follow a gradient, and not where a solution in closed form is
# computed from the corpus.
BY_GRADIENT = Needs("train.readout", ("gradient",))


@dataclass(frozen=True, slots=True)
class Option:
    """Help text and properties of one option.

    Attributes:
        help: a sentence that says what the option is, for the docs and for the help of commands
            with a flag for it.
        default_shown: in words, where the default itself says too little: "split off train_file".
        resume: whether a run that is resumed may have another value than before.
        resume_search: whether a search that is resumed may have another value than before.
        inherit: whether a model that starts from another one's weights must have its value.
        otherwise: the value that networks of other tasks than `tasks` have in effect; None where
            they have nothing of the kind.
        tune: whether a search may try values of it; None for what its section says.
        tasks: with which it has an effect; empty for all.
        needs: what else it takes for an effect, all of several; None for nothing.
        instead: the option that does for other tasks what this one does for `tasks`.
    """

    help: str
    default_shown: str = ""
    resume: bool = False
    resume_search: bool = False
    inherit: bool = False
    otherwise: Any = None
    tune: bool | None = None
    tasks: tuple[str, ...] = ()
    needs: Needs | tuple[Needs, ...] | None = None
    instead: str = ""

    def serves(self, name: str) -> bool:
        """Whether it has an effect with the task of this name."""
        return not self.tasks or name in self.tasks

    @property
    def conditions(self) -> tuple[Needs, ...]:
        """All that it takes for an effect; the task first, which is what a message then names."""
        of_task: tuple[Needs, ...] = ()
        if self.tasks == LABELS:  # the others are fewer, and messages name them
            of_task = (Needs("task", but=(*TEXT, *STRINGS)),)
        elif self.tasks:
            of_task = (Needs("task", self.tasks),)
        return of_task + self.needed

    @property
    def needed(self) -> tuple[Needs, ...]:
        """`needs` as several."""
        if self.needs is None:
            return ()
        return (self.needs,) if isinstance(self.needs, Needs) else self.needs


@dataclass(frozen=True, slots=True)
class Former(Option):
    """What was an option (`removed.py`): no run sets it, and models of before have a value."""

    help: str = ""


@cache
def options_of(section: type[Section]) -> Mapping[str, Option]:
    """Each option by its dotted name, those of nested sections included, in order of definition.

    Raises:
        TypeError: a field has no `Option`.
    """
    options = {name: o for name, o in _fields_of(section) if not isinstance(o, Former)}
    return MappingProxyType(options)  # cached: one caller must not change it for the others


@cache
def carried_by_models(section: type[Section]) -> Mapping[str, Option]:
    """Each value that saved models alone have, by its dotted name, in order of definition."""
    carried = {name: o for name, o in _fields_of(section) if isinstance(o, Former)}
    return MappingProxyType(carried)


def _fields_of(section: type[Section]) -> Iterator[tuple[str, Option]]:
    for name, field in section.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, Section):
            yield from ((f"{name}.{key}", found) for key, found in _fields_of(inner))
            continue
        # pydantic keeps what it does not know of an Annotated[...] beside its own limits.
        found = next((item for item in field.metadata if isinstance(item, Option)), None)
        if found is None:
            raise TypeError(f"{section.__name__}.{name} has no Option")
        yield name, found


@cache
def tunable_options(section: type[Section]) -> frozenset[str]:
    """Dotted names of the options that a search may try values of."""
    found: set[str] = set()
    for name, option in options_of(section).items():
        head, dot, _ = name.partition(".")
        owner = section.model_fields[head].annotation if dot else section
        assert isinstance(owner, type)
        assert issubclass(owner, Section)
        if owner.tunable if option.tune is None else option.tune:
            found.add(name)
    return frozenset(found)
