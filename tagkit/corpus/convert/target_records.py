"""Records as the format that is written takes them: all sentences, or all documents."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tagkit.corpus.formats.table import Format
from tagkit.corpus.records.alignment import overlaps, to_document, to_sentences
from tagkit.corpus.records.record_facts import RecordFacts, facts_of
from tagkit.corpus.source.layout import CONLLU
from tagkit.corpus.source.options import Item, Reading
from tagkit.corpus.source.source import Source
from tagkit.errors import DataError, SpanErrors
from tagkit.text.records import Document, Sentence
from tagkit.text.scheme_detection import Detection, first_line_of, scheme_of_steps
from tagkit.text.schemes import DISPLAY, convert, has_spans


@dataclass(frozen=True, slots=True)
class Job:
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


def as_sentences(job: Job, items: Iterable[Item], facts: RecordFacts) -> Iterator[Sentence]:
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


def _note_texts(job: Job, has_texts: bool) -> None:
    if has_texts and job.target.name != CONLLU:  # which keeps them, in `# text` and MISC
        job.reading.note(
            f"{job.target.name} holds words alone: the white space between them is not kept"
        )


def as_documents(
    job: Job, items: Iterable[Item], facts: RecordFacts, *, plain: bool
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


def detection_of(job: Job, facts: RecordFacts, items: Iterable[Item]) -> Detection | None:
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


def note_schemes(job: Job, scheme: str, found: Detection | None) -> None:
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
