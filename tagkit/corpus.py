"""The corpora of a run: read as configured, their scheme told, split and converted for training."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from tagkit.alignment import to_sentences
from tagkit.config import Config, DataConfig
from tagkit.errors import DataError, FormatError, SchemeError
from tagkit.formats.columns import read_layout
from tagkit.formats.layout import Layout, column_options
from tagkit.formats.lines import Source, source_name
from tagkit.formats.reading import Reading
from tagkit.formats.table import FORMATS, Format, recognise, settled
from tagkit.schemes import Detection, convert, detect, illegal_count, to_spans
from tagkit.sentence import Sentence
from tagkit.windows import cut, windows, windows_between_spans


@dataclass(frozen=True)
class Split:
    """One corpus file, or the part of it that one is made of.

    Attributes:
        path: of the file.
        sentences: with the tags of the file.
        detection: the scheme that these are in.
        notes: what the reader had to say.
    """

    path: str
    sentences: tuple[Sentence, ...]
    detection: Detection
    notes: tuple[str, ...] = ()

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
        layout: where things are in the lines of the training file; None where it is no column
            file.
    """

    train: Split
    dev: Split
    test: Split | None
    layout: Layout | None

    @property
    def scheme(self) -> str:
        """The training file's scheme, which predictions are written in."""
        return self.train.detection.scheme

    def unseen_share(self) -> float | None:
        """Share of dev's entities whose label and words never occur in train; None without any."""
        known = set(self.train.entities())
        unseen = [entity not in known for entity in self.dev.entities()]
        return sum(unseen) / len(unseen) if unseen else None


def load_corpus(config: Config) -> Corpus:
    """Train, dev and test as the configuration says; dev is split off train where there is none.

    Raises:
        DataError: a file is missing, empty, or unfit to learn from.
        FormatError: a line cannot be read.
    """
    data = config.data
    if not data.train_file:
        raise DataError("no training corpus: name one with --train FILE or data.train_file")
    train = _read(data.train_file, data, None)
    if data.dev_file:
        dev = _read(data.dev_file, data, train.detection.scheme)
    else:
        train, dev = _split_off(train, data.dev_fraction, config.train.seed)
    test = _read(data.test_file, data, train.detection.scheme) if data.test_file else None
    if len(train.labels()) < 1:
        raise DataError(f"{train.path}: every tag is O, so there is nothing to learn")
    return Corpus(train, dev, test, _layout(data.train_file, data))


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
    """Sentences with tags in the training scheme, those over `max_length` cut into windows.

    The windows overlap, so that every word is seen with its neighbours; words that two of them
    share count twice.
    """
    pieces: list[Sentence] = []
    for sentence in sentences:
        if scheme == "labels":
            found = windows(len(sentence), max_length)
        else:
            found = windows_between_spans(sentence.tags or (), max_length)
        for window in found:
            part = cut(sentence, window)
            pieces.append(replace(part, tags=convert(part.tags or (), scheme)))
    return pieces


def _read(path: str, data: DataConfig, expected: str | None) -> Split:
    notes: list[str] = []
    sentences = tuple(_tagged(path, Reading(data, note=notes.append)))
    if not sentences:
        raise DataError(f"{source_name(path)}: holds no sentence")
    tags = [sentence.tags or () for sentence in sentences]
    try:
        detection = judge_scheme(tags, path, data.scheme, expected)
    except SchemeError as error:
        raise FormatError(path, _line_of(error.tag, sentences), error.problem) from None
    return Split(path, sentences, detection, tuple(dict.fromkeys(notes)))


def _tagged(path: str, reading: Reading) -> Iterator[Sentence]:
    """The sentences of a corpus, all of them with tags."""
    source = Source(path, reading.data.encoding)
    format = _recognise(source, reading.data)
    if format.holds in ("classes", "text"):
        raise DataError(
            f"{source.name}: expected tokens with tags or texts with spans, found {format.about} "
            f"(read as {format.name}; data.format or --input-format says otherwise)"
        )
    for sentence in to_sentences(format.read(source, settled(reading, format)), reading):
        if sentence.tags is None:
            raise FormatError(source.name, sentence.lines[0], "expected tags, found none")
        yield sentence


def _recognise(source: Source, data: DataConfig) -> Format:
    """The format of a corpus with tags: what looks like nothing else is to be a column file."""
    format = recognise(source, data.format)
    return FORMATS["columns"] if data.format == "auto" and format.name == "text" else format


def _layout(path: str, data: DataConfig) -> Layout | None:
    source = Source(path, data.encoding)
    if _recognise(source, data).name not in ("columns", "conllu"):
        return None
    return read_layout(source, column_options(data, with_tags=True))


def _line_of(tag: str, sentences: Sequence[Sentence]) -> int:
    """Number of the first line that has this tag."""
    lines = (
        sentence.lines[(sentence.tags or ()).index(tag)]
        for sentence in sentences
        if tag in (sentence.tags or ())
    )
    return next(lines, 1)


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
