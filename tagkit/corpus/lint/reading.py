"""A file as checks want it: all that can be read, and all that cannot."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tagkit.config import DataConfig
from tagkit.corpus.alignment import to_sentences
from tagkit.corpus.formats.options import Reading, source_of
from tagkit.corpus.formats.source import Source, is_regular
from tagkit.corpus.formats.table import FORMATS, Format, find_format, settled
from tagkit.corpus.lint.judging import Judged, judge
from tagkit.errors import FormatError, TagkitError
from tagkit.text.records import Document, Sentence, Span
from tagkit.text.schemes import OUTSIDE, Step, count_steps, to_spans

# What is said of a file that cannot be opened.
_UNKNOWN = FORMATS["columns"]


@dataclass(frozen=True)
class ReadFile:
    """A file's contents.

    Attributes:
        path: as it was given.
        format: what it is read as.
        sentences: its sentences; its texts, cut at white space, where it has classes alone.
        errors: lines that cannot be read, spans that fit no tokens.
        notes: what its reader had to say.
        refusal: why it cannot be read on or at all; None where it can.
        named_scheme: `data.scheme`, of its tags.
        recognised: what it was recognised as and why; empty where its format was named.
    """

    path: str
    format: Format
    sentences: tuple[Sentence, ...]
    errors: tuple[TagkitError, ...] = ()
    notes: tuple[str, ...] = ()
    refusal: TagkitError | None = None
    named_scheme: str = "auto"
    recognised: str = ""

    @cached_property
    def has_tags(self) -> bool:
        """Whether its tokens have tags."""
        return any(sentence.tags for sentence in self.sentences)

    @cached_property
    def steps(self) -> Counter[Step]:
        """How often each tag stands behind each other."""
        return count_steps(sentence.tags or () for sentence in self.sentences if sentence.tags)

    @cached_property
    def judged(self) -> Judged | None:
        """The scheme of its tags; None without any."""
        return judge(self.steps, self.named_scheme) if self.has_tags else None

    @property
    def scheme(self) -> str | None:
        """A span scheme, "labels" for plain ones, "classes" for those of texts; None without."""
        if self.judged is not None:
            return self.judged.scheme
        return "classes" if any(sentence.labels for sentence in self.sentences) else None

    @property
    def unit(self) -> str:
        """What people call one of its sentences."""
        return "sentence" if self.has_tags else "text"

    @property
    def has_spans(self) -> bool:
        """Whether its tags are those of spans."""
        return self.scheme not in (None, "labels", "classes")

    @cached_property
    def spans(self) -> tuple[tuple[Sentence, tuple[Span, ...]], ...]:
        """The spans of each sentence; none of plain labels."""
        if self.judged is None or not self.has_spans:
            return ()
        clean = self.judged.without_odd if self.judged.odd else tuple
        return tuple(
            (sentence, to_spans(clean(sentence.tags or ()))) for sentence in self.sentences
        )

    def labelled(self) -> Iterator[tuple[str, int]]:
        """Each label with its line: of spans, of tokens with plain labels, of texts."""
        if self.has_spans:
            for sentence, spans in self.spans:
                for span in spans:
                    yield span.label, line_of(sentence, span.start)
        elif self.has_tags:
            for sentence in self.sentences:
                for place, tag in enumerate(sentence.tags or ()):
                    yield tag, line_of(sentence, place)
        else:
            yield from self.classes()

    def classes(self) -> Iterator[tuple[str, int]]:
        """Each class of a whole sentence or text, with its line."""
        for sentence in self.sentences:
            for label in sentence.labels:
                yield label, line_of(sentence, 0)

    def only_outside(self) -> bool:
        """Whether no token has any tag but O."""
        return self.has_tags and not any(step != (OUTSIDE, OUTSIDE) for step in self.steps)


def line_of(sentence: Sentence, place: int) -> int:
    """Number of the line that a word stands on; 0 where it comes from no line."""
    return sentence.lines[place] if place < len(sentence.lines) else 0


def read_file(path: str, data: DataConfig) -> ReadFile:
    """All of a file that can be read; nothing is raised."""
    errors: list[TagkitError] = []
    notes: list[str] = []
    sentences: list[Sentence] = []
    format = FORMATS.get(data.format, _UNKNOWN)
    refusal: TagkitError | None = None
    recognised = ""
    try:
        source = source_of(path, data)
        found = find_format(source, data.format)
        format, recognised = found.format, found.note
        reading = settled(Reading(data, note=notes.append, on_error=errors.append), format)
        sentences.extend(_sentences(source, format, reading))
    except TagkitError as error:
        refusal = error
    return ReadFile(
        path,
        format,
        tuple(sentences),
        tuple(errors),
        tuple(notes),
        refusal,
        data.scheme,
        recognised,
    )


def can_be_read_again(path: str) -> bool:
    """Whether it is a file; what comes through a pipe is gone once it has been read."""
    return is_regular(path)


def _sentences(source: Source, format: Format, reading: Reading) -> Iterator[Sentence]:
    for item in format.read(source, reading):
        if isinstance(item, Document) and item.spans is None:
            # Classes and raw texts are not tokenised: it would take most of the time of a check.
            words = tuple(item.text.split())
            yield Sentence(words, labels=item.labels, lines=(item.line,) * len(words))
        else:
            yield from to_sentences([item], reading)


def is_at_line(error: TagkitError) -> int:
    """The line that an error is about; 0 where it is about none."""
    return error.line if isinstance(error, FormatError) else 0
