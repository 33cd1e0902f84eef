"""What one reading of a file shows: all that the checks ask of it.

A summary grows with what is distinct in a file (words, tags, steps between tags, entities, and
sentences by a digest), not with its length. Lines are looked up in a second reading, for what the
checks have found.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain, islice
from sys import intern

from tagkit.config import DataConfig
from tagkit.corpus.formats.recognition import find_format
from tagkit.corpus.formats.table import FORMATS, Format
from tagkit.corpus.lint.odd_lines import OddLines
from tagkit.corpus.records.alignment import to_sentences
from tagkit.corpus.records.spans_over_ends import SpansOverEnds
from tagkit.corpus.source.decoding import ByteFacts
from tagkit.corpus.source.layout import NO_TAGS
from tagkit.corpus.source.notations import expecting
from tagkit.corpus.source.options import Item, ReaderOptions, silent, source_of
from tagkit.corpus.source.rereading import several_times
from tagkit.corpus.source.source import Source
from tagkit.corpus.splits.counts import LOOKED_AT, is_long
from tagkit.errors import TagkitError
from tagkit.text.notation import USUAL, Notation
from tagkit.text.records import Document, Sentence
from tagkit.text.scheme_detection import Judgement, Step, judge, steps_in, steps_of
from tagkit.text.schemes import (
    ALL_PREFIXES,
    OUTSIDE,
    PLAIN,
    begun_span,
    has_spans,
    is_span_tag,
    span_tuples,
)
from tagkit.text.tokenizer import TOKENIZERS, lacks_blanks

_BATCH = 20  # sentences that are counted together; few, as a text may be long

# Finds the things of one kind in a sentence, each with its line: see `words_of`.
Locator = Callable[[Sentence], Iterable[tuple[Hashable, int]]]


def line_of(sentence: Sentence, place: int) -> int:
    """Number of the line that a word stands on; 0 where it comes from no line."""
    return sentence.lines[place] if place < len(sentence.lines) else 0


def words_of(sentence: Sentence) -> Iterator[tuple[str, int]]:
    """Each word, with its line."""
    for place, word in enumerate(sentence.words):
        yield word, line_of(sentence, place)


def length_of(sentence: Sentence) -> Iterator[tuple[int, int]]:
    """The number of its tokens, with its first line."""
    yield len(sentence), line_of(sentence, 0)


def digest_of(sentence: Sentence) -> Iterator[tuple[int, int]]:
    """Its digest, with its first line."""
    yield digest(sentence), line_of(sentence, 0)


def digest(sentence: Sentence) -> int:
    """63 bits of its words, by which equal sentences are found, and one that says if it is long."""
    # Python's own hash, which is kept in each word: another one would take most of the time of the
    # counting. Of ten million sentences two different ones share it with a chance of 6 in a
    # million.
    return hash(sentence.words) & ~1 | is_long(sentence.words)


@lru_cache(10_000)
def _span_tag(tag: str) -> str:
    """A tag of a span scheme, or O for another one."""
    return tag if is_span_tag(tag) or tag in ALL_PREFIXES else OUTSIDE


@dataclass(eq=False)
class LabelSummary:
    """Counts of a column of tags, or of the classes of sentences and texts.

    Each counter is in the order in which its keys occur first.

    Attributes:
        what: a message calls one of its labels.
        said: what a message about it begins with; empty but for further columns.
        place: among several tag columns; None for the tags of the sentences.
        columns: how many tag columns a sentence has that has all of them.
        named: its scheme, as the configuration says, or "auto".
        expected: the scheme that is taken where it fits no worse than the best; None for none.
        tags: how often each tag or class occurs.
        steps: how often each tag follows each other one.
        entities: how often the words of a span have each label.
    """

    what: str = "label"
    said: str = ""
    place: int | None = None
    columns: int = 0
    named: str = "auto"
    expected: str | None = None
    tags: Counter[str] = field(default_factory=Counter)
    steps: Counter[Step] = field(default_factory=Counter)
    entities: Counter[tuple[tuple[str, ...], str]] = field(default_factory=Counter)

    def see(self, sentences: Iterable[Sentence]) -> None:
        """Count further sentences."""
        found = [(each.words, tags) for each in sentences if (tags := self.tags_in(each))]
        self.tags.update(chain.from_iterable([tags for _, tags in found]))
        self.steps.update(steps_in([tags for _, tags in found]))
        for words, tags in found:
            # An odd tag would be read as a span of its own, of a type that nobody meant.
            for start, end, label in span_tuples([*map(_span_tag, tags)]):
                self.entities[words[start:end], label] += 1

    def tags_in(self, sentence: Sentence) -> Sequence[str]:
        """The tags of a sentence, one a word, or its classes; none where it has none."""
        if self.what == "class":
            return sentence.labels
        if self.place is None:
            return sentence.tags or ()
        # A line in another format than the others may have tags of one column.
        complete = len(sentence.columns) == self.columns
        return sentence.columns[self.place].values if complete else ()

    @cached_property
    def judged(self) -> Judgement | None:
        """The scheme of its tags; None without any."""
        return judge(self.steps, self.named, self.expected) if self.tags else None

    @cached_property
    def spans(self) -> Judgement | None:
        """The scheme of its tags if it is one of spans."""
        return self.judged if self.judged and has_spans(self.judged.scheme) else None

    @cached_property
    def labels(self) -> Counter[str]:
        """How often each label occurs: of spans, else of tokens or texts.

        A span of a bare prefix has the label "_", as conlleval shows it.
        """
        if self.spans is None:
            return self.tags
        labels: Counter[str] = Counter()
        for step, times in self.steps.items():
            label = begun_span(*self.spans.without_odd(step))
            if label is not None:
                labels[label or "_"] += times
        return labels

    def only_outside(self) -> bool:
        """Whether no token has any tag but O."""
        return self.tags.keys() == {OUTSIDE}

    def tags_of(self, sentence: Sentence) -> Iterator[tuple[str, int]]:
        """Each tag, with its line, or each class, with the first line."""
        for place, tag in enumerate(self.tags_in(sentence)):
            yield tag, line_of(sentence, 0 if self.what == "class" else place)

    def steps_of(self, sentence: Sentence) -> Iterator[tuple[Step, int]]:
        """Each step, with the line of the second tag, or of the last word at the end."""
        for place, step in enumerate(steps_of(self.tags_in(sentence))):
            yield step, line_of(sentence, min(place, len(sentence) - 1))

    def labels_of(self, sentence: Sentence) -> Iterator[tuple[str, int]]:
        """Each of `labels`, with the line on which it begins."""
        if self.spans is None:
            yield from self.tags_of(sentence)
        else:
            tags = self.spans.without_odd(self.tags_in(sentence))
            for start, _, label in span_tuples(tags):
                yield label or "_", line_of(sentence, start)


@dataclass
class Summary:
    """What a reading of a file has shown.

    Attributes:
        path: as it was given.
        data: how it is read.
        columns: of tags: the only one, or each that is read but lemmas and features.
        classes: of whole sentences or texts.
        format: what it is read as.
        recognised: what it was recognised as and why; empty where its format was named.
        sentences: its sentences; its texts, cut at white space, where it has classes alone. They
            can be taken several times, each of which reads a file anew.
        first: the first of them, which were looked at more closely.
        lengths: how many sentences have each number of tokens.
        words: how often each word occurs.
        labelled: a hash of the labels of each sentence, where it comes first, by its digest.
        again: how many more times a sentence occurs, by its digest.
        contradicting: digests of sentences that occur with different labels.
        errors: lines that cannot be read, spans that fit no tokens.
        notes: of its reader.
        refusal: why its end was not reached; None where it was.
        notation: that its tags are spelled in; they are counted in the usual one.
        odd_lines: of a column file, as they stand on disk.
        facts: what the bytes show.
    """

    path: str
    data: DataConfig
    columns: Sequence[LabelSummary]
    classes: LabelSummary = field(default_factory=lambda: LabelSummary("class", named=PLAIN))
    # Column files are the commonest; nothing is read as one where no format is recognised.
    format: Format = FORMATS["columns"]
    recognised: str = ""
    sentences: Iterable[Sentence] = ()
    first: list[Sentence] = field(default_factory=list)
    lengths: Counter[int] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    labelled: dict[int, int] = field(default_factory=dict)
    again: Counter[int] = field(default_factory=Counter)
    contradicting: set[int] = field(default_factory=set)
    errors: list[TagkitError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    refusal: TagkitError | None = None
    notation: Notation = USUAL
    odd_lines: OddLines = field(default_factory=OddLines)
    facts: ByteFacts = field(default_factory=lambda: ByteFacts("utf-8"))

    def see(self, sentences: Sequence[Sentence]) -> None:
        """Count further sentences."""
        self.first += sentences[: max(0, LOOKED_AT - len(self.first))]
        self.lengths.update([len(sentence.words) for sentence in sentences])
        self.words.update(chain.from_iterable([sentence.words for sentence in sentences]))
        for sentence in sentences:
            key, labels = digest(sentence), hash((sentence.tags, sentence.labels))
            first = self.labelled.get(key)
            if first is None:
                self.labelled[key] = labels
                continue
            self.again[key] += 1
            if first != labels:
                self.contradicting.add(key)
        for column in (*self.columns, self.classes):
            column.see(sentences)

    @property
    def number(self) -> int:
        """Of sentences."""
        return self.lengths.total()

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return sum(length * count for length, count in self.lengths.items())

    def quantile(self, share: float) -> int:
        """The length of a sentence than which this share of them, from 0 to 1, is shorter."""
        # Nearest rank: the length of a real sentence, without interpolation.
        return sorted(self.lengths.elements())[round(share * (self.number - 1))]

    @property
    def has_tags(self) -> bool:
        """Whether its tokens have tags."""
        return bool(self.columns[0].tags)

    @property
    def unit(self) -> str:
        """What people call one of its sentences."""
        return "sentence" if self.has_tags else "text"

    @property
    def scheme(self) -> str | None:
        """A span scheme, `PLAIN`, "classes" where texts have classes alone; None without any."""
        if judged := self.columns[0].judged:
            return judged.scheme
        return "classes" if self.classes.tags else None

    @property
    def learnt(self) -> Sequence[LabelSummary]:
        """The columns of tags, or the classes of texts where there are no tags."""
        return self.columns if self.has_tags else [self.classes]


def tag_columns(data: DataConfig, expected_scheme: str | None = None) -> list[LabelSummary]:
    """The columns of tags that are read, with nothing counted; the first one always.

    Args:
        data: how files are read.
        expected_scheme: of the first, that of the training file where this is another one.
    """
    names = data.tag_columns
    # A lemma may look like a tag of a span.
    named = PLAIN if names[:1] and data.first_tag_column in NO_TAGS else data.scheme
    return [
        LabelSummary(named=named, expected=expected_scheme),
        # Most lemmas are rare, and so are most values of FEATS: no mistakes of labels show there.
        *(
            LabelSummary(said=f"column {name}: ", place=place, columns=len(names))
            for place, name in enumerate(names)
            if place and name not in NO_TAGS
        ),
    ]


def summarise(path: str, data: DataConfig, expected_scheme: str | None = None) -> Summary:
    """All of a file that can be read, counted; nothing is raised.

    Args:
        path: of the file.
        data: how it is read.
        expected_scheme: that of the training file, where this is another one.
    """
    summary = Summary(path, data, tag_columns(data, expected_scheme))
    source = source_of(path, data)
    try:
        found = find_format(source, data.format)
    except TagkitError as error:
        summary.refusal, summary.facts = error, source.facts
        return summary
    summary.format, summary.recognised = found.format, found.note
    if found.format.holds == "spans":
        # Their tokens are found in most of the time of a check: not a second time.
        summary.sentences = list(_read(source, summary))
    else:
        summary.sentences = several_times(source, data, lambda of: _read(of, summary))
    rest = iter(summary.sentences)
    while batch := list(islice(rest, _BATCH)):
        summary.see(batch)
    return summary


def _read(source: Source, summary: Summary) -> Iterator[Sentence]:
    """The sentences of a file; what else its first reading shows becomes part of the summary."""
    is_first = not summary.number
    if is_first:
        summary.facts = source.facts
        # Before the first line is taken, so that none is missed.
        if summary.format.is_grid:  # the lines of other formats are not shown one by one
            source.watch(summary.odd_lines.see)
    reading = ReaderOptions(
        expecting(summary.data, summary.columns[0].expected),
        require_keys=True,
        digests=source.digests,
        note=summary.notes.append if is_first else silent,
        on_error=summary.errors.append if is_first else lambda _: None,
    )
    try:
        read = summary.format.records(source, reading)
        summary.notation = read.notation
        yield from _sentences(source, read.items, reading)
    except TagkitError as error:
        # What was read before it is checked all the same.
        if is_first:
            summary.refusal = error
        elif summary.refusal is None:
            raise


def _sentences(source: Source, items: Iterable[Item], reading: ReaderOptions) -> Iterator[Sentence]:
    over_ends = SpansOverEnds()
    for item in items:
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
