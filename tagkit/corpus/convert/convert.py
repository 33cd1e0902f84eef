"""`tagkit convert`: a corpus in one format -> the same corpus in another.

Column files that stay column files keep every line, and get other tags alone. Everything else
becomes sentences or documents, all of one kind, as the format that is written takes them. What that
cannot hold is said in a note, or refused.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tagkit.config import DataConfig
from tagkit.corpus.formats.columns.reader import ColumnReader, LineBlock
from tagkit.corpus.formats.columns.writer import replace_tags
from tagkit.corpus.formats.recognition import find_format
from tagkit.corpus.formats.table import FORMATS, Format, settled
from tagkit.corpus.records.alignment import overlaps, to_document, to_sentences
from tagkit.corpus.records.answers import Answer, as_items, column_names, holds_sentences, left_out
from tagkit.corpus.records.record_checks import RecordFacts, facts_of
from tagkit.corpus.source.layout import CONLLU, Layout, column_options
from tagkit.corpus.source.notations import Respelled, respelled
from tagkit.corpus.source.options import Item, ReaderOptions, silent, source_of
from tagkit.corpus.source.pieces import OutputPiece, Writing, naming_file, one_file
from tagkit.corpus.source.rereading import several_times
from tagkit.corpus.source.source import Source
from tagkit.corpus.splits.expected_labels import other_column, refuse_unread_columns
from tagkit.corpus.splits.joined_classes import JOINED_REMEDY, joined_classes, joined_problem
from tagkit.errors import DataError, FormatError, SpanErrors
from tagkit.text.records import Document, Sentence
from tagkit.text.scheme_detection import Detection, first_line_of, scheme_of_steps
from tagkit.text.schemes import DISPLAY, convert, has_spans
from tagkit.wording import listed, once


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
    pieces: Iterator[OutputPiece]
    records: int = 0


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
        raise DataError("data.tag_column: expected one column, as formats have one tag a token")
    note = once(note)
    source = source_of(path, data)
    found = find_format(source, data.format)
    if found.note:
        note(found.note)
    refuse_unread_columns(data, source.name, [found.format])
    if scheme and found.format.holds in ("classes", "text"):
        raise DataError(
            f"{source.name}: holds {found.format.about} (read as {found.format.name}): scheme=... "
            "is for tags of spans"
        )
    target = choose_target(found.format)
    if found.format is FORMATS["trec"]:
        data = _fine_where_needed(data, target, source.name, note)
    # A corpus is read as complete as its format allows: the target decides what is left out.
    reading = ReaderOptions(data, all_features=True, with_text=True, with_extra=True, note=note)
    job = _Job(
        source=source,
        format=found.format,
        target=target,
        scheme=scheme,
        single=single,
        reading=settled(reading, found.format),
    )
    converted = Converted(source.name, job.format, job.target, iter(()))
    converted.pieces = _pieces(job, converted)
    return converted


def _fine_where_needed(
    data: DataConfig, target: Format, source: str, note: Callable[[str], None]
) -> DataConfig:
    """How TREC is read: with the fine classes where it is written again, which needs them."""
    if target is FORMATS["trec"]:
        return data.model_copy(update={"label_level": "fine"})
    if data.label_level == "coarse" and target.holds != "text":
        note(f"{source}: of each label the coarse class is taken; data.label_level=fine takes both")
    return data


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
    reading = ReaderOptions(DataConfig(), all_features=True, with_text=True, note=once(note))
    job = _Job(source, like, target, scheme, single, reading)
    converted = Converted(source.name, like, target, iter(()))
    converted.pieces = _pieces_of(job, items, facts_of(items), converted)
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
    reading: ReaderOptions


def _pieces(job: _Job, converted: Converted) -> Iterator[OutputPiece]:
    # Comments, other columns and the spacing of lines survive only where no record is made.
    if job.format.is_grid and job.format is job.target:
        yield from _same_lines(job, converted)
        return

    def read(source: Source) -> Iterator[Item]:
        return job.format.records(source, replace(job.reading, digests=source.digests)).items

    items = several_times(job.source, job.reading.data, read)
    # All of it is read first: whether tags are plain labels shows in the whole corpus alone.
    facts = facts_of(items)
    if not facts.count:
        raise DataError(f"{job.source.name}: holds nothing to convert")
    _look_for_tags(job, facts)
    yield from _pieces_of(job, items, facts, converted)


def _look_for_tags(job: _Job, facts: RecordFacts) -> None:
    """Look whether the tag column of CoNLL-U holds tags, where the target has a place for them.

    Raises:
        DataError: all of its cells are empty, and nobody named it: tags may be in another one.
    """
    data = job.reading.data
    if job.format.name != CONLLU or job.target.holds not in ("tags", "spans"):
        return
    if facts.tags != {"_"}:
        return
    problem = f"{job.source.name}: every tag is '_'"
    if data.first_tag_column is None:
        raise DataError(f"{problem}{other_column(CONLLU, data)}")
    job.reading.note(f"{problem} in {data.first_tag_column}")


def _pieces_of(
    job: _Job, items: Iterable[Item], facts: RecordFacts, converted: Converted
) -> Iterator[OutputPiece]:
    """The pieces of records, which need not come from a file.

    Args:
        job: the conversion.
        items: the records, which can be taken several times.
        facts: of all of them.
        converted: whose records are counted.
    """
    # Before it is said what is left out.
    require_labels(job.format, job.target, facts, job.source.name)
    detection = detection_of(job, facts, items)
    plain = detection is not None and not has_spans(detection.scheme)
    note_losses(job.format, job.target, facts, job.reading.note, single=job.single)
    if joined := joined_classes(facts.classes):
        job.reading.note(f"{job.source.name}: {joined_problem(joined)}. {JOINED_REMEDY}")
    # A writer takes records of one class, so whatever was read becomes that first.
    written: Iterator[Item]
    if job.target.holds == "tags":
        written = as_sentences(job, items, facts)
    elif job.target.holds in ("text", "all"):
        written = iter(items)
    else:
        written = as_documents(job, items, facts, plain=plain)
    several = may_lack_classes(job.format, facts)
    note, names = job.reading.note, facts.names
    writing = Writing(plain, job.single, note, several_classes=several, names=names)
    found = job.target.write(_counted(written, converted), writing)
    try:
        yield from naming_file(found, lambda: job.source.name)
    except FormatError:
        # Spans that fit no tokens come first, wherever they are: they are raised behind the last.
        for _ in written:
            pass
        raise


def _counted(items: Iterator[Item], converted: Converted) -> Iterator[Item]:
    for item in items:
        converted.records += 1
        yield item


def _same_lines(job: _Job, converted: Converted) -> Iterator[OutputPiece]:
    """Every line as it is, with other tags where another scheme is wanted."""
    # Without another scheme a file needs no tags: its lines are only passed through.
    options = column_options(job.reading.data, with_tags=job.scheme is not None)

    def read(source: Source) -> Iterator[tuple[LineBlock, Layout | None]]:
        reader = ColumnReader(source.name, options)
        return ((block, reader.layout) for block in reader.blocks(source.pieces()))

    blocks = several_times(job.source, job.reading.data, read)

    def sentences(note: Callable[[str], None] = silent) -> Respelled[Sentence]:
        found = (block.sentence for block, _ in blocks if block.sentence is not None)
        return respelled(found, job.source.name, job.reading.data, note)

    found = sentences(job.reading.note if job.scheme else silent)
    facts = facts_of(found.items)
    if not facts.count:
        raise DataError(f"{job.source.name}: holds nothing to convert")
    if job.scheme:
        note_schemes(job, job.scheme, detection_of(job, facts, sentences().items))
    for block, layout in blocks:
        converted.records += block.sentence is not None
        if job.scheme and block.sentence and layout:
            tags = convert(found.notation.read_all(block.sentence.tags or ()), job.scheme)
            yield from one_file(replace_tags(block, layout, tags))
        else:
            yield from one_file(block.lines)


def as_sentences(job: _Job, items: Iterable[Item], facts: RecordFacts) -> Iterator[Sentence]:
    """For formats of tagged tokens."""

    def sentences() -> Iterator[Sentence]:
        # Those of a text of its own have no mark, and so no document.
        return to_sentences(items, job.reading, numbered=False)

    if job.scheme and facts.has_documents:
        facts = facts_of(sentences())  # their tags are made from spans
    _note_texts(job, facts.has_texts)
    if job.scheme and facts.tags:
        note_schemes(job, job.scheme, detection_of(job, facts, sentences()))
    has_texts = False
    for sentence in sentences():
        has_texts |= sentence.text is not None
        if job.scheme and sentence.tags:
            sentence = replace(sentence, tags=convert(sentence.tags, job.scheme))
        yield sentence
    # Of documents it is said where all of their spans fit tokens; a note is given once.
    _note_texts(job, has_texts)


def _note_texts(job: _Job, has_texts: bool) -> None:
    if has_texts and job.target.name != CONLLU:  # which keeps them, in `# text` and MISC
        job.reading.note(
            f"{job.target.name} holds words alone: the white space between them is not kept"
        )


def detection_of(job: _Job, facts: RecordFacts, items: Iterable[Item]) -> Detection | None:
    """The scheme of the tags; None where there are none.

    Args:
        job: the conversion.
        facts: of all records.
        items: the records, which are taken where a tag is refused.

    Raises:
        DataError: the tags are of no scheme, or of another than data.scheme names.
    """
    if not facts.tags:
        return None

    def line_of(tag: str) -> int:
        return first_line_of(tag, (item for item in items if isinstance(item, Sentence)))

    named = job.reading.data.scheme
    return scheme_of_steps(facts.steps, job.source.name, named, None, line_of, "")


def note_schemes(job: _Job, scheme: str, found: Detection | None) -> None:
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


def as_documents(
    job: _Job, items: Iterable[Item], facts: RecordFacts, *, plain: bool
) -> Iterator[Document]:
    """For formats of spans of characters, or of classes."""
    target, note = job.target, job.reading.note

    def document_of(item: Item) -> Document:
        if isinstance(item, Document):
            return item
        return to_document(item, plain=plain, source=job.source.name)

    if plain and target.holds == "spans":
        raise DataError(
            f"{job.source.name}: its tags are plain labels, which are no spans: "
            f"{target.name} cannot hold them, jsonl-tokens or columns can"
        )
    # Formats of classes have no place for spans anyway, which is reported.
    if facts.may_overlap and target.holds == "spans":
        # Those of sentences too: words of a multiword token share a place, and may be in two spans.
        problems = [problem for item in items for problem in overlaps(document_of(item))]
        if problems:
            raise SpanErrors(problems, "Keep one of each two")
    if target.holds == "classes" and facts.tags:
        note(f"{target.name} has no place for tags: they are left out")
    if facts.has_features:
        note(f"{target.name} has no place for feature columns: they are left out")
    for item in items:
        document = document_of(item)
        # A reader of brat, say, finds the tokens of a text by itself.
        if isinstance(item, Sentence) and not target.keeps_tokens:
            document = replace(document, tokens=None)
        if isinstance(item, Sentence) and target.holds == "classes":
            document = replace(document, spans=())  # they are the tags, which are reported
        yield document


def may_lack_classes(read: Format, facts: RecordFacts) -> bool:
    """Whether a text without a class is known to have none of several.

    Args:
        read: the format that the texts come from.
        facts: of all of them.
    """
    return read.may_lack_classes or facts.has_several_classes


def require_labels(read: Format, target: Format, facts: RecordFacts, source: str) -> None:
    """Refuse records without the labels that the target needs of each.

    Args:
        read: the format that the records come from.
        target: the format that is written.
        facts: of all records.
        source: names their file, where a record does not.

    Raises:
        FormatError: a record has no class, where the target needs one; or neither that nor tags,
            where it needs one of both.
    """
    if target.holds == "classes":
        if target.may_lack_classes and may_lack_classes(read, facts):
            return
        needs, bare = "a class", facts.without_class
    # Without labels such a format holds raw text, which is read to be predicted alone.
    elif (
        target.holds == "tags" and target.has_classes and (read.holds == "classes" or facts.classes)
    ):
        needs, bare = "tags or a class", facts.without_labels
    else:
        return
    if bare is None:
        return
    line = 1
    if isinstance(bare, Document):
        source, line = bare.source or source, bare.line
    elif bare.lines:
        line = bare.lines[0]
    problem = f"{target.name} needs {needs} for each text, and {read.name} has none here"
    raise FormatError(source, line, problem)


def note_losses(
    read: Format,
    target: Format,
    facts: RecordFacts,
    note: Callable[[str], None],
    *,
    single: bool,
) -> None:
    """Say what of the lines and records is left out, beside what the target's writer says.

    Args:
        read: the format that the records come from.
        target: the format that is written.
        facts: of all records.
        note: called with a sentence on each kind of what is left out.
        single: whether the target writes one file, or one pair of files.
    """
    # The id of a sentence is in a comment, and is named as any other value where it is left out.
    lost = [*_lost_names(target, facts, single=single)]
    if read.name == CONLLU and target.holds != "text":
        kept = {
            "text": target.holds != "tags",
            "sent_id": "id" not in lost and facts.has_ids,
            "newdoc": target.is_grid and facts.has_marks,
        }
        named = listed([name for name, is_kept in kept.items() if is_kept])
        other = f" (except {named})" if named else ""
        note(
            f"of CoNLL-U, words and tags are taken: other columns and comments{other} are left "
            "out, multiword tokens and empty nodes too"
        )
    if facts.has_marks and not target.is_grid:
        note(f"{target.name} has no place for marks of documents: they are left out")
    if lost:
        note(f"{target.name} has no place for the values of {listed(lost)}: they are left out")


def _lost_names(target: Format, facts: RecordFacts, *, single: bool) -> Iterator[str]:
    """Names of what the records have beside their text and annotation that the target drops."""
    if target.keeps_values == "all":
        return
    for name in dict.fromkeys(facts.names):
        if name != "id" or not _keeps_ids(target, facts, single=single):
            yield name


def _keeps_ids(target: Format, facts: RecordFacts, *, single: bool) -> bool:
    if target.keeps_values != "file names":
        return target.keeps_values == "id"
    return not single and facts.ids_are_names
