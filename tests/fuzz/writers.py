"""Writing: what a format writes reads back equal, or was refused; from each format to each."""

from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

from tagkit.config import DataConfig
from tagkit.corpus.convert.convert import Converted, convert_corpus
from tagkit.corpus.formats.folders.file_sets import write_folder, write_pair
from tagkit.corpus.formats.table import FORMATS
from tagkit.corpus.records.alignment import overlaps
from tagkit.corpus.source.options import Item, ReaderOptions
from tagkit.corpus.source.pieces import OutputPiece, Writing
from tagkit.corpus.source.source import Source
from tagkit.errors import TagkitError
from tagkit.storage import open_output
from tagkit.text.records import Document, Sentence, TextSpan, joined

from .case import Case, LawBroken, require
from .mutation import odd
from .readers import check_item, check_notes, corpus_case
from .samples import SAMPLES, SampleRow, label, line, sentence

OUTPUTS = ("out", "again", "out.ann", "out.txt", "again.ann", "again.txt")
_SCHEMES = (None, None, None, "iob1", "iob2", "iobes", "bilou", "bmes")


def _odd_string(rng: Random, usual: str, oddness: float = 0.12) -> str:
    """The usual string or, now and then, one with something odd in it, that is Unicode text."""
    if rng.random() >= oddness:
        return usual
    at = rng.randrange(len(usual) + 1)
    mixed = usual[:at] + odd(rng) + usual[at:] if rng.random() < 0.7 else odd(rng)
    return mixed.encode("utf-8", "ignore").decode() or usual


def record_case(rng: Random, format: str) -> Case:
    """Records for a format, as values of JSON."""
    count = rng.choice((1, 1, 2, 3))
    holds = FORMATS[format].holds
    if holds == "tags":
        with_tags = rng.random() < 0.9
        records = [_sentence_record(rng, with_tags) for _ in range(count)]
    else:
        records = [_document_record(rng, format) for _ in range(count)]
    return Case({}, {"holds": holds, "records": records, "single": rng.random() < 0.3})


def _sentence_record(rng: Random, with_tags: bool) -> dict[str, Any]:
    rows = sentence(rng)
    record: dict[str, Any] = {
        "words": [_odd_string(rng, word) for word, _ in rows],
        "tags": [_odd_string(rng, tag, 0.04) for _, tag in rows] if with_tags else None,
        "features": [],
        "labels": [],
        "text": rng.random() < 0.3,
    }
    if rng.random() < 0.2:
        record["features"] = [[_odd_string(rng, "NN", 0.05) for _ in rows]]
    if rng.random() < 0.2:
        record["labels"] = [_odd_string(rng, label(rng))]
    return record


def _document_record(rng: Random, format: str) -> dict[str, Any]:
    text = _odd_string(rng, line(rng), 0.4)
    usual = {"trec": "NUM:dist", "trees": str(rng.randrange(5))}.get(format, label(rng))
    edges = sorted({rng.randrange(len(text) + 1) for _ in range(rng.choice((0, 0, 2, 4)))})
    return {
        "text": text,
        "spans": [
            [a, b, _odd_string(rng, "LOC")] for a, b in zip(edges[::2], edges[1::2], strict=False)
        ],
        "labels": [] if rng.random() < 0.05 else [
            _odd_string(rng, usual, 0.1) for _ in range(rng.choice((1, 1, 1, 1, 2)))
        ],
        "name": _odd_string(rng, rng.choice(("", "a", "b")), 0.2),
    }  # fmt: skip


def _item(record: dict[str, Any], holds: str) -> Item:
    if holds == "tags":
        words = tuple(record["words"])
        text, places = joined(words) if record["text"] else (None, ())
        return Sentence(
            words,
            None if record["tags"] is None else tuple(record["tags"]),
            tuple(tuple(column) for column in record["features"]),
            tuple(dict.fromkeys(record["labels"])),
            text,
            places,
        )
    text = record["text"]
    spans = tuple(TextSpan(text[a:b], a, b, named) for a, b, named in record["spans"])
    return Document(text, spans, tuple(dict.fromkeys(record["labels"])), name=record["name"])


def run_writer(case: Case, room: Path, format: str) -> None:
    """Write records and read them: they are equal in all that the format keeps."""
    holds, row = case.options["holds"], SAMPLES[format]
    items = [_item(record, holds) for record in case.options["records"]]
    items = [item for item in items if isinstance(item, Sentence) or item.text]
    single = case.options["single"] and FORMATS[format].name == "brat"
    notes: list[str] = []
    pieces = FORMATS[format].write(items, Writing(False, single, notes.append))
    out = room / ("out.ann" if single else "out")
    put(format, out, pieces)
    check_notes(notes)
    found = _read(out, format, row)
    if single:
        _equal([_joined(items)], found, row)
    elif items or found:
        _equal(items, found, row)


def _joined(items: Iterable[Any]) -> Document:
    """Documents line by line, as one pair of brat's files holds them."""
    texts, spans, at = [], [], 0
    documents = list(items)
    for item in documents:
        for span in item.spans or ():
            spans.append(TextSpan(span.text, span.start + at, span.end + at, span.label))
        texts.append(item.text)
        at += len(item.text) + 1
    text = "\n".join(texts) + ("\n" if len(documents) > 1 else "")
    return Document(text, tuple(spans))


def put(format: str, path: Path, pieces: Iterable[OutputPiece]) -> None:
    """Write pieces as the command does."""
    if not FORMATS[format].many_files:
        with open_output(path) as write:
            for piece in pieces:
                write(piece.text)
    elif path.suffix:
        write_pair(path, pieces, replace=True)
    else:
        write_folder(path, pieces)


def _read(path: Path, format: str, row: SampleRow) -> list[Item]:
    """What was written; it must be readable.

    Raises:
        LawBroken: it is not.
    """
    # As it is written: among few tags an odd one passes for another spelling of O.
    data = DataConfig(format=format, notation="B-PER O", **row.data)
    reading = ReaderOptions(data, all_features=True, with_text=True)
    try:
        items = list(FORMATS[format].records(Source(str(path), data.encoding), reading).items)
    except TagkitError as error:
        # Column files and sentences of one class need no tags: then none can be wanted.
        reading = ReaderOptions(data, with_tags=False, all_features=True, with_text=True)
        try:
            items = list(FORMATS[format].records(Source(str(path), data.encoding), reading).items)
        except TagkitError:
            raise LawBroken("what was written cannot be read", str(error)) from None
    for item in items:
        check_item(item)
    return items


def _equal(written: Iterable[Any], found: Iterable[Any], row: SampleRow) -> None:
    before, after = [row.keeps(item) for item in written], [row.keeps(item) for item in found]
    if row.sorts:
        before, after = sorted(before, key=repr), sorted(after, key=repr)
    for one, other in zip(before, after, strict=False):
        require(_same(one, other), "what was written reads back as something else",
                (one, other))  # fmt: skip
    require(len(before) == len(after), "what was written reads back as fewer or more records",
            (before, after))  # fmt: skip


def _same(one: Any, other: Any) -> bool:
    """Equal, but for tags that were not there and are not wanted."""
    if one == other:
        return True
    # A sentence without tags is read with its last column as tags, or with fillers.
    return (
        isinstance(one, tuple)
        and isinstance(other, tuple)
        and one[0] == other[0]
        and (len(one) > 1 and one[1] is None)
    )


def conversion_case(rng: Random) -> Case:
    """A rather valid corpus, and the format and scheme that it is converted to."""
    source, target = rng.choice(list(SAMPLES)), rng.choice(list(SAMPLES))
    case = corpus_case(rng, source, calm=True)
    options = case.options
    if source == "trec" and target == "trec":
        options["data"] = {**options["data"], "label_level": "fine"}
    options["data"] = {**options["data"], "format": "auto" if rng.random() < 0.2 else source}
    options |= {"target": target, "scheme": rng.choice(_SCHEMES), "single": rng.random() < 0.2}
    return Case(case.files, options)


def run_conversion(case: Case, room: Path) -> None:
    """Convert a corpus, then what was written once more into the same format: the same bytes.

    Records of the same kind are compared as well with those that were read.
    """
    options = case.options
    target = FORMATS[options["target"]]
    row = SAMPLES[target.name]
    single = options["single"] and target.name == "brat"
    data = DataConfig(**options["data"])
    notes: list[str] = []

    def convert(path: Path, data: DataConfig, scheme: str | None, out: Path) -> Converted:
        done = convert_corpus(
            str(path), data, lambda _: target, scheme, single=single, note=notes.append
        )
        put(target.name, out, done.pieces)
        return done

    out = room / ("out.ann" if single else "out")
    done = convert(room / options["path"], data, options["scheme"], out)
    check_notes(notes)
    if done.format.is_grid and done.format is target:
        return  # lines stay as they are, comments and all
    plain = target.name == "conllu" and b"\tNER=" not in _bytes(room, "out").get("out", b"")
    again = {**row.data, "tag_column": "UPOS"} if plain and _is_plain(room) else row.data
    found = _read(out, target.name, SampleRow(row.make, row.keeps, again, row.sorts))
    reading = ReaderOptions(data, all_features=True, with_text=True)
    source = Source(str(room / options["path"]), data.encoding)
    items = list(done.format.records(source, reading).items)
    if not single and {type(item) for item in items} == {type(item) for item in found}:
        if target.name == "jsonl-spans":  # tokens of documents are kept, others are not compared
            items = [i for i in items if not (isinstance(i, Document) and overlaps(i))]
        if options["scheme"] is None or isinstance(items[0], Document):
            _equal(items, found, row)
    if target.name == "conllu":
        return  # it was compared, and a further conversion would keep its lines
    named = DataConfig(format=target.name, **again)
    convert(out, named, None, room / ("again.ann" if single else "again"))
    one, other = _bytes(room, "out"), _bytes(room, "again")
    require(one == other, "converting what was converted changes it",
            (one, other))  # fmt: skip


def _is_plain(room: Path) -> bool:
    """Whether a CoNLL-U file that was written has its tags in UPOS."""
    lines = _bytes(room, "out").get("out", b"").split(b"\n")
    cells = [line.split(b"\t") for line in lines if line.count(b"\t") == 9]
    return any(line[3] != b"_" for line in cells)


def _bytes(room: Path, name: str) -> dict[str, bytes]:
    """Contents of an output, by the names of its files behind the output's own."""
    place = room / name
    if place.is_dir():
        files = (file for file in place.rglob("*") if file.is_file())
        return {str(file.relative_to(place)): file.read_bytes() for file in files}
    beside = [place, place.with_suffix(".ann"), place.with_suffix(".txt")]
    return {
        file.name.replace("again", "out"): file.read_bytes() for file in beside if file.is_file()
    }


def writer_of(format: str) -> tuple[Callable[[Random], Case], Callable[[Case, Path], None]]:
    """The two functions of a writer's target."""
    return lambda rng: record_case(rng, format), lambda case, room: run_writer(case, room, format)
