"""A tagged corpus rewritten into tables, exports and JSON as people have them."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from tagkit.text.records import Sentence, joined
from tagkit.text.schemes import span_tuples

Corpus = Sequence[Sentence]
_Row = Sequence[object]


def tagged(*lines: str) -> list[Sentence]:
    """Sentences of lines such as "Ana/B-PER slept/O"."""
    pairs = [[token.rsplit("/", 1) for token in line.split()] for line in lines]
    return [Sentence(tuple(w for w, _ in each), tuple(t for _, t in each)) for each in pairs]


def spans_of(corpus: Iterable[Sentence]) -> list[Any]:
    """Words and spans of each sentence."""
    return [(each.words, span_tuples(each.tags or ())) for each in corpus]


def _table(rows: Iterable[_Row], separator: str = ",", names: str = "") -> str:
    out = io.StringIO()
    plain = {"quoting": csv.QUOTE_NONE, "quotechar": None} if separator in "\t " else {}
    table = csv.writer(out, delimiter=separator, lineterminator="\n", **plain)  # type: ignore[arg-type]
    table.writerows([names.split(separator)] if names else [])
    table.writerows(rows)
    return out.getvalue()


def token_rows(
    corpus: Corpus,
    row: Callable[[int, int, str, str], _Row],
    separator: str = ",",
    names: str = "",
) -> str:
    """A row a token: `row` of its sentence's number, its own in it, both from 1, word and tag."""
    rows = (
        row(number, place, word, tag)
        for number, each in enumerate(corpus, 1)
        for place, (word, tag) in enumerate(zip(each.words, each.tags or (), strict=True), 1)
    )
    return _table(rows, separator, names)


def _parted(corpus: Corpus) -> str:
    parts = [_table(zip(each.words, each.tags or (), strict=True)) for each in corpus]
    return "Word,Tag\n" + "\n".join(parts)


def _in_rows(corpus: Corpus, cell: Callable[[Sequence[str]], str], names: str) -> str:
    return _table([(cell(each.words), cell(each.tags or ())) for each in corpus], ",", names)


def _numpy(cells: Sequence[str]) -> str:
    return f"[{' '.join(map(repr, cells))}]"


def _lines(corpus: Corpus, end: Callable[[int], str], pad: tuple[str, str] = ("", "")) -> str:
    rows = []
    for number, each in enumerate(corpus):
        words = " ".join(filter(None, [pad[0], *each.words, pad[1]]))
        tags = " ".join([*["O"] * bool(pad[0]), *(each.tags or ())])
        rows.append(f"{words}\t{tags}{end(number)}\n")
    return "".join(rows)


def _json(corpus: Corpus, record: Callable[[Sentence], object]) -> str:
    return "".join(json.dumps(record(each), ensure_ascii=False) + "\n" for each in corpus)


def spans_of_text(sentence: Sentence) -> tuple[str, list[tuple[int, int, str]]]:
    """The words as a text, and its spans of characters."""
    text, places = joined(sentence.words)
    spans = span_tuples(sentence.tags or ())
    return text, [(places[start][0], places[end - 1][1], label) for start, end, label in spans]


def _label_studio(sentence: Sentence) -> dict[str, Any]:
    text, spans = spans_of_text(sentence)
    result = [
        {"value": {"start": start, "end": end, "text": text[start:end], "labels": [label]},
         "from_name": "label", "to_name": "text", "type": "labels"}
        for start, end, label in spans
    ]  # fmt: skip
    annotations = [{"id": 1, "was_cancelled": True, "result": []}, {"id": 2, "result": result}]
    return {"id": 1, "annotations": annotations, "data": {"text": text}, "predictions": []}


def _label_studio_csv(corpus: Corpus) -> str:
    rows = []
    for number, each in enumerate(corpus):
        values = [part["value"] for part in _label_studio(each)["annotations"][1]["result"]]
        rows.append([number, json.dumps(values) if values else "", spans_of_text(each)[0]])
    return _table(rows, ",", "annotation_id,label,text")


def names_of(corpus: Corpus) -> list[str]:
    """The tags, O first."""
    return ["O", *sorted({*chain.from_iterable(each.tags or () for each in corpus)} - {"O"})]


def _numbered(corpus: Corpus) -> str:
    numbers = {name: number for number, name in enumerate(names_of(corpus))}
    return _json(
        corpus, lambda s: {"tokens": s.words, "ner_tags": [numbers[tag] for tag in s.tags or ()]}
    )


@dataclass(frozen=True)
class Brought:
    """A shape that a corpus is brought in.

    Attributes:
        file: its name.
        write: the content of the file for a corpus.
        format: that it is read as.
        options: of [data] that it is read with, of a corpus.
        classes: whether sentences have the classes of `INTENTS` too.
    """

    file: str
    write: Callable[[Corpus], str]
    format: str = "token-rows"
    options: Callable[[Corpus], dict[str, object]] = field(default=lambda _: {})
    classes: bool = False


INTENTS = ("book flight", "rest", "ask")
_SPANS: dict[str, Any] = {
    "format": "jsonl-spans",
    "options": lambda _: {"tokenizer": "blanks"},
}


def intent(number: int) -> str:
    """The class of a sentence, by its number from 0."""
    return INTENTS[number % len(INTENTS)]


BROUGHT: dict[str, Brought] = {
    "Kaggle: the number in the first row": Brought("ner_dataset.csv", lambda c: token_rows(
        c, lambda n, i, w, t: (f"Sentence: {n}" if i == 1 else "", w, "NN", t),
        names="Sentence #,Word,POS,Tag")),
    "an id in each row": Brought("a.csv", lambda c: token_rows(
        c, lambda n, i, w, t: (n, w, t), names="sentence_id,words,labels")),
    "an id in each row, no header": Brought("a.csv", lambda c: token_rows(
        c, lambda n, i, w, t: (n, w, t))),
    "an id in each row of TSV, no header": Brought("a.tsv", lambda c: token_rows(
        c, lambda n, i, w, t: (n, w, t), "\t")),
    "an id in each row, blanks": Brought("a.txt", lambda c: token_rows(
        c, lambda n, i, w, t: (n, w, t), " ")),
    "a text as id": Brought("a.tsv", lambda c: token_rows(
        c, lambda n, i, w, t: (f"doc-{n}", w, t), "\t")),
    "an id in the first row of TSV": Brought("a.tsv", lambda c: token_rows(
        c, lambda n, i, w, t: (n if i == 1 else "", w, t), "\t")),
    "semicolons, a header in German": Brought("a.csv", lambda c: token_rows(
        c, lambda n, i, w, t: (w, t, n), ";", "Wort;Marke;Satz")),
    "an index, documents and sentences": Brought("a.csv", lambda c: token_rows(
        c, lambda n, i, w, t: (100 * n + i, n // 9, n % 9, w, "NN", t),
        names=",doc,sent,token,pos,ner")),
    "the number of the word": Brought("a.csv", lambda c: token_rows(
        c, lambda n, i, w, t: (i, w, t))),
    "tag first": Brought("a.csv", lambda c: token_rows(
        c, lambda n, i, w, t: (t, w, n), names="Tag,Word,Sentence")),
    "blank lines between sentences": Brought("a.csv", _parted),
    "words and tags in a row": Brought(
        "a.tsv", lambda c: _lines(c, lambda n: ""), "sentence-rows"),
    "words, tags and a class": Brought(
        "a.tsv", lambda c: _lines(c, lambda n: f"\t{intent(n)}"), "sentence-rows", classes=True),
    "a class behind the tags": Brought(
        "a.txt", lambda c: _lines(c, lambda n: f" {intent(n).replace(' ', '_')}"),
        "sentence-rows", classes=True),
    "ATIS with BOS and EOS": Brought(
        "a.iob", lambda c: _lines(c, lambda n: f" {intent(n).replace(' ', '_')}", ("BOS", "EOS")),
        "sentence-rows", classes=True),
    "texts and tags in cells": Brought(
        "a.csv", lambda c: _in_rows(c, " ".join, "text,labels"), "sentence-rows"),
    "lists of Python": Brought(
        "ner.csv", lambda c: _in_rows(c, lambda cells: repr([*cells]), "Sentence,Tag"),
        "sentence-rows"),
    "lists of JSON": Brought(
        "a.csv", lambda c: _in_rows(c, json.dumps, "tokens,ner_tags"), "sentence-rows"),
    "lists of numpy": Brought(
        "a.csv", lambda c: _in_rows(c, _numpy, "tokens,ner_tags"), "sentence-rows"),
    "JSON of a text and its tags": Brought("a.jsonl", lambda c: _json(
        c, lambda s: {"text": " ".join(s.words), "tags": s.tags}), "jsonl-tokens"),
    "JSON of two texts": Brought("a.jsonl", lambda c: _json(
        c, lambda s: {"sentence": " ".join(s.words), "tags": " ".join(s.tags or ())}),
        "jsonl-tokens"),
    "numbers with names": Brought("a.json", _numbered, "jsonl-tokens",
        lambda c: {"label_names": names_of(c)}),
    "tags twice": Brought("a.jsonl", lambda c: _json(
        c, lambda s: {"tokens": s.words, "tags": [], "ner_tags": s.tags, "pos_tags": s.words}),
        "jsonl-tokens"),
    "spans twice": Brought("a.jsonl", lambda c: _json(
        c, lambda s: {"text": spans_of_text(s)[0], "spans": [], "entities": spans_of_text(s)[1]}),
        **_SPANS),
    "doccano": Brought("a.jsonl", lambda c: _json(
        c, lambda s: {"id": 1, "data": spans_of_text(s)[0], "label": spans_of_text(s)[1]}),
        **_SPANS),
    "Label Studio, JSON": Brought(
        "a.json", lambda c: json.dumps([_label_studio(each) for each in c]), **_SPANS),
    "Label Studio, CSV": Brought("a.csv", _label_studio_csv, **_SPANS),
}  # fmt: skip
