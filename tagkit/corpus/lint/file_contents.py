"""The contents of a file for the checks: all that can be read, and all that cannot."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from tagkit.config import DataConfig
from tagkit.corpus.alignment import to_sentences
from tagkit.corpus.formats.columns.layout import NO_TAGS
from tagkit.corpus.formats.decoding import ByteFacts
from tagkit.corpus.formats.options import Reading, source_of
from tagkit.corpus.formats.recognition import find_format
from tagkit.corpus.formats.source import Source
from tagkit.corpus.formats.table import FORMATS, Format
from tagkit.corpus.lint.line_ends import LineEnds
from tagkit.errors import FormatError, TagkitError
from tagkit.text.records import Document, Sentence, Span
from tagkit.text.scheme_detection import Judgement, Step, count_steps, judge
from tagkit.text.schemes import OUTSIDE, PLAIN, has_spans, to_spans

# Shown for a file that could not be opened, or whose format could not be recognised: column files
# are the commonest. Nothing is read as it.
_UNKNOWN = FORMATS["columns"]


@dataclass(frozen=True)
class ReadFile:
    """Contents of a file.

    Attributes:
        path: as it was given.
        format: what it is read as.
        sentences: its sentences; its texts, cut at white space, where it has classes alone.
        errors: lines that cannot be read, spans that fit no tokens.
        notes: of its reader.
        refusal: why its end was not reached; None where it was.
        named_scheme: `data.scheme`, of its tags.
        expected_scheme: taken for its tags where it fits no worse than the best; None for none.
        recognised: what it was recognised as and why; empty where its format was named.
        line_ends: odd lines of a column file, as they stand on disk.
        facts: what the bytes show.
    """

    path: str
    format: Format
    sentences: tuple[Sentence, ...]
    errors: tuple[TagkitError, ...] = ()
    notes: tuple[str, ...] = ()
    refusal: TagkitError | None = None
    named_scheme: str = "auto"
    recognised: str = ""
    expected_scheme: str | None = None
    line_ends: LineEnds = field(default_factory=LineEnds)
    facts: ByteFacts = field(default_factory=lambda: ByteFacts("utf-8"))

    @cached_property
    def has_tags(self) -> bool:
        """Whether its tokens have tags."""
        return any(sentence.tags for sentence in self.sentences)

    @cached_property
    def steps(self) -> Counter[Step]:
        """How often each tag follows each other one."""
        return count_steps(sentence.tags or () for sentence in self.sentences if sentence.tags)

    @cached_property
    def judged(self) -> Judgement | None:
        """The scheme of its tags; None without any."""
        if not self.has_tags:
            return None
        return judge(self.steps, self.named_scheme, self.expected_scheme)

    @property
    def scheme(self) -> str | None:
        """A span scheme, `PLAIN`, "classes" where texts have classes alone; None without any."""
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
        return self.judged is not None and has_spans(self.judged.scheme)

    @cached_property
    def spans(self) -> tuple[tuple[Sentence, tuple[Span, ...]], ...]:
        """The spans of each sentence; none of plain labels."""
        if self.judged is None or not self.has_spans:
            return ()
        # An odd tag would be read as a span of its own, of a type that nobody meant.
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


def read_file(path: str, data: DataConfig, expected_scheme: str | None = None) -> ReadFile:
    """All of a file that can be read; nothing is raised.

    Args:
        path: of the file.
        data: how it is read.
        expected_scheme: that of the training file, where this is another one.
    """
    errors: list[TagkitError] = []
    notes: list[str] = []
    sentences: list[Sentence] = []
    format = FORMATS.get(data.format, _UNKNOWN)
    refusal: TagkitError | None = None
    recognised = ""
    line_ends = LineEnds()
    source = source_of(path, data)
    try:
        found = find_format(source, data.format)
        format, recognised = found.format, found.note
        # Before the first line is taken, so that none is missed.
        if format.is_grid:  # the lines of other formats are not shown to people one by one
            source.watch(line_ends.see)
        reading = Reading(data, require_keys=True, note=notes.append, on_error=errors.append)
        # Sentences that were read before a refusal are checked all the same.
        sentences.extend(_sentences(source, format, reading))
    except TagkitError as error:
        refusal = error
    return ReadFile(
        path=path,
        format=format,
        sentences=tuple(sentences),
        errors=tuple(errors),
        notes=tuple(notes),
        refusal=refusal,
        # A lemma may look like a tag of a span.
        named_scheme=PLAIN
        if data.tag_columns[:1] and data.first_tag_column in NO_TAGS
        else data.scheme,
        recognised=recognised,
        expected_scheme=expected_scheme,
        line_ends=line_ends,
        facts=source.facts,
    )


def _sentences(source: Source, format: Format, reading: Reading) -> Iterator[Sentence]:
    for item in format.records(source, reading).items:
        # Of several files in a folder a line's number alone says nothing.
        of_other_file = isinstance(item, Document) and item.source not in ("", source.name)
        if isinstance(item, Document) and item.spans is None:
            # Texts with classes, and raw ones, are not tokenised: that would take most of the time
            # of a check, and no check looks at their tokens.
            words = tuple(item.text.split())
            lines = () if of_other_file else (item.line,) * len(words)
            yield Sentence(words, labels=item.labels, lines=lines)
            continue
        for sentence in to_sentences([item], reading):
            yield replace(sentence, lines=()) if of_other_file else sentence


def line_number(error: TagkitError) -> int:
    """The line that an error is about; 0 where it is about none."""
    return error.line if isinstance(error, FormatError) else 0
