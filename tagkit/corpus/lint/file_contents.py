"""The contents of a file for the checks: all that can be read, and all that cannot."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from sys import intern

from tagkit.config import DataConfig
from tagkit.corpus.formats.recognition import find_format
from tagkit.corpus.formats.table import FORMATS, Format
from tagkit.corpus.lint.line_ends import LineEnds
from tagkit.corpus.lint.sentence_counts import ColumnCounts, FileCounts, count
from tagkit.corpus.records.alignment import to_sentences
from tagkit.corpus.records.spans_over_ends import SpansOverEnds
from tagkit.corpus.source.decoding import ByteFacts
from tagkit.corpus.source.layout import NO_TAGS
from tagkit.corpus.source.options import ReaderOptions, silent, source_of
from tagkit.corpus.source.rereading import several_times
from tagkit.corpus.source.source import Source
from tagkit.errors import FormatError, TagkitError
from tagkit.text.pairs import pair_problem
from tagkit.text.records import Document, Sentence
from tagkit.text.scheme_detection import Judgement, Step, judge
from tagkit.text.schemes import OUTSIDE, PLAIN, SpanTuple, begun_span, has_spans, span_tuples
from tagkit.text.tokenizer import TOKENIZERS, lacks_blanks

# Shown for a file that could not be opened, or whose format could not be recognised: column files
# are the commonest. Nothing is read as it.
_UNKNOWN = FORMATS["columns"]


Words = tuple[str, ...] | str  # those of a span, or a single one with a label of its own
Surfaces = Counter[tuple[Words, str]]


@dataclass(frozen=True)
class ReadFile:
    """Contents of a file.

    Attributes:
        path: as it was given.
        format: what it is read as.
        sentences: its sentences; its texts, cut at white space, where it has classes alone. They
            can be taken several times, each of which reads a file anew.
        counts: of its sentences.
        column: counts of the tag column that is looked at.
        errors: lines that cannot be read, spans that fit no tokens.
        notes: of its reader.
        refusal: why its end was not reached; None where it was.
        named_scheme: `data.scheme`, of its tags.
        expected_scheme: taken for its tags where it fits no worse than the best; None for none.
        recognised: what it was recognised as and why; empty where its format was named.
        line_ends: odd lines of a column file, as they stand on disk.
        facts: what the bytes show.
        may_be_pairs: whether its first lines are a text, a tab and a text, as TSV is and the pairs
            of a language model are.
        surfaces: how often words have each label; filled by `check_surfaces`.
    """

    path: str
    format: Format
    sentences: Iterable[Sentence]
    counts: FileCounts
    column: ColumnCounts
    errors: tuple[TagkitError, ...] = ()
    notes: tuple[str, ...] = ()
    refusal: TagkitError | None = None
    named_scheme: str = "auto"
    recognised: str = ""
    expected_scheme: str | None = None
    line_ends: LineEnds = field(default_factory=LineEnds)
    facts: ByteFacts = field(default_factory=lambda: ByteFacts("utf-8"))
    may_be_pairs: bool = False
    surfaces: Surfaces = field(default_factory=Counter)

    @property
    def has_tags(self) -> bool:
        """Whether its tokens have tags."""
        return bool(self.column.tags)

    @property
    def steps(self) -> Counter[Step]:
        """How often each tag follows each other one."""
        return self.column.steps

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
        return "classes" if self.column.classes else None

    @property
    def unit(self) -> str:
        """What people call one of its sentences."""
        return "sentence" if self.has_tags else "text"

    @property
    def has_spans(self) -> bool:
        """Whether its tags are those of spans."""
        return self.judged is not None and has_spans(self.judged.scheme)

    @cached_property
    def labels(self) -> Counter[str]:
        """How often each label occurs: of spans, of tokens with plain labels, of texts."""
        if self.judged is None:
            return self.column.classes
        if not self.has_spans:
            return self.column.tags
        labels: Counter[str] = Counter()
        for step, times in self.steps.items():
            label = begun_span(*self.judged.without_odd(step))
            if label is not None:
                labels[label] += times
        return labels

    def spans_of(self, sentence: Sentence) -> list[SpanTuple]:
        """The spans of one of its sentences; none of plain labels."""
        if self.judged is None or not self.has_spans or not sentence.tags:
            return []
        # An odd tag would be read as a span of its own, of a type that nobody meant.
        return span_tuples(
            self.judged.without_odd(sentence.tags) if self.judged.odd else sentence.tags
        )

    def labelled(self, sentence: Sentence) -> Iterator[tuple[str, int]]:
        """Each of `labels` in one of its sentences, with its line."""
        if self.has_spans:
            for start, _, label in self.spans_of(sentence):
                yield label, line_of(sentence, start)
        elif self.has_tags:
            for place, tag in enumerate(sentence.tags or ()):
                yield tag, line_of(sentence, place)
        else:
            yield from classes_of(sentence)

    def only_outside(self) -> bool:
        """Whether no token has any tag but O."""
        return self.has_tags and not any(step != (OUTSIDE, OUTSIDE) for step in self.steps)


def classes_of(sentence: Sentence) -> Iterator[tuple[str, int]]:
    """Each class of a whole sentence or text, with its line."""
    for label in sentence.labels:
        yield label, line_of(sentence, 0)


def line_of(sentence: Sentence, place: int) -> int:
    """Number of the line that a word stands on; 0 where it comes from no line."""
    return sentence.lines[place] if place < len(sentence.lines) else 0


def read_file(path: str, data: DataConfig, expected_scheme: str | None = None) -> ReadFile:
    """All of a file that can be read, counted; nothing is raised.

    Args:
        path: of the file.
        data: how it is read.
        expected_scheme: that of the training file, where this is another one.
    """
    reader = _Reader(path, data)
    counts = count(reader.sentences, len(data.tag_columns), further_columns(data))
    return ReadFile(
        path=path,
        format=reader.format,
        sentences=reader.sentences,
        counts=counts,
        column=counts.first,
        errors=tuple(reader.errors),
        notes=tuple(reader.notes),
        refusal=reader.refusal,
        # A lemma may look like a tag of a span.
        named_scheme=PLAIN
        if data.tag_columns[:1] and data.first_tag_column in NO_TAGS
        else data.scheme,
        recognised=reader.recognised,
        expected_scheme=expected_scheme,
        line_ends=reader.line_ends,
        facts=reader.source.facts,
        may_be_pairs=reader.may_be_pairs,
    )


def further_columns(data: DataConfig) -> list[int]:
    """The places of the tag columns that are checked beside the first, where several are read."""
    # Most lemmas are rare, and so are most values of FEATS: no mistakes of labels show there.
    return [
        place for place, column in enumerate(data.tag_columns) if place and column not in NO_TAGS
    ]


class _Reader:
    """Reads a file as often as is wanted; keeps what the first reading shows beside sentences."""

    def __init__(self, path: str, data: DataConfig) -> None:
        self.data = data
        self.format = FORMATS.get(data.format, _UNKNOWN)
        self.recognised = ""
        self.errors: list[TagkitError] = []
        self.notes: list[str] = []
        self.refusal: TagkitError | None = None
        self.line_ends = LineEnds()
        self.source = source_of(path, data)  # of the first reading
        self.readings = 0
        self.sentences: Iterable[Sentence] = ()
        self.may_be_pairs = False
        try:
            found = find_format(self.source, data.format)
        except TagkitError as error:
            self.refusal = error
            return
        self.format, self.recognised = found.format, found.note
        if self.format.name == "tsv" and data.label_column is None and data.text_column is None:
            with suppress(TagkitError):  # which reading the file raises again
                lines = self.source.beginning(waiting=False)
                self.may_be_pairs = all(pair_problem(line) is None for line in lines)
        if self.format.holds == "spans":
            # Their tokens are found in most of the time of a check: not a second time.
            self.sentences = list(self._read(self.source))
        else:
            self.sentences = several_times(self.source, data, self._read)

    def _read(self, source: Source) -> Iterator[Sentence]:
        is_first = self.readings == 0
        self.readings += 1
        if is_first:
            self.source = source
            # Before the first line is taken, so that none is missed.
            if self.format.is_grid:  # the lines of other formats are not shown one by one
                source.watch(self.line_ends.see)
        reading = ReaderOptions(
            self.data,
            require_keys=True,
            digests=source.digests,
            note=self.notes.append if is_first else silent,
            on_error=self.errors.append if is_first else lambda _: None,
        )
        try:
            yield from _sentences(source, self.format, reading)
        except TagkitError as error:
            # What was read before it is checked all the same.
            if is_first:
                self.refusal = error
            elif self.refusal is None:
                raise


def _sentences(source: Source, format: Format, reading: ReaderOptions) -> Iterator[Sentence]:
    over_ends = SpansOverEnds()
    for item in format.records(source, reading).items:
        # Of several files in a folder a line's number alone says nothing.
        of_other_file = isinstance(item, Document) and item.source not in ("", source.name)
        if isinstance(item, Document) and item.spans is None:
            # Texts with classes, and raw ones, are not tokenised: that would take most of the time
            # of a check, and no check looks at their tokens. Without blanks there are no words.
            words = tuple(item.text.split())
            if lacks_blanks(item.text):
                split = TOKENIZERS[reading.data.tokenizer](item.text)
                words = tuple(token.text for sentence in split for token in sentence)
            lines = () if of_other_file else (item.line,) * len(words)
            yield Sentence(words, labels=item.labels, lines=lines)
            continue
        if isinstance(item, Sentence):
            yield item
            continue
        for sentence in to_sentences([item], reading, over_ends=over_ends):
            yield _slim(sentence, has_lines=not of_other_file)
    for note in over_ends.notes(source.name):
        reading.note(note)


def _slim(sentence: Sentence, *, has_lines: bool) -> Sentence:
    """The sentence without what no check looks at, which is most of it where it is held."""
    words = tuple(map(intern, sentence.words))  # a word of many sentences is held once
    lines = sentence.lines if has_lines else ()
    return Sentence(words, sentence.tags, labels=sentence.labels, lines=lines)


def line_number(error: TagkitError) -> int:
    """The line that an error is about; 0 where it is about none."""
    return error.line if isinstance(error, FormatError) else 0
