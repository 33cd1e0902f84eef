"""Every error that tagkit raises on purpose.

    TagkitError              anything a user can mend; the command line prints it as one line
    +-- ConfigError          a configuration: unknown keys, wrong types, values out of range
    +-- DataError            a corpus or an input text
    |   +-- FormatError      one line of one file
    |   +-- SchemeError      tags of spans in place of plain labels, or the other way round
    |   +-- SpanErrors       spans of characters that cannot be spans of tokens, all of them
    +-- VectorsError         a file of pretrained vectors
    +-- BundleError          a model folder
    +-- CheckpointError      a training run's saved state, or its folder
    +-- TrainingError        a run that cannot continue: numbers that are not finite, no memory
    +-- Interrupted          a run that was stopped before its end, and can be resumed
    +-- DeviceError          a device that was asked for and is not there

A message says where, what was found, what was expected, and what to do.
"""

from collections.abc import Sequence
from typing import Any

from tagkit.wording import LONGEST_LINE, clipped


class TagkitError(Exception):
    """Base of all errors that are the input's, not the program's."""

    def __init__(self, *lines: str) -> None:
        """Keep the message's `lines`, one for each problem, each of bounded length."""
        # A line of a corpus that is quoted may have megabytes.
        self.lines = tuple(clipped(line, LONGEST_LINE) for line in lines)
        super().__init__("\n".join(self.lines))

    def __str__(self) -> str:
        """The lines."""
        return "\n".join(self.lines)

    def add_line(self, line: str) -> None:
        """Add a line to the message, such as what became of the output."""
        self.lines = (*self.lines, clipped(line, LONGEST_LINE))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by its content: the arguments of `__init__` differ from one class to another."""
        return _unpickled, (type(self),), self.__dict__


def _unpickled(kind: type[TagkitError]) -> TagkitError:
    """An empty error, which pickle fills with the attributes."""
    # Not by __init__, which would put the source before each line once more.
    return kind.__new__(kind)


class ConfigError(TagkitError):
    """One or more problems of one configuration, all of them reported at once."""

    def __init__(self, source: str, problems: Sequence[str], given: Sequence[str] = ()) -> None:
        """Keep the problems, each a sentence.

        Args:
            source: a file's name, or what was given.
            problems: those of the source.
            given: those of values that were given beside it and win over it.
        """
        super().__init__(*(f"{source}: {problem}" for problem in problems), *given)
        self.source = str(source)
        self.problems = (*problems, *given)


class DataError(TagkitError):
    """A corpus or text that cannot be used as it is."""


class FormatError(DataError):
    """One line that cannot be read; the message starts with `file:line:`."""

    def __init__(self, source: str, line: int, problem: str) -> None:
        """Keep where the problem is; `line` counts from 1."""
        super().__init__(f"{source}:{line}: {problem}")
        self.source = source
        self.line = line
        self.problem = problem


class FileError(FormatError):
    """A line that shows that the whole file cannot be read: leaving it out would not help."""


class SchemeError(DataError):
    """Tags of spans where plain labels were expected, or the other way round.

    Attributes:
        path: of the corpus.
        wanted: the scheme that was expected.
        found: the scheme of the corpus.
        remedy: the end of the message.
    """

    def __init__(self, path: str, wanted: str, found: str, remedy: str) -> None:
        """Keep the parts, of which a comparison of models makes another sentence."""
        super().__init__(f"{path}: expected tags in the scheme {wanted}, found {found}{remedy}")
        self.path = path
        self.wanted = wanted
        self.found = found
        self.remedy = remedy


class SpanErrors(DataError):
    """Spans that cannot be what was asked for; each with its file and line, all at once."""

    def __init__(self, problems: Sequence[FormatError], remedy: str) -> None:
        """Keep `problems`; `remedy` is a sentence that follows them."""
        # One line for each, and the remedy once, as it is the same for all.
        super().__init__(*(str(problem) for problem in problems), remedy)
        self.problems = tuple(problems)


class VectorsError(TagkitError):
    """A file of word vectors that cannot be read."""


class BundleError(TagkitError):
    """A model folder that is missing, damaged, altered, or too new."""


class CheckpointError(TagkitError):
    """A training run's folder or saved state that cannot be used."""


class WriteError(CheckpointError):
    """A file of a run that cannot be written."""

    def __init__(self, problem: str, remedy: str) -> None:
        """Keep `problem`, which names the file; `remedy` follows it, and depends on the command."""
        super().__init__(f"{problem}; {remedy}")
        self.problem = problem


class TrainingError(TagkitError):
    """A training run that cannot continue."""


# Its __cause__ may be the signal that asked for the end: see tagkit.cli.program.process.
class Interrupted(TagkitError):
    """A training run that was stopped.

    Attributes:
        is_saved: whether there is a checkpoint to resume from; else the run has done nothing yet.
    """

    def __init__(self, text: str, *, is_saved: bool = True) -> None:
        """`text` says where it was stopped."""
        super().__init__(text)
        self.is_saved = is_saved


class DeviceError(TagkitError):
    """A device that was asked for and cannot be used."""
