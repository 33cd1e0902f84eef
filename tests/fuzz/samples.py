"""Valid files of every format, in the ways in which people lay them out; small, as many as wanted.

`SAMPLES` has a row for each format: its files, and what of a record it keeps, so that reading what
was written can be compared with what was to be written.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from tagkit.text.records import Document, Sentence

from .mutation import json_line, word

Row = tuple[str, str]  # a word and its tag
_LABELS = ("LOC", "PER", "LOC-GPE", "X", "org")
_CLASSES = ("pos", "neg", "greet", "a b", "é", "0", "4")


@dataclass(frozen=True)
class Sample:
    """A corpus of one format.

    Attributes:
        files: texts by path below the folder.
        path: to be read, below the folder.
        data: options of the configuration with which it is read.
    """

    files: dict[str, str]
    path: str
    data: dict[str, Any]


@dataclass(frozen=True)
class SampleRow:
    """What a format is, for the fuzzers.

    Attributes:
        make: a valid corpus.
        keeps: what a record is after it was written and read.
        data: options with which a file is read that was written.
        sorts: whether records come back in another order.
    """

    make: Callable[[Random], Sample]
    keeps: Callable[[Any], Any]
    data: dict[str, Any]
    sorts: bool = False


def tags(rng: Random, count: int, scheme: str = "") -> list[str]:
    """Tags of one sentence, well-formed but for one in twenty."""
    scheme = scheme or rng.choice(("iob1", "iob2", "iob2", "iobes", "bilou", "labels"))
    if scheme == "labels":
        return [rng.choice(("NN", "VB", "DT", ".", "O", "B-NP")) for _ in range(count)]
    first, inner, last, single = {
        "iob1": "IIII", "iob2": "BIIB", "iobes": "BIES", "bilou": "BILU",
    }[scheme]  # fmt: skip
    found: list[str] = []
    while len(found) < count:
        size = min(rng.randint(1, 3), count - len(found))
        label = rng.choice(_LABELS)
        if rng.random() < 0.5:
            found += ["O"] * size
        elif size == 1:
            found.append(f"{single}-{label}")
        else:
            inside = [f"{inner}-{label}"] * (size - 2)
            found += [f"{first}-{label}", *inside, f"{last}-{label}"]
    if rng.random() < 0.05:
        found[rng.randrange(count)] = rng.choice(("I-X", "E-X", "B", "I", "B-", "O-", "B_X", "-"))
    return found


def sentence(rng: Random, scheme: str = "") -> list[Row]:
    """Words with their tags."""
    count = rng.choice((1, 2, 3, 5, 8))
    return [(word(rng, 0.03) or "x", tag) for tag in tags(rng, count, scheme) for _ in (0,)]


def _scheme(rng: Random) -> str:
    return rng.choice(("iob1", "iob2", "iob2", "iobes", "bilou", "labels"))


def _sentences(rng: Random) -> list[list[Row]]:
    scheme = _scheme(rng)
    return [sentence(rng, scheme) for _ in range(rng.randint(1, 4))]


def line(rng: Random) -> str:
    """A text on one line."""
    return " ".join(word(rng, 0.03) for _ in range(rng.randint(1, 8)))


def label(rng: Random) -> str:
    """A class of a text."""
    return rng.choice(_CLASSES)


def _columns(rng: Random) -> Sample:
    width, separator = rng.choice((2, 2, 3, 4)), rng.choice(("\t", " ", " ", "  "))
    lines = []
    if rng.random() < 0.2:
        lines += [separator.join(["-DOCSTART-", *["-X-"] * (width - 2), "O"]), ""]
    for rows in _sentences(rng):
        if rng.random() < 0.1:
            lines.append("# id = 1")
        lines += [separator.join([w, *["NN"] * (width - 2), tag]) for w, tag in rows]
        lines.append("")
    data: dict[str, Any] = {}
    if rng.random() < 0.3:
        data = rng.choice(
            ({"token_column": 0, "tag_column": -1}, {"token_column": -1, "tag_column": 0},
             {"feature_columns": (1,)}, {"tag_column": 7}, {"token_column": "FORM"},
             {"token_column": 0, "tag_column": 0})
        )  # fmt: skip
    name = rng.choice(("a.conll", "a.iob", "a.bio", "a.txt", "a.data", "a.tsv", "a"))
    return Sample({name: "\n".join(lines) + "\n"}, name, data)


def _conllu(rng: Random) -> Sample:
    lines = []
    for rows in _sentences(rng):
        if rng.random() < 0.5:
            lines += ["# sent_id = 1", "# text = " + " ".join(w for w, _ in rows)]
        for number, (form, tag) in enumerate(rows, 1):
            if rng.random() < 0.15:
                end = number + rng.choice((1, 1, 2))
                lines.append(f"{number}-{end}\tdu" + "\t_" * 8)
            misc = rng.choice((f"NER={tag}", f"SpaceAfter=No|NER={tag}", "SpacesAfter=\\s\\n", "_"))
            feats = rng.choice(("_", "Case=Nom|Number=Sing"))
            upos = rng.choice(("NOUN", "VERB", tag))
            lines.append(
                "\t".join((str(number), form, "_", upos, "_", feats, "0", "root", "_", misc))
            )
            if rng.random() < 0.05:
                lines.append(f"{number}.1" + "\t_" * 9)
        lines.append("")
    data: dict[str, Any] = {}
    if rng.random() < 0.5:
        data = rng.choice(({"tag_column": "MISC.NER"}, {"tag_column": "FEATS.Case"},
                           {"tag_column": "XPOS", "token_column": "LEMMA"}, {"tag_column": 3},
                           {"feature_columns": ("FEATS.Number", "DEPREL")},
                           {"tag_column": "?"}))  # fmt: skip
    name = rng.choice(("a.conllu", "a.conllu", "a.conll", "a.txt", "a"))
    return Sample({name: "\n".join(lines) + "\n"}, name, data)


def _json_lines(rng: Random, records: list[Any], data: dict[str, Any] | None = None) -> Sample:
    name = rng.choice(("a.jsonl", "a.json", "a.ndjson", "a.txt"))
    text = "\n".join(json_line(rng, record) for record in records) + "\n"
    return Sample({name: text}, name, data or {})


def token_record(rng: Random) -> dict[str, Any]:
    """A sentence as an object."""
    rows = sentence(rng)
    words: list[Any] = [w for w, _ in rows]
    if rng.random() < 0.2:
        words = [{"text": w, "id": i} for i, w in enumerate(words)]
    record: dict[str, Any] = {rng.choice(("tokens", "tokens", "words")): words}
    record[rng.choice(("tags", "tags", "ner_tags", "pos_tags"))] = [tag for _, tag in rows]
    if rng.random() < 0.2:
        record["features"] = [["NN"] * len(rows)]
    if rng.random() < 0.2:
        record["label"] = label(rng)
    return record


def span_record(rng: Random) -> dict[str, Any]:
    """A text with spans as an object, as Prodigy or doccano have it."""
    text = line(rng)
    edges = sorted({rng.randrange(len(text) + 1) for _ in range(rng.choice((0, 2, 4)))})
    spans = list(zip(edges[::2], edges[1::2], strict=False))
    kind = rng.randrange(4)
    if kind == 0:
        return {"text": text, "spans": [{"start": a, "end": b, "label": "X"} for a, b in spans]}
    if kind == 1:
        return {"id": 7, "text": text, "label": [[a, b, "X"] for a, b in spans]}
    if kind == 2:
        found = [{"id": 1, "start_offset": a, "end_offset": b, "label": "X"} for a, b in spans]
        return {"id": 7, "text": text, "entities": found}
    tokens, at = [], 0
    for number, token in enumerate(text.split(" ")):
        if token:
            tokens.append({"text": token, "start": at, "end": at + len(token), "id": number})
        at += len(token) + 1
    answer = rng.choice(("accept", "reject", "ignore"))
    return {"text": text, "tokens": tokens, "answer": answer,
            "spans": [{"start": a, "end": b, "label": "X", "token_start": 0} for a,
            b in spans]}  # fmt: skip


def text_record(rng: Random) -> dict[str, Any]:
    """A text with a class as an object."""
    record: dict[str, Any] = {rng.choice(("text", "sentence", "content")): line(rng)}
    key = rng.choice(("label", "labels", "class", "category", "intent"))
    record[key] = rng.choice((label(rng), [label(rng), "other"], 3))
    return record


def _of_records(make: Callable[[Random], dict[str, Any]]) -> Callable[[Random], Sample]:
    return lambda rng: _json_lines(rng, [make(rng) for _ in range(rng.randint(1, 4))])


def _brat(rng: Random) -> Sample:
    files = {}
    folder = rng.choice(("corpus/", "corpus/", ""))
    for name in ("a", "b")[: rng.randint(1, 2) if folder else 1]:
        text = "\n".join(line(rng) for _ in range(rng.randint(1, 3))) + rng.choice(("", "\n"))
        marks = []
        edges = sorted({rng.randrange(len(text) + 1) for _ in range(rng.choice((0, 2, 4, 6)))})
        for number, (a, b) in enumerate(zip(edges[::2], edges[1::2], strict=False), 1):
            place = f"{a} {b}"
            if rng.random() < 0.1 and b - a > 2:
                place = f"{a} {a + 1};{a + 2} {b}"
            repeated = (
                text[a:b].replace("\n", " ")
                if ";" not in place
                else (f"{text[a]} {text[a + 2 : b]}".replace("\n", " "))
            )
            marks.append(f"T{number}\t{rng.choice(_LABELS)} {place}\t{repeated}")
        marks += rng.sample(
            ("R1\tin Arg1:T1 Arg2:T2", "#1\tAnnotatorNotes T1\tno", "A1\tNegated T1", "E1\tX:T1",
            "*\tEquiv T1 T2",
             "N1\tReference T1 W:1\tx"), rng.choice((0, 0, 1, 2)),
        )  # fmt: skip
        files |= {f"{folder}{name}.txt": text, f"{folder}{name}.ann": "\n".join(marks) + "\n"}
    path = folder.rstrip("/") or rng.choice(("a.ann", "a.txt"))
    return Sample(files, path, {})


def _slash(rng: Random) -> Sample:
    lines = [
        " ".join(f"{w.replace(' ', '_').replace('/', chr(92) + '/')}/{tag}" for w, tag in rows)
        for rows in _sentences(rng)
    ]
    name = rng.choice(("a.pos", "a.txt", "a"))
    return Sample({name: "\n".join(lines) + "\n"}, name, {})


def _parallel(rng: Random) -> Sample:
    corpus = _sentences(rng)
    files = {
        "corpus/seq.in": "\n".join(" ".join(w for w, _ in rows) for rows in corpus) + "\n",
        "corpus/seq.out": "\n".join(" ".join(tag for _, tag in rows) for rows in corpus) + "\n",
        "corpus/label": "\n".join(label(rng) for _ in corpus) + "\n",
    }
    if rng.random() < 0.3:
        del files[rng.choice(("corpus/seq.out", "corpus/label"))]
    return Sample(files, rng.choice(("corpus", "corpus", "corpus/seq.in")), {})


def _token_rows(rng: Random) -> Sample:
    rows = [
        [str(number) if number == 1 or place == 0 else "", w.replace(",", "").strip() or "a", tag]
        for number, sentence in enumerate(_sentences(rng), 1)
        for place, (w, tag) in enumerate(sentence)
    ]
    header = rng.choice(("sentence,word,tag\n", "Sentence #,Word,Tag\n", ""))
    return Sample({"a.csv": header + "\n".join(map(",".join, rows)) + "\n"}, "a.csv", {})


def _sentence_rows(rng: Random) -> Sample:
    rows, labels = [], rng.choice((0, 0, 1))
    for sentence in _sentences(rng):
        words, tags = (" ".join(cell.replace(" ", "_") for cell in each)
                       for each in zip(*sentence, strict=True))  # fmt: skip
        rows.append([words, tags, *[label(rng)] * labels])
    header = "words\ttags\tlabel\n" if labels else "words\ttags\n"
    return Sample({"a.tsv": header + "\n".join(map("\t".join, rows)) + "\n"}, "a.tsv", {})


def _tsv(rng: Random) -> Sample:
    rows = [[label(rng), line(rng)] for _ in range(rng.randint(1, 5))]
    data: dict[str, Any] = {}
    head = rng.choice(([], ["label", "text"], ["intent", "utterance"]))
    order = rng.choice((1, -1))
    if rng.random() < 0.3:
        data = rng.choice(({"text_column": 1, "label_column": 0}, {"header": "yes"},
                           {"header": "no"},
                           {"text_column": "text", "label_column": "label"}, {"text_column": 9},
                           {"label_column": -1}, {"label_column": "nothing",
                           "header": "no"}))  # fmt: skip
    if rng.random() < 0.2:
        rows = [[*row, "7"] for row in rows]
        head = [*head, "n"] if head else []
    table = [row[::order] for row in ([head] if head else []) + rows]
    name = rng.choice(("a.tsv", "a.tsv", "a.txt", "a"))
    return Sample({name: "\n".join("\t".join(row) for row in table) + "\n"}, name, data)


def _csv(rng: Random) -> Sample:
    sample = _tsv(rng)
    (text,) = sample.files.values()
    lines = []
    for row in text.split("\n"):
        cells = row.split("\t")
        if rng.random() < 0.4 or any(char in row for char in ',"\r'):
            cells = ['"' + cell.replace('"', '""') + '"' for cell in cells]
        if rng.random() < 0.1 and len(cells) > 1:
            cells[-1] = '"two\nlines"'
        lines.append(",".join(cells) if row else "")
    name = rng.choice(("a.csv", "a.csv", "a.txt"))
    return Sample({name: "\n".join(lines)}, name, sample.data)


def _fasttext(rng: Random) -> Sample:
    def one() -> str:
        found = " ".join(
            f"__label__{label(rng).replace(' ', '-')}" for _ in range(rng.choice((1, 1, 2)))
        )
        return f"{found}{rng.choice((' ', ' ', chr(9)))}{line(rng)}"

    name = rng.choice(("a.ft", "a.txt", "a"))
    return Sample({name: "\n".join(one() for _ in range(rng.randint(1, 4))) + "\n"}, name, {})


def _trec(rng: Random) -> Sample:
    lines = [
        f"{rng.choice(('NUM:dist', 'DESC:def', 'LOC:other', 'HUM:ind'))} {line(rng)}"
        for _ in range(rng.randint(1, 4))
    ]
    name = rng.choice(("a.trec", "a.label", "a.txt"))
    return Sample(
        {name: "\n".join(lines) + "\n"}, name, {"label_level": rng.choice(("coarse", "fine"))}
    )


def _trees(rng: Random) -> Sample:
    def tree(depth: int) -> str:
        if depth == 0 or rng.random() < 0.3:
            safe = (word(rng, 0.03) or "x").replace("(", "-LRB-").replace(")", "-RRB-").split()
            return f"({rng.randrange(5)} {''.join(safe) or 'x'})"
        children = " ".join(tree(depth - 1) for _ in range(rng.choice((1, 2, 2))))
        return f"({rng.randrange(5)} {children})"

    data = {
        "tree_labels": rng.choice(("fine", "fine", "binary")),
        "tree_phrases": rng.random() < 0.3,
    }
    lines = [tree(rng.randint(0, 4)) for _ in range(rng.randint(1, 4))]
    name = rng.choice(("a.trees", "a.ptb", "a.txt"))
    return Sample({name: "\n".join(lines) + "\n"}, name, data)


def _folder(rng: Random) -> Sample:
    if rng.random() < 0.5:
        files = {
            f"corpus/{folder}/{name}.txt": line(rng) + rng.choice(("", "\n", "\nmore\n"))
            for folder in ("pos", "neg") for name in ("1", "2")[: rng.randint(1, 2)]
        }  # fmt: skip
    else:
        files = {
            f"corpus/{name}": "\n".join(line(rng) for _ in range(rng.randint(1, 3))) + "\n"
            for name in rng.choice((("x.pos", "x.neg"), ("pos.txt", "neg.txt"), ("rt-", "rt-pos")))
        }
    return Sample(files, "corpus", {})


def _text(rng: Random) -> Sample:
    name = rng.choice(("a.txt", "a", "a.md", "a.conll"))
    return Sample({name: "\n".join(line(rng) for _ in range(rng.randint(1, 5))) + "\n"}, name, {})


def _tokens(item: Sentence) -> Any:
    return item.words, item.tags


def _text_and_labels(item: Document) -> Any:
    return item.text, item.labels


def _text_and_spans(item: Document) -> Any:
    return item.text, item.spans or ()


def text_of(item: Sentence | Document) -> str:
    """A record's text; the words joined by blanks where a sentence has none."""
    if isinstance(item, Document):
        return item.text
    return " ".join(item.words) if item.text is None else item.text


SAMPLES: dict[str, SampleRow] = {
    "columns": SampleRow(_columns, lambda item: (item.words, item.tags, item.features), {}),
    "token-rows": SampleRow(
        _token_rows, lambda item: (item.words, item.tags, item.features), {}
    ),
    "sentence-rows": SampleRow(
        _sentence_rows, lambda item: (item.words, item.tags, item.labels), {}
    ),
    "conllu": SampleRow(_conllu, _tokens, {"tag_column": "MISC.NER"}),
    "jsonl-tokens": SampleRow(
        _of_records(token_record),
        lambda item: (item.words, item.tags, item.features, item.labels), {},
    ),
    "jsonl-spans": SampleRow(
        _of_records(span_record),
        lambda item: (item.text, item.spans or (), item.labels, item.tokens), {},
    ),
    "jsonl-texts": SampleRow(_of_records(text_record), _text_and_labels, {}),
    "brat": SampleRow(_brat, _text_and_spans, {}, sorts=True),
    "slash": SampleRow(_slash, _tokens, {}),
    "parallel": SampleRow(_parallel, lambda item: (item.words, item.tags, item.labels), {}),
    "tsv": SampleRow(_tsv, _text_and_labels, {}),
    "csv": SampleRow(_csv, _text_and_labels, {}),
    "fasttext": SampleRow(_fasttext, _text_and_labels, {}),
    "trec": SampleRow(_trec, _text_and_labels, {"label_level": "fine"}),
    "trees": SampleRow(_trees, _text_and_labels, {}),
    "folder": SampleRow(_folder, _text_and_labels, {}, sorts=True),
    "text": SampleRow(_text, text_of, {}),
}  # fmt: skip
