"""The corpora of a run: read as configured, their scheme told, split and converted for training."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from tagkit.config import Config, DataConfig
from tagkit.errors import DataError, FormatError, SchemeError
from tagkit.formats.columns import ColumnOptions, Layout, read_blocks, read_layout, read_sentences
from tagkit.schemes import Detection, convert, detect, illegal_count, to_spans
from tagkit.sentence import Sentence


@dataclass(frozen=True)
class Split:
    """One corpus file, or the part of it that one is made of.

    Attributes:
        path: of the file.
        sentences: with the tags of the file.
        detection: the scheme that these are in.
    """

    path: str
    sentences: tuple[Sentence, ...]
    detection: Detection

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return sum(len(sentence) for sentence in self.sentences)

    def labels(self) -> set[str]:
        """Types of the spans, or plain labels."""
        if self.detection.scheme == "labels":
            return {tag for sentence in self.sentences for tag in sentence.tags or ()}
        return {label for label, _ in self.entities()}

    def entities(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Label and words of each span."""
        if self.detection.scheme == "labels":
            return
        for sentence in self.sentences:
            for span in to_spans(sentence.tags or ()):
                yield span.label, sentence.words[span.start : span.end]


@dataclass(frozen=True)
class Corpus:
    """What a run learns from and is judged by.

    Attributes:
        train: the corpus to learn from.
        dev: chooses the best epoch.
        test: scored once at the end; may be None.
        layout: where things are in the lines of the training file.
    """

    train: Split
    dev: Split
    test: Split | None
    layout: Layout

    @property
    def scheme(self) -> str:
        """The training file's scheme, which predictions are written in."""
        return self.train.detection.scheme

    def unseen_share(self) -> float | None:
        """Share of dev's entities whose label and words never occur in train; None without any."""
        known = set(self.train.entities())
        unseen = [entity not in known for entity in self.dev.entities()]
        return sum(unseen) / len(unseen) if unseen else None


def column_options(data: DataConfig, *, with_tags: bool) -> ColumnOptions:
    """The configuration's options of how columns are read."""
    return ColumnOptions(
        format=data.format,
        token=data.token_column,
        tag=data.tag_column,
        features=data.feature_columns,
        with_tags=with_tags,
    )


def load_corpus(config: Config) -> Corpus:
    """Train, dev and test as the configuration says; dev is split off train where there is none.

    Raises:
        DataError: a file is missing, empty, or unfit to learn from.
        FormatError: a line cannot be read.
    """
    data = config.data
    if not data.train_file:
        raise DataError("no training corpus: name one with --train FILE or data.train_file")
    options = column_options(data, with_tags=True)
    train = _read(data.train_file, data, None)
    if data.dev_file:
        dev = _read(data.dev_file, data, train.detection.scheme)
    else:
        train, dev = _split_off(train, data.dev_fraction, config.train.seed)
    test = _read(data.test_file, data, train.detection.scheme) if data.test_file else None
    if len(train.labels()) < 1:
        raise DataError(f"{train.path}: every tag is O, so there is nothing to learn")
    return Corpus(train, dev, test, read_layout(data.train_file, options, data.encoding))


def read_split(path: str, data: DataConfig, expected: str | None) -> Split:
    """One corpus file; its scheme is `expected` unless another fits its tags better."""
    return _read(path, data, expected)


def judge_scheme(
    tags: Sequence[Sequence[str]], path: str, named: str, expected: str | None
) -> Detection:
    """The scheme of a file's tags: the one that is named, or the one that fits best.

    Args:
        tags: one sequence a sentence.
        path: of the file, for messages.
        named: `data.scheme`.
        expected: taken where it fits no worse than the best; None for no expectation.

    Raises:
        SchemeError: some tags are those of no scheme; its message does not name the file.
        DataError: the tags are not those of the named or expected kind.
    """
    if named == "labels":
        return Detection("labels", 0, 0)
    found = detect(tags)
    wanted = named if named != "auto" else expected
    if wanted is None or wanted == found.scheme:
        return found
    if wanted == "labels" and not any(to_spans(sequence) for sequence in tags):
        return Detection("labels", found.transitions, 0)  # O is a label as any other
    if found.scheme == "labels" or wanted == "labels":
        raise DataError(f"{path}: expected tags in the scheme {wanted}, found {found.scheme}")
    illegal = illegal_count(tags, wanted)
    if named != "auto" or illegal <= found.illegal:
        return Detection(wanted, found.transitions, illegal)
    return found


def training_scheme(config: Config) -> str:
    """The scheme that the model learns, of a configuration whose data.scheme is resolved."""
    return "labels" if config.data.scheme == "labels" else config.data.train_scheme


def for_training(sentences: Sequence[Sentence], scheme: str, max_length: int) -> list[Sentence]:
    """Sentences with tags in the training scheme, those over `max_length` cut into pieces."""
    pieces: list[Sentence] = []
    for sentence in sentences:
        converted = replace(sentence, tags=convert(sentence.tags or (), scheme))
        if len(sentence) <= max_length:
            pieces.append(converted)
        else:
            # Converted again: a span that is cut needs an end of its own in the first piece.
            parts = list(_pieces(converted, max_length))
            pieces += [replace(part, tags=convert(part.tags or (), scheme)) for part in parts]
    return pieces


def _pieces(sentence: Sentence, max_length: int) -> Iterator[Sentence]:
    for start in range(0, len(sentence), max_length):
        part = slice(start, start + max_length)
        yield Sentence(
            words=sentence.words[part],
            tags=(sentence.tags or ())[part],
            features=tuple(column[part] for column in sentence.features),
        )


def _read(path: str, data: DataConfig, expected: str | None) -> Split:
    sentences = tuple(read_sentences(path, column_options(data, with_tags=True), data.encoding))
    tags = [sentence.tags or () for sentence in sentences]
    try:
        detection = judge_scheme(tags, path, data.scheme, expected)
    except SchemeError as error:
        raise FormatError(path, _line_of(error.tag, path, data), error.problem) from None
    return Split(path, sentences, detection)


def _line_of(tag: str, path: str, data: DataConfig) -> int:
    """Number of the first line of a column file that has this tag."""
    for block in read_blocks(path, column_options(data, with_tags=True), data.encoding):
        if block.sentence and block.sentence.tags and tag in block.sentence.tags:
            return block.first_line + block.rows[block.sentence.tags.index(tag)]
    return 1


def _split_off(train: Split, fraction: float, seed: int) -> tuple[Split, Split]:
    """Train without a random part of its sentences, and that part."""
    if len(train.sentences) < 2:
        raise DataError(
            f"{train.path}: one sentence is not enough to split off a dev corpus; name one with "
            "--dev FILE"
        )
    # At least one sentence is held out, and at least one kept.
    count = min(max(1, round(len(train.sentences) * fraction)), len(train.sentences) - 1)
    order = list(range(len(train.sentences)))
    random.Random(seed).shuffle(order)
    chosen = set(islice(order, count))
    kept = tuple(s for i, s in enumerate(train.sentences) if i not in chosen)
    held_out = tuple(s for i, s in enumerate(train.sentences) if i in chosen)
    name = f"{Path(train.path).name} (split off)"
    return replace(train, sentences=kept), replace(train, path=name, sentences=held_out)
