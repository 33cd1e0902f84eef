"""`tagkit convert`: a corpus in one format -> the same corpus in another.

Column files that stay column files keep every line, and get other tags alone. Everything else goes
through sentences or documents; what the new format cannot hold is reported.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tagkit.config import DataConfig
from tagkit.corpus.alignment import overlaps, to_document, to_sentences
from tagkit.corpus.answers import Answer, as_items, column_names, holds_sentences, left_out
from tagkit.corpus.expected_labels import other_column, refuse_unread_columns
from tagkit.corpus.formats.columns.layout import CONLLU, column_options
from tagkit.corpus.formats.columns.reader import ColumnReader
from tagkit.corpus.formats.columns.writer import replace_tags
from tagkit.corpus.formats.options import Item, Reading, source_of
from tagkit.corpus.formats.pieces import Piece, Writing, naming_file, one_file
from tagkit.corpus.formats.recognition import find_format
from tagkit.corpus.formats.source import Source
from tagkit.corpus.formats.table import FORMATS, Format, settled
from tagkit.corpus.joined_classes import JOINED_REMEDY, joined_classes, joined_problem
from tagkit.corpus.target_limits import may_lack_classes, note_losses, require_labels
from tagkit.errors import DataError, SpanErrors
from tagkit.text.records import Document, Sentence
from tagkit.text.scheme_detection import Detection, scheme_of
from tagkit.text.schemes import DISPLAY, convert, has_spans
from tagkit.wording import Message, Setting, listed, once


@dataclass(slots=True)
class Converted:
    """A corpus in its new format, which is read and written as its pieces are taken.

    Attributes:
        name: of the input, for messages.
        format: of the input.
        target: format of the output.
        pieces: the output. Taking them raises DataError where the corpus cannot be read, or holds
            nothing that the target could hold, and FormatError at a line that cannot be read or
            written.
        records: number of sentences or texts in the pieces so far.
    """

    name: str
    format: Format
    target: Format
    pieces: Iterator[Piece]
    records: int = 0


@dataclass(frozen=True, slots=True)
class _Job:
    """What the steps of one conversion share.

    Attributes:
        source: of the input.
        format: of the input.
        target: format of the output.
        scheme: of the tags that are written; None for that of the input.
        single: whether the output is one file, or one pair of files.
        reading: how the input is read; its `note` says each sentence once.
    """

    source: Source
    format: Format
    target: Format
    scheme: str | None
    single: bool
    reading: Reading


def convert_corpus(
    path: str,
    data: DataConfig,
    choose_target: Callable[[Format], Format],
    scheme: str | None,
    *,
    single: bool,
    note: Callable[[str], None],
) -> Converted:
    """A corpus in another format, or its tags in another scheme.

    Args:
        path: of the corpus, a file or a folder, or '-'.
        data: how it is read.
        choose_target: the format to write, given the one that is read.
        scheme: of the tags that are written; None for that of the corpus (IOB2 for spans of
            characters).
        single: whether a format that could fill a folder is to write one file or pair.
        note: called with a sentence on what the target cannot hold.

    Raises:
        DataError: the corpus cannot be read.
    """
    if data.tag_columns:
        columns = Setting("data.tag_column")
        raise DataError(Message(columns, ": expected one column, as formats have one tag a token"))
    note = once(note)
    source = source_of(path, data)
    found = find_format(source, data.format)
    if found.note:
        note(found.note)
    refuse_unread_columns(data, source.name, [found.format])
    if scheme and found.format.holds in ("classes", "text"):
        holds = f"{source.name}: holds {found.format.about} (read as {found.format.name}): "
        raise DataError(Message(holds, Setting("scheme"), " is for tags of spans"))
    # A corpus is read as complete as its format allows: the target decides what is left out.
    reading = Reading(data, all_features=True, with_text=True, with_extra=True, note=note)
    job = _Job(
        source=source,
        format=found.format,
        target=choose_target(found.format),
        scheme=scheme,
        single=single,
        reading=settled(reading, found.format),
    )
    converted = Converted(source.name, job.format, job.target, iter(()))
    converted.pieces = _pieces(job, converted)
    return converted


def convert_records(
    records: Iterable[Item | Answer],
    choose_target: Callable[[Format], Format],
    scheme: str | None,
    *,
    single: bool,
    note: Callable[[str], None],
) -> Converted:
    """Records of a program in a format; the other arguments are those of `convert_corpus`.

    Raises:
        DataError: there are no records, or something is none.
    """
    given = list(records)
    if not given:
        raise DataError("records: expected at least one, found none")
    like = format_like(given)
    target = choose_target(like)
    split = "tags" in (like.holds, target.holds)
    items = list(as_items(given, split=split))
    if parts := left_out(given, are_drawn=target.holds == "all" and not split):
        note(
            f"{listed(parts)} of answers are left out, as records of a corpus have none; `to_dict` "
            "of each answer has them"
        )
    first, *others = next(filter(None, map(column_names, given)), ("",))
    if others:
        note(f"tags of {first} are written; those of {', '.join(others)} are left out, as formats "
             "have one tag a token")  # fmt: skip
    # A source that is never opened: messages name it.
    source = Source("records", "utf-8")
    reading = Reading(DataConfig(), all_features=True, with_text=True, note=once(note))
    job = _Job(source, like, target, scheme, single, reading)
    converted = Converted(source.name, like, target, iter(()))
    converted.pieces = _pieces_of(job, items, converted)
    return converted


def format_like(records: Sequence[Item | Answer]) -> Format:
    """A format that holds what the records hold; it decides between members of a family."""
    if holds_sentences(records):
        holds = "tags"
    elif all(isinstance(each, Document) and each.labels and not each.spans for each in records):
        holds = "classes"
    else:
        holds = "spans"
    row = next(row for row in FORMATS.values() if row.holds == holds)
    return replace(row, name="the record", is_grid=False)


def _pieces(job: _Job, converted: Converted) -> Iterator[Piece]:
    # Comments, other columns and the spacing of lines survive only where no record is made.
    if job.format.is_grid and job.format is job.target:
        yield from _same_lines(job, converted)
        return
    # All of it is read first: whether tags are plain labels shows in the whole corpus alone.
    items = list(job.format.records(job.source, job.reading).items)
    if not items:
        raise DataError(f"{job.source.name}: holds nothing to convert")
    _look_for_tags(job, items)
    yield from _pieces_of(job, items, converted)


def _look_for_tags(job: _Job, items: Sequence[Item]) -> None:
    """Look whether the tag column of CoNLL-U holds tags, where the target has a place for them.

    Raises:
        DataError: all of its cells are empty, and nobody named it: tags may be in another one.
    """
    data = job.reading.data
    if job.format.name != CONLLU or job.target.holds not in ("tags", "spans"):
        return
    tags = {tag for item in items if isinstance(item, Sentence) for tag in item.tags or ()}
    if tags != {"_"}:
        return
    problem = f"{job.source.name}: every tag is '_'"
    if data.first_tag_column is None:
        raise DataError(Message(problem, other_column(CONLLU, data)))
    job.reading.note(f"{problem} in {data.first_tag_column}")


def _pieces_of(job: _Job, items: Sequence[Item], converted: Converted) -> Iterator[Piece]:
    """The pieces of records, which need not come from a file."""
    # Before it is said what is left out.
    require_labels(job.format, job.target, items, job.source.name)
    detection = _detection(job, [item for item in items if isinstance(item, Sentence)])
    plain = detection is not None and not has_spans(detection.scheme)
    note_losses(job.format, job.target, items, job.reading.note, single=job.single)
    if joined := joined_classes(label for item in items for label in item.labels):
        job.reading.note(f"{job.source.name}: {joined_problem(joined)}. {JOINED_REMEDY}")
    # A writer takes records of one class, so whatever was read becomes that first.
    written: Iterator[Item]
    if job.target.holds == "tags":
        written = _as_sentences(job, items)
    elif job.target.holds in ("text", "all"):
        written = iter(items)
    else:
        written = _as_documents(job, items, plain=plain)
    several = may_lack_classes(job.format, items)
    names = [name for name, _ in items[0].extra]  # a table may have two columns of one name
    names += dict.fromkeys(name for item in items for name, _ in item.extra if name not in names)
    writing = Writing(plain, job.single, job.reading.note, several_classes=several, names=names)
    found = job.target.write(_counted(written, converted), writing)
    yield from naming_file(found, lambda: job.source.name)


def _counted(items: Iterator[Item], converted: Converted) -> Iterator[Item]:
    for item in items:
        converted.records += 1
        yield item


def _same_lines(job: _Job, converted: Converted) -> Iterator[Piece]:
    """Every line as it is, with other tags where another scheme is wanted."""
    # Without another scheme a file needs no tags: its lines are only passed through.
    options = column_options(job.reading.data, with_tags=job.scheme is not None)
    reader = ColumnReader(job.source.name, options)
    blocks = list(reader.blocks(job.source.pieces()))
    sentences = [block.sentence for block in blocks if block.sentence]
    if not sentences:
        raise DataError(f"{job.source.name}: holds nothing to convert")
    if job.scheme:
        _note_schemes(job, job.scheme, _detection(job, sentences))
    for block in blocks:
        converted.records += block.sentence is not None
        if job.scheme and block.sentence and reader.layout:
            tags = convert(block.sentence.tags or (), job.scheme)
            yield from one_file(replace_tags(block, reader.layout, tags))
        else:
            yield from one_file(block.lines)


def _as_sentences(job: _Job, items: Sequence[Item]) -> Iterator[Sentence]:
    """For formats of tagged tokens."""
    sentences = list(to_sentences(items, job.reading))
    marked = {item.document for item in items if isinstance(item, Sentence)}
    keeps_text = job.target.name == CONLLU  # in `# text` and MISC
    if not keeps_text and any(sentence.text is not None for sentence in sentences):
        job.reading.note(
            f"{job.target.name} holds words alone: the white space between them is not kept"
        )
    if job.scheme and any(sentence.tags for sentence in sentences):
        # Looked at again: tags of documents were made just now from their spans.
        _note_schemes(job, job.scheme, _detection(job, sentences))
    for sentence in sentences:
        if sentence.document not in marked:  # of a text of its own, which has no mark
            sentence = replace(sentence, document=None)
        if job.scheme and sentence.tags:
            sentence = replace(sentence, tags=convert(sentence.tags, job.scheme))
        yield sentence


def _as_documents(job: _Job, items: Sequence[Item], *, plain: bool) -> Iterator[Document]:
    """For formats of spans of characters, or of classes."""
    target, note = job.target, job.reading.note
    sentences = [item for item in items if isinstance(item, Sentence)]
    if plain and sentences and target.holds == "spans":
        raise DataError(
            f"{job.source.name}: its tags are plain labels, which are no spans: "
            f"{target.name} cannot hold them, jsonl-tokens or columns can"
        )
    documents = [
        to_document(item, plain=plain, source=job.source.name)
        if isinstance(item, Sentence)
        else item
        for item in items
    ]
    # Those of sentences too: words of a multiword token share a place, and may be in two spans.
    problems = [problem for document in documents for problem in overlaps(document)]
    # Formats of classes have no place for spans anyway, which is reported.
    if problems and target.holds == "spans":
        raise SpanErrors(problems, "Keep one of each two")
    if target.holds == "classes" and any(sentence.tags for sentence in sentences):
        note(f"{target.name} has no place for tags: they are left out")
    if any(sentence.features for sentence in sentences):
        note(f"{target.name} has no place for feature columns: they are left out")
    for item, document in zip(items, documents, strict=True):
        # A reader of brat, say, finds the tokens of a text by itself.
        drops_tokens = isinstance(item, Sentence) and not target.keeps_tokens
        yield replace(document, tokens=None) if drops_tokens else document


def _detection(job: _Job, sentences: Sequence[Sentence]) -> Detection | None:
    """The scheme of the tags; None where there are none.

    Raises:
        DataError: the tags are of no scheme, or of another than data.scheme names.
    """
    tagged = [sentence for sentence in sentences if sentence.tags]
    return scheme_of(tagged, job.source.name, job.reading.data.scheme) if tagged else None


def _note_schemes(job: _Job, scheme: str, found: Detection | None) -> None:
    """Note which scheme is converted to which.

    Raises:
        DataError: the tags are plain labels, which are in no scheme.
    """
    if found is None or not has_spans(found.scheme):
        raise DataError(
            f"{job.source.name}: its tags are plain labels, which no scheme can be given to"
        )
    # Such tags do not come back from the new scheme as they were: their spans do.
    if found.illegal:
        job.reading.note(f"{job.source.name}: {found}; ill-formed spans are read as conlleval does")
    job.reading.note(f"tags: {DISPLAY[found.scheme]} to {DISPLAY[scheme]}")
