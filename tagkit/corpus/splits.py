"""The corpora of a run: read as configured, their scheme told, split and converted for training."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tagkit.config import Config, DataConfig
from tagkit.corpus.alignment import to_sentences
from tagkit.corpus.formats.columns.layout import Layout
from tagkit.corpus.formats.options import Reading, source_of
from tagkit.corpus.formats.source import Source, is_pipe, source_name
from tagkit.corpus.formats.table import find_format, settled
from tagkit.corpus.split import Split, hold_out, with_label_notes
from tagkit.errors import DataError, FormatError, SchemeError, shorten
from tagkit.text.records import Sentence
from tagkit.text.schemes import Detection, convert, detect, illegal_count, to_spans
from tagkit.text.windows import cut, windows, windows_between_spans
from tagkit.wording import Message, Setting, listed


@dataclass(frozen=True)
class Corpus:
    """What a run learns from and is judged by.

    Attributes:
        train: the corpus to learn from.
        dev: chooses the best epoch.
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
        known = set(self.train.entities())
        unseen = [entity not in known for entity in self.dev.entities()]
        return sum(unseen) / len(unseen) if unseen else None


def load_corpus(config: Config) -> Corpus:
    """Train, dev and test as the configuration says; dev is split off train where there is none.

    Raises:
        DataError: a file is missing, empty, or unfit to learn from.
        FormatError: a line cannot be read.
    """
    data, task = config.data, config.task
    if not data.train_file:
        raise DataError(Message("no training corpus: name one with ", Setting("data.train_file")))
    train = read_split(data.train_file, data, task, None)
    if data.tree_phrases:
        train = _distinct(train)
    several = task != "tag" and several_classes(config, train)
    if task != "tag":  # before a part is held out, whose lines are those of the file
        check_classes(train, several=several)
    scored = data.model_copy(update={"tree_phrases": False})
    if data.dev_file:
        dev = read_split(data.dev_file, scored, task, train.scheme)
    else:
        train, dev = hold_out(train, data.dev_fraction, config.train.seed)
    test = read_split(data.test_file, scored, task, train.scheme) if data.test_file else None
    if task != "classify" and train.scheme != "labels" and not any(train.entities()):
        raise DataError(f"{train.path}: every tag is O, so there is nothing to learn")
    if task != "tag":
        for split in (dev, test):
            if split:
                check_classes(split, several=several)
        _check_variety(train, dev)
    known = train.labels(), train.classes().keys(), train.path
    dev = with_label_notes(dev, *known)
    test = with_label_notes(test, *known) if test else None
    return Corpus(train, dev, test)


def read_split(
    path: str, data: DataConfig, task: str, expected: str | None, source: Source | None = None
) -> Split:
    """One corpus file.

    Args:
        path: of the file.
        data: how it is read.
        task: "tag", "classify" or "both": which of tags and classes it must have.
        expected: the scheme that its tags are in, unless another fits them better.
        source: the file, where its beginning has been looked at already.
    """
    name = source_name(path)
    notes: list[str] = []
    layouts: list[Layout] = []
    reading = Reading(data, whole=task != "tag", note=notes.append, on_layout=layouts.append)
    sentences = tuple(_labelled(source or source_of(path, data), reading, task))
    if not sentences:
        raise _holds_nothing(name, task)
    detection = None
    if task != "classify":
        tags = [sentence.tags or () for sentence in sentences]
        try:
            detection = judge_scheme(tags, name, data.scheme, expected)
        except SchemeError as error:
            raise FormatError(name, _line_of(error.tag, sentences), error.problem) from None
    return Split(
        name, sentences, detection, tuple(dict.fromkeys(notes)), layouts[0] if layouts else None
    )


def require_files(config: Config, what: str) -> None:
    """Make sure that the corpora can be read several times.

    Args:
        config: names them.
        what: reads them, as in 'several seeds'.

    Raises:
        DataError: one is standard input or a pipe.
    """
    for path in (config.data.train_file, config.data.dev_file, config.data.test_file):
        if is_pipe(path):
            raise DataError(
                f"{source_name(path)}: can be read once, and {what} read it several times; save it "
                "to a file and name that"
            )


def _distinct(split: Split) -> Split:
    """Each phrase with its class once: single words occur thousands of times as phrases."""
    phrases = {(sentence.words, sentence.labels): sentence for sentence in split.sentences}
    repeated = len(split.sentences) - len(phrases)
    said = f"{split.path}: {repeated:,} phrases that repeat another are left out"
    return replace(split, sentences=tuple(phrases.values()), notes=(*split.notes, said))


def several_classes(config: Config, train: Split) -> bool:
    """Whether a text may have several classes: as configured, or as some training text has."""
    if config.head.multi_label == "auto":
        return any(len(sentence.labels) > 1 for sentence in train.sentences)
    return config.head.several_classes


def check_classes(split: Split, *, several: bool) -> None:
    """Raise where a text has not as many classes as it may have.

    Raises:
        FormatError: a text without a class, or with several.
    """
    if several:
        return
    for sentence in split.sentences:
        if len(sentence.labels) != 1:
            found = listed([shorten(label) for label in sentence.labels]) or "none"
            raise FormatError(
                split.path, sentence.lines[0] if sentence.lines else 1,
                f"expected one class, found {found} (head.multi_label says how many a text has)",
            )  # fmt: skip


def _check_variety(train: Split, dev: Split) -> None:
    """Raise where there is nothing to tell apart, or dev has classes of another kind."""
    known = train.classes()
    always = [label for label, count in known.items() if count == len(train.sentences)]
    if always and len(known) == 1:
        raise DataError(
            f"{train.path}: every text is of the class {shorten(always[0])}: expected two classes "
            "or more"
        )
    if not known:
        raise DataError(f"{train.path}: no text has a class, so there is nothing to learn")
    found = dev.classes()
    if found and not found.keys() & known.keys():
        ours, theirs = (listed(sorted(labels)[:5]) for labels in (known, found))
        raise DataError(
            f"{dev.path}: expected classes of {train.path}, such as {ours}; found none of them, "
            f"but {theirs}"
        )


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


def for_training(
    sentences: Sequence[Sentence], scheme: str, max_length: int | None
) -> list[Sentence]:
    """Sentences with tags in the training scheme, those over `max_length` cut into windows.

    The windows overlap, so that every word is seen with its neighbours; words that two of them
    share count twice. With a `max_length` of None nothing is cut.
    """
    pieces: list[Sentence] = []
    for sentence in sentences:
        if max_length is None:
            found = [(0, len(sentence))]
        elif scheme == "labels":
            found = windows(len(sentence), max_length)
        else:
            found = windows_between_spans(sentence.tags or (), max_length)
        for window in found:
            part = cut(sentence, window)
            pieces.append(replace(part, tags=convert(part.tags or (), scheme)))
    return pieces


def _holds_nothing(name: str, task: str) -> DataError:
    return DataError(f"{name}: holds no {'sentence' if task == 'tag' else 'text'}")


def _is_blank(source: Source) -> bool:
    return not any(line.strip() for lines in source.pieces() for line in lines)


def _labelled(source: Source, reading: Reading, task: str) -> Iterator[Sentence]:
    """The sentences of a corpus, all of them with tags, or whole texts with classes, or both."""
    found = find_format(source, reading.data.format)
    format = found.format
    if format.holds in _UNFIT[task] or (task == "classify" and format.name in _WITHOUT_CLASSES):
        if format.name == "text" and not source.is_folder() and _is_blank(source):
            raise _holds_nothing(source.name, task)
        remedy = Message(Setting("data.format"), " says otherwise")
        if task == "tag" and format.holds == "classes":
            remedy = Message(Setting("task", "classify"), " learns classes; ", remedy)
        if task == "tag" and format.name == "text" and not source.is_folder():
            remedy = Message(
                Setting("data.format", "columns"),
                " names the first line that does not fit; ",
                remedy,
            )
        raise DataError(
            Message(
                f"{source.name}: expected {_WANTED[task]}, found {format.about} "
                f"(read as {format.name}; ",
                remedy,
                ")",
            )
        )
    if found.note:
        reading.note(found.note)
    for sentence in to_sentences(format.read(source, settled(reading, format)), reading):
        if task != "classify" and sentence.tags is None:
            raise FormatError(source.name, sentence.lines[0], "expected tags, found none")
        yield replace(sentence, tags=None) if task == "classify" else sentence


_WANTED = {
    "tag": "tokens with tags or texts with spans",
    "classify": "texts with classes",
    "both": "tokens with tags and a class of the whole",
}
_UNFIT = {"tag": ("classes", "text"), "classify": ("text",), "both": ("classes", "text")}
_WITHOUT_CLASSES = ("columns", "conllu", "brat", "slash")


def _line_of(tag: str, sentences: Sequence[Sentence]) -> int:
    """Number of the first line that has this tag."""
    lines = (
        sentence.lines[(sentence.tags or ()).index(tag)]
        for sentence in sentences
        if tag in (sentence.tags or ())
    )
    return next(lines, 1)
