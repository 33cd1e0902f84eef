"""A finding about a run, and a row of the tables of checks."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from tagkit.text.json_text import Record

Statement = tuple[str, str]  # what is wrong, and a remedy: sentences without a full stop
Facts = TypeVar("Facts")


@dataclass(frozen=True, slots=True)
class Finding(Record):
    """Something that is wrong with a run.

    Attributes:
        name: of the check, such as "few-examples".
        sentence: what was found, without a full stop.
        remedy: what to do about it, likewise.
        useless: whether the predictions of the model are of no use.
    """

    name: str
    sentence: str
    remedy: str
    useless: bool = False

    @property
    def text(self) -> str:
        """Both sentences."""
        return f"{self.sentence}. {self.remedy}."


@dataclass(frozen=True, slots=True)
class Check(Generic[Facts]):
    """One row of a table of checks.

    Attributes:
        name: of its findings.
        find: a pure function from facts to what is wrong: nothing for most runs.
        useless: whether a model with such a finding is of no use.
    """

    name: str
    find: Callable[[Facts], Iterable[Statement]]
    useless: bool = False

    def findings(self, facts: Facts) -> Iterator[Finding]:
        """What the check finds."""
        for sentence, remedy in self.find(facts):
            yield Finding(self.name, sentence, remedy, self.useless)
