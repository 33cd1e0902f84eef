"""The records of text that packages exchange: Sentence, Document, Span, Prediction, their parts.

Offsets into a text count code points, as Python does; not bytes, nor UTF-16 units as JavaScript.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import accumulate, count
from typing import Any

from tagkit.text.json_text import INTERNAL, Record
from tagkit.text.trees import Tree

# Names and values of what a record has beside its text and annotation, in its order: an id, where
# it comes from. The values are those of JSON.
Extra = tuple[tuple[str, Any], ...]

_documents = count(1)


def new_document() -> int:
    """The number of a document, which no other one of this process has."""
    return next(_documents)


def unmarked_document() -> int:
    """The same of a file, or its beginning, in which nothing marks a document: below zero."""
    return -next(_documents)


@dataclass(frozen=True, slots=True)
class TagColumn(Record):
    """The values of one tag column, where a sentence has several.

    Attributes:
        name: as the configuration names it, such as "UPOS", "FEATS", "MISC.NER" or "-1".
        values: one a word.
        probabilities: of each value, 0 to 1; None where not asked for, and of gold values.
    """

    name: str
    values: tuple[str, ...]
    probabilities: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Sentence(Record):
    """Words in order, with their annotation.

    Attributes:
        words: the words, at least one.
        tags: one a word, in the corpus's own scheme; None where they are to be predicted.
        features: one tuple a feature column, each as long as `words`.
        labels: classes of the sentence as a whole; empty where the corpus has none.
        text: the untouched text that the words come from; None where it is not known.
        places: start and end of each word in `text`, in code points; empty without `text`.
        columns: every tag column where several are read, the first of which is `tags`; else empty.
        lines: number of each word's line in its file, from 1; empty where it comes from no file.
        extra: what else its record has, such as an id; empty where that was not asked for.
        document: number of the document that it belongs to, which the sentences before and after it
            share if they are of the same one; None where it is not known, or stands by itself.
            Below zero where nothing in the file marks it: all until the first mark is one.
        targets: strings that stand for it, any of which is right; empty where there are none.
        tree: over its words; None where the corpus has none.
        vectors: one tuple a column of numbers, with a tuple of numbers for each word.
    """

    # Tuples, so that sentences can be keys: duplicates are found by their words.
    words: tuple[str, ...]
    tags: tuple[str, ...] | None = None
    features: tuple[tuple[str, ...], ...] = ()
    labels: tuple[str, ...] = ()
    text: str | None = None
    places: tuple[tuple[int, int], ...] = ()
    columns: tuple[TagColumn, ...] = ()
    # A range where lines follow each other, which takes no memory for each word. Two sentences are
    # equal wherever they stand.
    lines: Sequence[int] = field(default=(), compare=False)
    extra: Extra = field(default=(), compare=False)
    # Numbers differ from process to process.
    document: int | None = field(default=None, compare=False, repr=False, metadata={INTERNAL: True})
    targets: tuple[str, ...] = ()
    tree: Tree | None = None
    vectors: tuple[tuple[tuple[float, ...], ...], ...] = ()

    def __init__(
        self,
        words: tuple[str, ...],
        tags: tuple[str, ...] | None = None,
        features: tuple[tuple[str, ...], ...] = (),
        labels: tuple[str, ...] = (),
        text: str | None = None,
        places: tuple[tuple[int, int], ...] = (),
        columns: tuple[TagColumn, ...] = (),
        lines: Sequence[int] = (),
        extra: Extra = (),
        document: int | None = None,
        targets: tuple[str, ...] = (),
        tree: Tree | None = None,
        vectors: tuple[tuple[tuple[float, ...], ...], ...] = (),
    ) -> None:
        """The fields, in their order.

        What a frozen dataclass writes here by itself looks up how to set each field each time. With
        so many fields that was a tenth of the time of reading a corpus.
        """
        _set_words(self, words)
        _set_tags(self, tags)
        _set_features(self, features)
        _set_labels(self, labels)
        _set_text(self, text)
        _set_places(self, places)
        _set_columns(self, columns)
        _set_lines(self, lines)
        _set_extra(self, extra)
        _set_document(self, document)
        _set_targets(self, targets)
        _set_tree(self, tree)
        _set_vectors(self, vectors)

    def __len__(self) -> int:
        """Number of words."""
        return len(self.words)


# Of the slots, whose setters take no notice of `frozen`: for `__init__` alone.
(
    _set_words, _set_tags, _set_features, _set_labels, _set_text, _set_places, _set_columns,
    _set_lines, _set_extra, _set_document, _set_targets, _set_tree, _set_vectors,
) = (getattr(Sentence, each.name).__set__ for each in fields(Sentence))  # fmt: skip


def joined(words: Sequence[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Words as a text, separated by blanks, and the place of each in it."""
    # Each word takes its length and a blank; the last one's blank is beyond the text.
    ends = list(accumulate(len(word) + 1 for word in words))
    places = tuple((end - len(w) - 1, end - 1) for w, end in zip(words, ends, strict=True))
    return " ".join(words), places


@dataclass(frozen=True, slots=True, order=True)
class Span(Record):
    """Words `start` to `end` (exclusive) with one label.

    Attributes:
        start: index of the first word.
        end: index after the last word.
        label: the type, such as "PER"; empty for tags that are a bare prefix.
        probability: 0 to 1, of exactly this span with this label (without constraints, of exactly
            these tags); None where it was not asked for.
    """

    # In this order, spans sort by their places (order=True above).
    start: int
    end: int
    label: str
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class LabelScore(Record):
    """A class and its probability, 0 to 1."""

    label: str
    probability: float


@dataclass(frozen=True, slots=True)
class Prediction(Record):
    """Predictions of a model for one sentence, or for one text that is classified.

    Attributes:
        words: the words that were read.
        tags: one a word, in the scheme of the training corpus; empty of a model without tags.
        spans: the spans that the tags mean; empty for plain labels.
        probabilities: marginal probability of each word's tag; None where not asked for.
        labels: classes of the whole; empty of a model without classes, or where none is likely.
        scores: every class with its probability, the likeliest first; empty without classes.
        attention: weight of each word in the vector that the class is predicted from, 0 to 1; None
            where the model pools in another way.
        columns: every tag column of a model of several, the first of which is `tags`; else empty.
        tree: that a recursive network has read, with the class of each node; None of others.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    spans: tuple[Span, ...] = ()
    probabilities: tuple[float, ...] | None = None
    labels: tuple[str, ...] = ()
    scores: tuple[LabelScore, ...] = ()
    attention: tuple[float, ...] | None = None
    columns: tuple[TagColumn, ...] = ()
    tree: Tree | None = None


@dataclass(frozen=True, slots=True)
class Alternative(Record):
    """One way to tag a sentence.

    Attributes:
        tags: one a word, in the scheme of the corpus that the model was trained on.
        spans: that the tags mean; empty for plain labels.
        probability: of exactly these tags, 0 to 1.
        tagged: the text with these tags, and the offsets of its tokens and spans; None before
            `Predictor.n_best` has added it.
        log_probability: natural logarithm of the probability, also where that is too small for a
            number; None of one that is a sum of others.
    """

    tags: tuple[str, ...]
    spans: tuple[Span, ...]
    probability: float
    tagged: "TaggedText | None" = field(default=None, compare=False, repr=False)
    log_probability: float | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TaggedToken(Record):
    """A token of a text with its tag.

    Attributes:
        text: its characters.
        start: offset of the first of them in the text, in code points.
        end: offset after the last of them.
        tag: in the scheme of the training corpus; None of a model without tags.
        probability: of the tag, 0 to 1; None where it was not asked for.
        attention: as in `Prediction`.
        tags: the value of each tag column by name, of a model of several; else None.
        probabilities: of each of these, 0 to 1; None where not asked for.
    """

    text: str
    start: int
    end: int
    tag: str | None
    probability: float | None = None
    attention: float | None = None
    tags: Mapping[str, str] | None = None
    probabilities: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class TextSpan(Record):
    """A stretch of a text with a label.

    Attributes:
        text: its characters.
        start: offset of the first of them in the text, in code points.
        end: offset after the last of them.
        label: the type, such as "PER".
        probability: of exactly this span with this label, 0 to 1; None where not asked for.
    """

    text: str
    start: int
    end: int
    label: str
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class Document(Record):
    """A text with its annotation: labelled stretches, classes, or both.

    Attributes:
        text: untouched.
        spans: none of which overlap, in the text's order; None where the corpus has none.
        labels: classes of the text as a whole; empty where the corpus has none.
        tokens: start and end of each token, where the corpus gives them; else None.
        name: of the file or record that it comes from, without its folder and ending.
        source: the file that its annotation stands in.
        line: number of its first line there, from 1.
        span_lines: number of each span's line there; empty where all are on `line`.
        extra: what else its record has, such as an id; empty where that was not asked for.
        tree: over its tokens; None where the corpus has none.
    """

    text: str
    spans: tuple[TextSpan, ...] | None = None
    labels: tuple[str, ...] = ()
    tokens: tuple[tuple[int, int], ...] | None = None
    # Two documents are equal where their texts and labels are, whatever file they come from.
    name: str = field(default="", compare=False)
    source: str = field(default="", compare=False)
    line: int = field(default=1, compare=False)
    span_lines: tuple[int, ...] = field(default=(), compare=False)
    extra: Extra = field(default=(), compare=False)
    tree: Tree | None = None


@dataclass(frozen=True, slots=True)
class TaggedText(Record):
    """A text with its tokens, spans and classes; `text[start:end]` is the text of each.

    Attributes:
        text: as it was given; words that were given apart are joined by blanks.
        sentences: tokens of each sentence.
        spans: of all sentences, in the text's order; empty for plain labels.
        labels: classes of the text; empty of a model without classes, or where none is likely.
        scores: every class with its probability, the likeliest first; empty without classes, and
            of a text without words.
        tree: over its tokens, as in `Prediction`.
    """

    text: str
    sentences: tuple[tuple[TaggedToken, ...], ...]
    spans: tuple[TextSpan, ...]
    labels: tuple[str, ...] = ()
    scores: tuple[LabelScore, ...] = ()
    tree: Tree | None = None

    @property
    def tokens(self) -> tuple[TaggedToken, ...]:
        """Tokens of all sentences."""
        return tuple(token for sentence in self.sentences for token in sentence)


def node_spans(item: Document | TaggedText) -> list[TextSpan]:
    """The nodes of the tree over a text, in its order; none without one."""
    if item.tree is None:
        return []
    if isinstance(item, Document):
        places = [*(item.tokens or ())]
    else:
        places = [(token.start, token.end) for token in item.tokens]
    stretches = ((places[start][0], places[end - 1][1]) for start, end in item.tree.spans)
    probabilities = item.tree.probabilities or (None,) * len(item.tree.spans)
    return [
        TextSpan(item.text[start:end], start, end, label, probability)
        for (start, end), label, probability in zip(
            stretches, item.tree.labels, probabilities, strict=True
        )
    ]


@dataclass(frozen=True, slots=True)
class TagSet(Record):
    """The taggings of a sentence of which one is right as often as was asked for.

    Attributes:
        taggings: the most probable first, at least one.
        reached_limit: whether these are as many as a set may have, so that some may be missing.
    """

    taggings: tuple[Alternative, ...]
    reached_limit: bool


@dataclass(frozen=True, slots=True)
class TextSets(TaggedText):
    """A text with its most probable tags and classes, and the prediction sets that begin with them.

    Attributes:
        text: as in `TaggedText`, and so are the next five.
        sentences: tokens of each sentence.
        spans: of all sentences.
        labels: classes of the text.
        scores: every class with its probability.
        tree: over its tokens.
        coverage: share of sets that hold the right answer.
        tag_sets: of each sentence; empty of a model without tags.
        class_set: classes of the text, the most probable first; empty of a model that has none, or
            that gives a text several.
    """

    coverage: float = 0.0
    tag_sets: tuple[TagSet, ...] = ()
    class_set: tuple[LabelScore, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class StringAlternative(Record):
    """A string that stands for a text.

    Attributes:
        text: the string.
        log_probability: natural logarithm, given the text.
        score: by what strings were compared: the log probability, with penalties.
    """

    text: str
    log_probability: float
    score: float


@dataclass(frozen=True, slots=True)
class Alignment(Record):
    """How much each unit of a string looked at each symbol of its source.

    Attributes:
        symbols: of the source.
        units: of the string.
        weights: (units, symbols) from 0 to 1; those of a unit sum to 1.
    """

    symbols: tuple[str, ...]
    units: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class TextAlternatives(TaggedText):
    """A text with its most probable tags, and the most probable ways to tag it.

    Attributes:
        alternatives: the most probable first; the others are those of `TaggedText`.
    """

    alternatives: tuple[Alternative, ...] = ()


@dataclass(frozen=True, slots=True)
class StringAnswer(Record):
    """A string that a model has written for a text.

    Attributes:
        source: the text.
        text: the string.
        log_probability: natural logarithm, of the string given the text; None where not known.
        alternatives: strings that were found, the best first, which is `text`; empty where one
            alone was asked for.
        alignment: what was looked at for each unit; None where not known.
    """

    source: str
    text: str
    log_probability: float | None = None
    alternatives: tuple["StringAlternative", ...] = ()
    alignment: "Alignment | None" = field(default=None, compare=False)

    @property
    def probability(self) -> float | None:
        """Of the string given the text, 0 to 1; None where not known."""
        return None if self.log_probability is None else math.exp(self.log_probability)
