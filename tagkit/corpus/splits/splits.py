"""Train, dev and test of a run: read as configured, checked, and converted for training.

Nothing here knows what task a model has. `LabelKinds` says which labels a corpus must have, and
that is all that reading depends on. What an option finds in a corpus, its documents, phrases of
trees or a format that has no such option, is added to the corpus as notes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from tagkit.config import Config, DataConfig
from tagkit.corpus.formats.table import FORMATS
from tagkit.corpus.records.alignment import to_sentences
from tagkit.corpus.records.dataset import LabelKinds, Split, draw, hold_out
from tagkit.corpus.records.objects import NONE_GIVEN, Given, RecordDigest, items_of
from tagkit.corpus.records.spans_over_ends import SpansOverEnds
from tagkit.corpus.source.digests import Digests
from tagkit.corpus.source.layout import NO_TAGS, Layout, refuse_answers
from tagkit.corpus.source.notations import expecting, respelled
from tagkit.corpus.source.options import ReaderOptions, source_of
from tagkit.corpus.source.pipes import refuse_one_pipe_for_two
from tagkit.corpus.source.source import Source, source_name
from tagkit.corpus.splits.counts import check_classes, check_variety, several_classes
from tagkit.corpus.splits.expected_labels import (
    format_with_labels,
    holds_nothing,
    other_column,
    refuse_unread_columns,
)
from tagkit.corpus.splits.weights import read_weights
from tagkit.errors import ConfigError, DataError, FormatError
from tagkit.text.records import Sentence
from tagkit.text.scheme_detection import Detection, scheme_of
from tagkit.text.schemes import PLAIN, convert, has_spans
from tagkit.text.windows import cut, windows, windows_between_spans
from tagkit.wording import joined, plural, quoted

_ALL_OUTSIDE = "every tag is O, so there is nothing to learn"


@dataclass(frozen=True)
class Corpus:
    """The corpora that a run learns from and is scored on.

    Attributes:
        train: the corpus to learn from.
        dev: its scores select the best epoch.
        test: scored once at the end; may be None.
    """

    train: Split
    dev: Split
    test: Split | None

    @property
    def layout(self) -> Layout | None:
        """Where things are in the training file's lines; None where it is no column file."""
        return self.train.layout

    @property
    def scheme(self) -> str | None:
        """The training file's scheme, which predictions are written in."""
        return self.train.scheme

    def unseen_share(self) -> float | None:
        """Share of dev's entities whose label and words never occur in train; None without any."""
        # With the label, as a model has to learn both: Washington the person is not the city.
        known = set(self.train.entities())
        unseen = [entity not in known for entity in self.dev.entities()]
        return sum(unseen) / len(unseen) if unseen else None


def load_corpus(config: Config, kinds: LabelKinds, given: Given = NONE_GIVEN) -> Corpus:
    """Train, dev and test as the configuration says; dev is split off train where there is none.

    Args:
        config: names the files and says how they are read.
        kinds: of labels that each of them must have.
        given: records of a program, by the paths that stand for them in the configuration.

    Raises:
        DataError: a file is missing, empty, or unfit to learn from.
        FormatError: a line cannot be read.
    """
    refuse_one_pipe_for_two(config.data)
    train = read_train(config, kinds, given)
    dev = read_scored(config.data.dev_file, config, kinds, train, given)
    test = read_scored(config.data.test_file, config, kinds, train, given)
    return as_corpus(config, kinds, train, dev, test)


def read_train(config: Config, kinds: LabelKinds, given: Given = NONE_GIVEN) -> Split:
    """The training corpus, of which no part is held out yet; arguments as of `load_corpus`.

    Raises:
        DataError: the file is missing or empty, or its sentence weights do not fit it.
        FormatError: a line cannot be read, or a text has not as many classes as it may have.
        ConfigError: phrases of trees are wanted, and the corpus has none.
    """
    data = config.data
    if not data.train_file:
        raise DataError("no training corpus: name one with data.train_file")
    train = _read(data.train_file, data, kinds, None, given)
    if data.tree_phrases:
        train = distinct_phrases(train)
    train = with_option_notes(train, data)
    if has_spans(train.scheme) and not any(train.entities()):
        remedy = other_column(train.format, data)  # of the whole file; a part of it may be so too
        raise DataError(f"{train.path}: {_ALL_OUTSIDE}{remedy}")
    if kinds.classes:  # before a part is held out, so that messages name lines of the file
        check_classes(train, several=several_classes(config, train))
    if data.weights:
        weights = read_weights(data.weights, train)
        # Those of a corpus in which nothing is doubted change nothing, not in the last bit.
        train = replace(train, weights=weights if {*weights} != {1.0} else None)
    return train


def read_scored(
    path: str, config: Config, kinds: LabelKinds, train: Split, given: Given = NONE_GIVEN
) -> Split | None:
    """A corpus that is scored; None where `path` is empty."""
    # Phrases are there to learn from; published scores on SST are those of whole sentences.
    data = config.data.model_copy(update={"tree_phrases": False})
    data = expecting(data, None, train.notation)
    return _read(path, data, kinds, train.scheme, given) if path else None


def _read(
    path: str, data: DataConfig, kinds: LabelKinds, expected: str | None, given: Given
) -> Split:
    if path in given:
        return split_of_records(given[path], data, kinds, expected, path)
    return read_split(path, data, kinds, expected)


def as_corpus(
    config: Config, kinds: LabelKinds, train: Split, dev: Split | None, test: Split | None
) -> Corpus:
    """What a run learns from and is scored on; dev is split off train where it is None.

    Raises:
        DataError: train has nothing to learn, or dev has other classes.
    """
    several = kinds.classes and several_classes(config, train)
    seed, by_document = config.train.seed, config.encoder.context == "document"
    if by_document:
        train = with_document_note(train, config.encoder.context_words)
    elif config.label_consistency:
        train = with_consistency_note(train, config.label_consistency)
    is_split = dev is None
    if dev is None:
        train, dev = hold_out(train, config.data.dev_fraction, seed, by_document=by_document)
    if config.data.train_sentences:  # after dev is held out, which is the same for every number
        train = draw(train, config.data.train_sentences, seed, by_document=by_document)
    formats = [FORMATS[each.format] for each in (train, dev, test) if each and each.format]
    refuse_unread_columns(config.data, train.path, formats)
    for split in (train, dev, test):
        if kinds.tags and split and split.layout is not None:
            refuse_answers(split.layout, split.path)
    if train.weights and not any(train.weights):  # dev has the others
        raise DataError(f"{train.path}: every sentence to learn from has the weight 0")
    _refuse_one_tag(train, config.data)
    if kinds.classes:
        for split in (dev, test):
            if split:
                check_classes(split, several=several)
        check_variety(train, dev, is_split=is_split)
    return Corpus(train, dev, test)


def _refuse_one_tag(train: Split, data: DataConfig) -> None:
    """Refuse tags that are all the same: a model that always says it is right, and useless.

    Raises:
        DataError: they are.
    """
    if has_spans(train.scheme) and not any(train.entities()):
        raise DataError(f"{train.path}: {_ALL_OUTSIDE}")
    labels = train.labels()
    # Of several columns another one may have something to learn.
    if train.scheme == PLAIN and len(labels) == 1 and not data.tag_columns:
        every = f"every tag is {quoted(min(labels))}"
        if train.sentences[0].labels:
            raise DataError(f"{train.path}: {every}: learn the classes alone, task=classify")
        remedy = other_column(train.format, data)
        raise DataError(f"{train.path}: there is nothing to learn, as {every}{remedy}")


def read_split(
    path: str,
    data: DataConfig,
    kinds: LabelKinds,
    expected: str | None,
    *,
    of_model: bool = False,
) -> Split:
    """One corpus file, in any format.

    Args:
        path: of the file.
        data: how it is read.
        kinds: of labels that it must have. Tags that are not asked for are left out; classes too,
            unless there are tags: then they stay, and a dev part is held out evenly over them.
        expected: the scheme that its tags are in, unless another fits them better.
        of_model: whether a model that is there already needs these labels.

    Raises:
        DataError: it cannot be read, is empty, or its format has no such labels.
        FormatError: a line of it cannot be read, or lacks such labels.
    """
    name = source_name(path)
    notes: list[str] = []
    digests = Digests()
    source = source_of(path, data, digests)
    format = format_with_labels(source, data, kinds, notes.append, of_model=of_model)
    if format.is_grid:
        _refuse_one_line(source)
    # A class is of a whole text, which is then one sequence of tokens, however many sentences.
    reading = ReaderOptions(
        expecting(data, expected),
        with_tags=kinds.tags or kinds.classes,
        require_keys=kinds.tags,
        whole=kinds.classes,
        digests=digests,
        note=notes.append,
    )
    records = format.records(source, reading)
    over_ends = SpansOverEnds()
    read = to_sentences(records.items, reading, over_ends=over_ends)
    sentences = tuple(_with_labels(read, kinds, name))
    if not sentences:
        raise holds_nothing(name, kinds)
    detection = None
    if kinds.tags:
        found = f"{format.about} (read as {format.name})"
        remedy = other_column(format.name, data)
        detection = _scheme(sentences, data, name, expected, found, remedy)
    return Split(
        path=name,
        sentences=sentences,
        detection=detection,
        # Each once, in order: readers repeat themselves.
        notes=tuple(dict.fromkeys([*notes, *over_ends.notes(name)])),
        layout=records.layout,
        format=format.name,
        digest=digests.of(path),
        notation=records.notation,
    )


def _refuse_one_line(source: Source) -> None:
    """Refuse a column file whose lines end in carriage returns alone: it would be one sentence.

    Raises:
        FormatError: all that is there is one line with carriage returns inside.
    """
    lines = source.beginning()
    returns = lines[0].rstrip("\r").count("\r") if len(lines) == 1 else 0
    if returns > 1:
        problem = f"found one line with {returns:,} carriage returns in it, as of an old Mac"
        remedy = "expected line feeds between lines; save the file with these"
        raise FormatError(source.name, 1, f"{problem}: {remedy}")


def split_of_records(
    records: Any,
    data: DataConfig,
    kinds: LabelKinds,
    expected: str | None,
    name: str,
) -> Split:
    """A corpus of records that a program has.

    Args:
        records: of any kind that `corpus.records.objects` describes.
        data: how documents become sentences.
        kinds: as for `read_split`.
        expected: as for `read_split`.
        name: what messages call it.

    Raises:
        DataError: there are none, their spans do not fit tokens, or they lack such labels.
    """
    notes: list[str] = []
    reading = ReaderOptions(
        data, with_tags=kinds.tags or kinds.classes, whole=kinds.classes, note=notes.append
    )
    digest, over_ends = RecordDigest(), SpansOverEnds()
    # Spans of a text without classes are those of its sentences, as in a file.
    items = digest.watched(items_of(records, reading, name, tags=kinds.tags))
    usual = respelled(iter(items), name, expecting(data, expected), notes.append)
    read = to_sentences(usual.items, reading, over_ends=over_ends)
    sentences = tuple(_with_labels(read, kinds, name))
    if not sentences:
        raise holds_nothing(name, kinds)
    found = "records without them"
    return Split(
        path=name,
        sentences=sentences,
        detection=_scheme(sentences, data, name, expected, found) if kinds.tags else None,
        notes=tuple(dict.fromkeys([*notes, *over_ends.notes(name)])),
        digest=digest.hash.hexdigest(),
        notation=usual.notation,
    )


def _scheme(
    sentences: Sequence[Sentence],
    data: DataConfig,
    name: str,
    expected: str | None,
    found: str,
    remedy: str = "",
) -> Detection:
    """The scheme of the tags, or of the first of several tag columns, which all sentences have."""
    if not data.tag_columns:
        return scheme_of(sentences, name, data.scheme, expected, remedy)
    if any(len(sentence.columns) != len(data.tag_columns) for sentence in sentences):
        wanted = plural(len(data.tag_columns), "tag column")
        raise DataError(
            f"{name}: expected a column file or CoNLL-U with {wanted} (data.tag_column); found "
            f"{found}"
        )
    if data.first_tag_column in NO_TAGS:  # a lemma may look like a tag of a span
        return scheme_of(sentences, name, PLAIN, None)
    return scheme_of(sentences, name, data.scheme, expected, remedy)


def for_training(
    sentences: Sequence[Sentence], scheme: str, max_length: int | None
) -> list[Sentence]:
    """Sentences with tags in the training scheme, those over `max_length` cut into windows.

    The windows overlap, so that every word is seen with its neighbours; words that two of them
    share count twice. With a `max_length` of None nothing is cut.
    """
    pieces: list[Sentence] = []
    for sentence in sentences:
        # Tags are converted last: windows end at spans, which are found in any scheme.
        if max_length is None:
            found = [(0, len(sentence))]
        elif has_spans(scheme):
            found = windows_between_spans(sentence.tags or (), max_length)
        else:
            found = windows(len(sentence), max_length)
        for window in found:
            part = cut(sentence, window)
            pieces.append(replace(part, tags=convert(part.tags or (), scheme)))
    return pieces


def _with_labels(sentences: Iterable[Sentence], kinds: LabelKinds, path: str) -> Iterator[Sentence]:
    """The sentences without tags and classes that were not asked for.

    Raises:
        FormatError: one has no tags, and they were asked for.
    """
    for sentence in sentences:
        if kinds.tags:
            if sentence.tags is None:
                line = sentence.lines[0] if sentence.lines else 1
                raise FormatError(path, line, "expected tags, found none")
            yield sentence
        elif sentence.tags is None and (kinds.classes or not sentence.labels):
            yield sentence  # as it is: most corpora of texts have nothing to leave out
        else:
            yield replace(sentence, tags=None, labels=sentence.labels if kinds.classes else ())


def with_document_note(train: Split, limit: int) -> Split:
    """The corpus, with a note where nothing in it marks documents.

    Args:
        train: the corpus that is learnt from.
        limit: maximum number of words that are read as one sequence.

    Raises:
        DataError: no sentence of it follows another one of its document.
    """
    numbers = [sentence.document for sentence in train.sentences]
    if all(left is None or left != right for left, right in pairwise(numbers)):
        raise DataError(
            f"{train.path}: each sentence is a document of its own, so that "
            "encoder.context=document has no effect; use a format that marks documents (-DOCSTART- "
            "in column files, # newdoc in CoNLL-U, texts with spans), or encoder.context=sentence"
        )
    if len({*numbers}) > 1:
        return train
    said = (
        f"{train.path}: no mark of a document (-DOCSTART-, # newdoc): all of it is one document, "
        f"read in parts of up to {limit:,} words"
    )
    return replace(train, notes=(*train.notes, said))


def with_consistency_note(train: Split, share: float) -> Split:
    """The corpus, with a note where no two of its sentences are in a document that is marked.

    Args:
        train: the corpus that is learnt from.
        share: `head.label_consistency`, as it was asked for.
    """
    numbers = [sentence.document for sentence in train.sentences]
    if any(left == right and (left or 0) > 0 for left, right in pairwise(numbers)):
        return train
    said = (
        f"{train.path}: no mark (-DOCSTART-, # newdoc) puts two sentences into one document; "
        f"head.label_consistency={share:g} changes the answers for texts and marked files alone"
    )
    return replace(train, notes=(*train.notes, said))


def distinct_phrases(split: Split) -> Split:
    """Each phrase with its class once: single words occur thousands of times as phrases.

    Phrases of trees as texts of their own: Socher et al. 2013.

    Raises:
        ConfigError: the texts are no phrases of trees.
    """
    if owners := not_of(split, "tree_phrases"):
        found = f"{split.path} is read as {split.format}"
        problem = f"has an effect on {owners} alone, and {found}; leave it out"
        raise ConfigError("data.tree_phrases", [problem])
    # Keyed by class too: a phrase that occurs with two classes keeps both.
    phrases = {(sentence.words, sentence.labels): sentence for sentence in split.sentences}
    repeated = len(split.sentences) - len(phrases)
    are = "that repeats another is" if repeated == 1 else "that repeat another are"
    said = (f"{split.path}: {plural(repeated, 'phrase')} {are} left out",) if repeated else ()
    return replace(split, sentences=tuple(phrases.values()), notes=(*split.notes, *said))


def with_option_notes(split: Split, data: DataConfig) -> Split:
    """A corpus with a note on each option that its format does not have.

    A note and no error: runs that were begun in spite of it must be resumed.
    """
    defaults, said = DataConfig(), []
    for option in sorted({each for format in FORMATS.values() for each in format.options}):
        value = getattr(data, option)
        if value != getattr(defaults, option) and (owners := not_of(split, option)):
            said.append(
                f"{split.path}: data.{option} = {value} has no effect: it is for {owners}, and "
                f"this is read as {split.format}"
            )
    return replace(split, notes=(*split.notes, *said)) if said else split


def not_of(split: Split, option: str) -> str:
    """The formats that have an option, in words; empty if the corpus is in one of them."""
    owners = [format.name for format in FORMATS.values() if option in format.options]
    return "" if split.format in owners else joined(owners)


# Lines, of which nine of ten show what a file is, up to the first one that is no token's. A text
# may have a book a line.
_LOOKED_AT, _LONGEST_LINE = 200, 1000
