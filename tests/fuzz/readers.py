"""Reading: altered files of every format, as what they are, as something else, and recognised."""

from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

from tagkit.config import DataConfig
from tagkit.corpus.formats.recognition import recognise
from tagkit.corpus.formats.table import FORMATS, Format
from tagkit.corpus.records.alignment import to_sentences
from tagkit.corpus.source.options import Item, ReaderOptions
from tagkit.corpus.source.source import Source
from tagkit.errors import FormatError, TagkitError
from tagkit.text.records import Document, Sentence

from .case import Case, require
from .engine import check_message
from .mutation import ENCODINGS, ODD_ENCODINGS, altered_bytes, altered_text, encode, packed
from .samples import SAMPLES

_FLAGS = ("with_tags", "all_features", "with_text", "whole")


def corpus_case(rng: Random, format: str, *, calm: bool = False) -> Case:
    """An altered corpus of a format.

    Args:
        rng: the generator.
        format: a row of `SAMPLES`.
        calm: whether it is to be rather valid: in UTF-8, with few alterations.
    """
    sample = SAMPLES[format].make(rng)
    encoding = rng.choice(ENCODINGS) if rng.random() < 0.08 and not calm else "utf-8"
    files, path = {}, sample.path
    victim = rng.choice(list(sample.files))
    for name, text in sample.files.items():
        if not calm or rng.random() < 0.3:
            text = altered_text(rng, text)
        data = encode(text, encoding)
        if name == victim and rng.random() < (0.02 if calm else 0.1):
            data = altered_bytes(rng, data)
        if rng.random() < 0.06:
            data = packed(rng, data)
            if rng.random() < 0.5 and not name.startswith(f"{path}/") and name == path:
                name = path = f"{name}.gz"
        files[name] = data
    if rng.random() < 0.02 and len(files) > 1:
        del files[rng.choice(list(files))]
    data_options: dict[str, Any] = dict(sample.data)
    if encoding != "utf-8" and rng.random() < 0.85:
        data_options["encoding"] = encoding
    elif rng.random() < 0.03 and not calm:
        data_options["encoding"] = rng.choice(ENCODINGS + ODD_ENCODINGS)
    if rng.random() < 0.3:
        data_options["on_misaligned"] = rng.choice(("error", "expand", "shrink", "drop"))
    if rng.random() < 0.5:
        data_options["tokenizer"] = "blanks"  # syntok takes most of the time of an input
    return Case(files, {"path": path, "data": data_options})


def reader_case(rng: Random, format: str) -> Case:
    """A corpus, and how it is to be read: nine times in ten as what it is."""
    case = corpus_case(rng, format)
    kind = rng.random()
    named = format
    if kind < 0.3:
        named = "auto"
    elif kind < 0.36:
        named = rng.choice((*FORMATS, "jsonl"))
    options = case.options
    options["data"] = {**options["data"], "format": named}
    options["flags"] = [flag for flag in _FLAGS if rng.random() < 0.4]
    options["collect"] = rng.random() < 0.3
    options["raw"] = rng.random() < 0.2
    return case


def run_reader(case: Case, room: Path) -> None:
    """Read a corpus to its end, and look at every record."""
    errors: list[FormatError] = []
    read_corpus(case, room, errors)
    for error in errors:
        check_message(str(error))


def read_corpus(case: Case, room: Path, errors: list[FormatError]) -> list[Item]:
    """The records of a case, each of them looked at; `errors` gathers lines that are refused."""
    options = case.options
    data = DataConfig(**options["data"])
    flags = options.get("flags", ())
    source = Source(str(room / options["path"]), data.encoding)
    collect = options.get("collect", False)
    notes: list[str] = []
    reading = ReaderOptions(
        data,
        **{flag: flag in flags for flag in _FLAGS},
        note=notes.append,
        on_error=errors.append if collect else None,
    )
    format = recognise(source, data.format, raw=options.get("raw", False))
    # Words that are lemmas stand where their forms do.
    exact = data.token_column is None
    items = []
    for item in format.records(source, reading).items:
        check_item(item, exact=exact)
        items.append(item)
    require(all(isinstance(error, TagkitError) for error in errors), "an error of another family")
    before = len(items)
    for sentence in to_sentences(items, reading):
        check_item(sentence, exact=exact)
    require(before == len(items), "records changed")
    check_notes(notes)
    return items


def check_notes(notes: Iterable[str]) -> None:
    """Notes are messages too; the console takes care of what a terminal would obey."""
    for note in notes:
        check_message("".join(char if char.isprintable() or char == "\n" else "?" for char in note))


def check_item(item: Item, *, exact: bool = True) -> None:
    """Make sure that a record is one: every list as long as the words, every place in the text.

    Raises:
        LawBroken: it is none.
    """
    if isinstance(item, Sentence):
        check_sentence(item, exact=exact)
    else:
        check_document(item)


def check_sentence(item: Sentence, *, exact: bool) -> None:
    """Make sure that a sentence's parts fit each other; `exact` if words stand at their places."""
    count = len(item.words)
    require(count > 0 and all(item.words), "a sentence without words, or with an empty one", item)
    require(item.tags is None or (len(item.tags) == count and all(item.tags)), "tags", item)
    require(all(len(column) == count for column in item.features), "features", item)
    require(not item.lines or len(item.lines) == count, "line numbers", item)
    require(all(item.labels), "an empty class", item)
    if item.text is not None:
        require(len(item.places) == count, "places", item)
        # Words of one multiword token share its place.
        exact = exact and len(set(item.places)) == count
        for found, (start, end) in zip(item.words, item.places, strict=True):
            require(0 <= start <= end <= len(item.text), "a place outside the text", item)
            require(not exact or item.text[start:end] == found, "an offset that is not exact", item)


def check_document(item: Document) -> None:
    """Make sure that a text's spans and tokens are stretches of it."""
    require(bool(item.text.strip()), "a blank text", item)
    require(all(item.labels), "an empty class", item)
    last = 0
    for start, end in item.tokens or ():
        require(last <= start < end <= len(item.text), "tokens out of order", item)
        last = end
    order = -1
    for span in item.spans or ():
        require(0 <= span.start < span.end <= len(item.text), "a span outside the text", item)
        require(item.text[span.start : span.end] == span.text, "an offset that is not exact", item)
        require(span.start >= order and bool(span.label), "spans out of order, or no label", item)
        order = span.start


def recognition_case(rng: Random) -> Case:
    """A corpus under another name: content decides what it is, whatever the name says."""
    case = corpus_case(rng, rng.choice(list(SAMPLES)))
    path, files = case.options["path"], dict(case.files)
    if path in files and rng.random() < 0.8:
        ending = rng.choice(("", ".txt", ".tsv", ".csv", ".conll", ".conllu", ".json", ".jsonl",
                             ".ann",
                             ".bio", ".iob", ".data", ".gz", ".trees", ".ft", ".TXT", ".tsv.gz",
                             ".x" * 60))  # fmt: skip
        new = f"{rng.choice(('b', 'seq.in', 'label', 'train', 'é', '-b', ' '))}{ending}"
        files[new] = files.pop(path)
        case.options["path"] = new
    case.options["data"] = {**case.options["data"], "format": rng.choice(("auto", "auto", "jsonl"))}
    how = {"raw": rng.random() < 0.5, "collect": rng.random() < 0.3, "flags": []}
    return Case(files, {**case.options, **how})


def run_recognition(case: Case, room: Path) -> None:
    """What a source is recognised as does not change, and it can be read as that or is refused."""
    data = DataConfig(**case.options["data"])
    raw = case.options["raw"]

    def look() -> Format:
        source = Source(str(room / case.options["path"]), data.encoding)
        return recognise(source, data.format, raw=raw)

    require(look() is look(), "recognised as two formats")
    run_reader(case, room)
