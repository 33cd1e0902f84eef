"""Every error that tagkit raises on purpose.

    TagkitError              anything a user can mend; the command line prints it as one line
    +-- ConfigError          a configuration: unknown keys, wrong types, values out of range
    +-- DataError            a corpus or an input text
    |   +-- FormatError      one line of one file
    |   +-- SpanErrors       spans of characters that cannot be spans of tokens, all of them
    |   +-- SchemeError      tags of which most, but not all, are those of a span scheme
    +-- VectorsError         a file of pretrained vectors
    +-- BundleError          a model folder
    +-- CheckpointError      a training run's saved state, or its folder
    +-- TrainingError        a run that cannot go on: numbers that are not finite, too little memory
    +-- Interrupted          a run that was asked to end before its time, and can be gone on with
    +-- DeviceError          a device that was asked for and is not there

A message says where, what was found, what was expected, and what to do.
"""

from collections.abc import Sequence


class TagkitError(Exception):
    """Base of all errors that are the input's, not the program's."""


class ConfigError(TagkitError):
    """One or more problems of one configuration, all of them reported at once."""

    def __init__(self, source: str, problems: Sequence[str]) -> None:
        """Keep `problems`, each a sentence; `source` is a file's name or the command line."""
        super().__init__("\n".join(f"{source}: {problem}" for problem in problems))
        self.source = source
        self.problems = tuple(problems)


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


class SpanErrors(DataError):
    """Spans that cannot be what was asked for; each with its file and line, all at once."""

    def __init__(self, problems: Sequence[FormatError], remedy: str) -> None:
        """Keep `problems`; `remedy` is a sentence that follows them."""
        super().__init__("\n".join([*(str(problem) for problem in problems), remedy]))
        self.problems = tuple(problems)


class SchemeError(DataError):
    """Tags of which most, but not all, are those of a span scheme."""

    def __init__(self, problem: str, tag: str) -> None:
        """Keep one `tag` that is not, so that its line can be looked up."""
        super().__init__(problem)
        self.problem = problem
        self.tag = tag


class VectorsError(TagkitError):
    """A file of word vectors that cannot be read."""


class BundleError(TagkitError):
    """A model folder that is missing, damaged, altered, or too new."""


class CheckpointError(TagkitError):
    """A training run's folder or saved state that cannot be used."""


class TrainingError(TagkitError):
    """A training run that cannot go on."""


class Interrupted(TagkitError):
    """A training run that was asked to end, and has saved all that it takes to go on."""


class DeviceError(TagkitError):
    """A device that was asked for and cannot be used."""


def shorten(text: str, limit: int = 80) -> str:
    """`text` in quotes, cut in the middle where it is longer than `limit` characters.

    For messages: a file may hold a line of many megabytes.
    """
    if len(text) > limit:
        text = f"{text[: limit // 2]}...{text[-limit // 4 :]}"
    return repr(text)


def plural(count: int, what: str) -> str:
    """'1 sentence', '1,200 sentences', '2 classes'."""
    ending = "" if count == 1 else "es" if what.endswith("s") else "s"
    return f"{count:,} {what}{ending}"
