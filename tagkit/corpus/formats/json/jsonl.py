"""JSON Lines -> sentences and documents: one record a line (jsonlines.org), or all in one list.

Which keys hold what is in `jsonl_keys`. Offsets count code points, as in Python. A tool written in
JavaScript counts units of UTF-16, of which an emoji has two, so that spans behind one are a place
too far to the right. Most tools write a copy of each span's text beside its place: where the two
differ, the record is refused.
"""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from tagkit.config import DataConfig
from tagkit.corpus.formats.json.jsonl_keys import (
    CHOSEN,
    CLASSES,
    SPANS,
    TEXT,
    JsonRecord,
    Place,
    any_of,
    classes_of,
    parsed,
    place_of,
    record_texts,
    value_of_token,
)
from tagkit.corpus.formats.json.label_names import label_names, with_names
from tagkit.corpus.source.numbers import Vectors, numbers_under
from tagkit.corpus.source.options import Item, ReaderOptions
from tagkit.corpus.source.source import Source
from tagkit.text.json_text import require_plain
from tagkit.text.records import Document, Extra, Sentence, TagColumn, TextSpan
from tagkit.text.schemes import is_span_tag
from tagkit.wording import listed, quoted

# Prodigy keeps what its annotator refused.
_REFUSED = ("reject", "ignore")
_COMPLETE = ReaderOptions(DataConfig(), all_features=True, with_text=True)
# Prodigy, spaCy and Label Studio say start and end, doccano start_offset and end_offset. Label
# Studio has a list of labels.
_OFFSETS = (("start", "end"), ("start_offset", "end_offset"))
# What a record of tagkit has of them. Probabilities are read where they are wanted, and are no part
# of a corpus.
_READ = {
    "spans": frozenset(("start", "end", "start_offset", "end_offset", "text", "label", "labels")),
    "tokens": frozenset(("text", "start", "end", "tag", "tags")),
}


def read_jsonl(source: Source, reading: ReaderOptions) -> Iterator[Item]:
    """The records of a file, each as what its keys say."""
    passed_over = 0  # records that an annotator rejected: data, but no examples
    # Keys of spans and of tokens that are left out where all of a record is wanted.
    unread: dict[str, dict[str, None]] = {"spans": {}, "tokens": {}}
    is_complete = reading.with_extra and reading.all_features and reading.with_tags
    # Else what the keys of each record say.
    format = reading.data.format if reading.data.format.startswith("jsonl-") else ""
    names = label_names(source.path, reading)
    for number, text, which in record_texts(source, reading):
        if not text.strip():
            continue
        try:
            record = JsonRecord(with_names(parsed(text), names))
            if record.values.get("answer") in _REFUSED and not reading.with_refused:
                passed_over += 1
                continue
            kind = format or record.kind()
            item = _item(record, kind, source.name, number, reading)
        except ValueError as error:
            reading.refuse(source.name, number, f"{which}{error}")
            continue
        if is_complete:
            parts = {"spans": record.spans()[1] if kind == "jsonl-spans" else None,
                     "tokens": record.values.get("tokens")}  # fmt: skip
            for name, found in parts.items():
                unread[name].update(dict.fromkeys(_unread_keys(found, _READ[name])))
        yield item
    if parts_unread := [f"of {name}: {listed([*keys])}" for name, keys in unread.items() if keys]:
        reading.note(f"{source.name}: keys that are left out {'; '.join(parts_unread)}")
    if passed_over:
        reading.note(
            f"{source.name}: records that Prodigy marks as rejected or ignored are skipped "
            f"({passed_over:,})"
        )


def _unread_keys(parts: Any, read: frozenset[str]) -> Iterator[str]:
    """The keys of spans or of tokens that no record of tagkit has a place for."""
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict):
            yield from (key for key in part if key not in read)


def reads_alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two records are of one kind, with the same text and annotation."""
    try:
        records = [JsonRecord(each) for each in (one, other)]
        kinds = [record.kind() for record in records]
        first, second = (
            _item(record, kind, "", 1, _COMPLETE)
            for record, kind in zip(records, kinds, strict=True)
        )
    except ValueError:
        return False
    return kinds[0] == kinds[1] and first == second


def _item(record: JsonRecord, kind: str, source: str, number: int, reading: ReaderOptions) -> Item:
    """A record as what it is read as.

    Raises:
        ValueError: it is none of that format; the message is the reason, in words.
    """
    if kind == "jsonl-tokens":
        return _sentence(record, number, reading)
    text = record.text
    if text is None:
        raise ValueError(f"expected a {any_of(TEXT)}, found the keys {record.listed()}")
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"expected a text, found {_shown(text)}")
    name = record.values.get("id", "")
    return Document(
        text=text,
        spans=_spans(record, text, reading) if kind == "jsonl-spans" else None,
        labels=_labels(record, kind, reading, needed=kind == "jsonl-texts" and reading.with_tags),
        tokens=_places(text, record.values.get("tokens")),
        name=str(name) if isinstance(name, (str, int)) else "",
        source=source,
        line=number,
        extra=_extra(record, kind) if reading.with_extra else (),
    )


def _extra(record: JsonRecord, kind: str) -> Extra:
    read = record.keys_read(kind)
    found = tuple((key, value) for key, value in record.values.items() if key not in read)
    for key, value in found:
        # It is written again, and sent to workers: both walk through it by recursion.
        if isinstance(value, (list, dict)):
            try:
                require_plain(value)
            except ValueError as error:
                raise ValueError(f"{quoted(key)}: {error}") from None
    return found


def _sentence(record: JsonRecord, number: int, reading: ReaderOptions) -> Sentence:
    words = _strings(record.tokens, "tokens")
    labels = _labels(record, "jsonl-tokens", reading, needed=False)
    found = record.tags
    # Of tags of several columns, as a model of these writes them, the one that is wanted.
    column = None
    if found is None:
        column = reading.column if record.tag_columns() else None
        found = record.tags_of_tokens(column)
    tags: tuple[str, ...] | None = None
    # Tokens of one class need no tags, nor those that are known to have none of the classes.
    if reading.with_tags:
        _require_one(record.twice("jsonl-tokens"))
    if reading.with_tags and (
        found is not None or not (labels or record.classes("jsonl-tokens")[0] is not None)
    ):
        tags = _strings(found, "tags")
        if len(tags) != len(words):
            raise ValueError(f"expected as many tags as tokens ({len(words)}), found {len(tags)}")
    columns: tuple[TagColumn, ...] = ()
    if reading.with_probabilities and tags is not None and record.tags is None:
        probs = [_probability(token, column) for token in record.values["tokens"]]
        known = tuple(each for each in probs if each is not None)
        columns = (TagColumn("", tags, known if len(known) == len(probs) else None),)
    text, places = record.text_of_tokens()
    return Sentence(
        words,
        tags,
        _features(record, len(words), reading),
        labels,
        text,
        places,
        columns,
        (number,) * len(words),
        _extra(record, "jsonl-tokens") if reading.with_extra else (),
        vectors=_vectors(record, len(words), reading),
    )


def _features(
    record: JsonRecord, length: int, reading: ReaderOptions
) -> tuple[tuple[str, ...], ...]:
    """A list for each feature, as columns are: [["NNP", "VBZ"], ["upper", "lower"]]."""
    columns = record.values.get("features", [])
    if not isinstance(columns, list):
        raise ValueError(f"features: expected a list of lists, found {_shown(columns)}")
    features = tuple(_strings(column, "features") for column in columns)
    if any(len(column) != length for column in features):
        raise ValueError(f"features: expected {length} values in each list, one a token")
    if reading.all_features:
        return features
    try:
        return tuple(features[int(column)] for column in reading.data.feature_columns)
    except (IndexError, ValueError):
        named = list(reading.data.feature_columns)
        raise ValueError(
            f"features: expected those at {named}, found {len(features)} lists"
        ) from None


def _vectors(record: JsonRecord, length: int, reading: ReaderOptions) -> Vectors:
    """The numbers of each token under the keys of the configuration."""
    names = () if reading.all_features else reading.data.vector_columns
    for name in names:
        if name not in record.values:
            raise ValueError(
                f"data.vector_columns names the key {name!r}, found the keys {record.listed()}"
            )
    return tuple(numbers_under(record.values[str(name)], str(name), length) for name in names)


def _strings(value: Any, key: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"{key}: expected a list of strings, found {_shown(value)}")
    if "" not in value and {*map(type, value)} == {str}:  # each check one pass in C
        return tuple(value)
    # Tokens of Prodigy and of tagkit's own predictions are objects.
    texts: list[Any] = [item.get("text") if isinstance(item, dict) else item for item in value]
    odd = next((item for item in texts if not isinstance(item, str) or not item), texts)
    if odd is not texts:
        names = " (name numbered labels with data.label_names)" * (type(odd) is int)
        raise ValueError(f"{key}: expected strings that are not empty, found {_shown(odd)}{names}")
    return tuple(texts)


def _labels(
    record: JsonRecord, kind: str, reading: ReaderOptions, *, needed: bool
) -> tuple[str, ...]:
    """The classes of a record.

    Raises:
        ValueError: what is there is something else, or they are needed and none are there.
    """
    values = record.values
    cats = values.get("cats")
    if isinstance(cats, dict):  # spaCy's object of all classes: those with a value of 0.5 or more
        if "" in cats or not all(isinstance(value, int | float) for value in cats.values()):
            raise ValueError(f"cats: expected a number for each class, found {_shown(cats)}")
        return tuple(label for label, value in cats.items() if value >= 0.5)
    key, classes = record.classes(kind)
    if key is not None:
        if reading.with_tags and (meant := _other_than_classes(record, values[key])):
            raise ValueError(
                f"{key}: expected names of classes, found {meant}: {_shown(values[key])}"
            )
        return classes
    if needed:
        for key in (*CLASSES, CHOSEN):
            if key in values:
                raise ValueError(
                    f"{key}: expected a class or a list of classes, found {_shown(values[key])}"
                )
        raise ValueError(f"expected a {any_of(CLASSES)}, found the keys {record.listed()}")
    return ()


def _other_than_classes(record: JsonRecord, values: Any) -> str:
    """What a list under a key of classes holds in their place, in words; empty for classes."""
    if not isinstance(values, list) or len(values) < 2:
        return ""
    if all(isinstance(each, int | float) and each in (0, 1) for each in values):
        return "a number for each class (name the classes with data.label_names)"
    if len({*map(str, values)}) == len(values):
        return ""  # each class once
    is_as_long = isinstance(record.tokens, list) and len(record.tokens) == len(values)
    if is_as_long or all(isinstance(each, str) and is_span_tag(each) for each in values):
        return "a tag for each token (write them under tags, beside tokens)"
    return ""


def _spans(record: JsonRecord, text: str, reading: ReaderOptions) -> tuple[TextSpan, ...] | None:
    """The spans of a text, in order; None where it has none, and none are wanted."""
    _, found = record.spans()
    values = record.values
    # Prodigy may leave out the key where its annotator marked nothing.
    if found is None and "spans" not in values and values.get("answer") == "accept":
        found = []
    # A text whose spans are to be predicted need not have any.
    if found is None and reading.with_tags:
        key = next((key for key in SPANS if key in values), None)
        if key is None:
            raise ValueError(f"expected spans, found the keys {record.listed()}")
        raise ValueError(f"{key}: expected a list of spans, found {_shown(values[key])}")
    if found is None:
        return None
    of_text = partial(span_of, text)
    if reading.with_tags:
        _require_one(
            (key, sorted((each.start, each.end, each.label) for each in map(of_text, spans)))
            for key, spans in record.twice("jsonl-spans")
        )
    read = (span_of(text, span, with_probability=reading.with_probabilities) for span in found)
    return tuple(sorted(read, key=lambda span: (span.start, span.end)))


def _require_one(annotations: Iterator[tuple[str, Any]]) -> None:
    """Refuse two annotations of one record that differ.

    Raises:
        ValueError: they do.
    """
    key, first = next(annotations, ("", None))
    if other := next((other for other, value in annotations if value != first), ""):
        raise ValueError(f"{key} and {other} differ: expected one of them; leave out the other")


def span_of(text: str, span: Any, *, with_probability: bool = False) -> TextSpan:
    """A span of any of the known shapes.

    Args:
        text: of the record.
        span: an object, or a list of start, end and label.
        with_probability: whether its probability is wanted.

    Raises:
        ValueError: it is no span of the text; the message is the reason, in words.
    """
    start: Any = None
    end = label = copy = start
    if isinstance(span, dict):
        start_key, end_key = _OFFSETS["start" not in span]
        start, end, label = span.get(start_key), span.get(end_key), span.get("label")
        if label is None:
            label, *others = classes_of(span.get("labels")) or (None,)
            label = None if others else label
        copy = span.get("text")
    elif isinstance(span, list) and len(span) == 3:
        start, end, label = span
    # Python takes True for the number 1.
    if not (type(start) is type(end) is int and isinstance(label, str) and label):
        raise ValueError(f"expected a span with start, end and label, found {_shown(span)}")
    if isinstance(copy, str) and copy != text[start:end]:
        _require_same(text, start, end, copy)
    if not 0 <= start < end <= len(text):
        raise ValueError(
            f"expected a span inside the text's {len(text):,} characters, found {_shown(span)}"
        )
    probability = _probability(span) if with_probability else None
    return TextSpan(text[start:end], start, end, label, probability)


def _require_same(text: str, start: int, end: int, copy: str) -> None:
    """Refuse a span whose place does not hold the text that it has a copy of.

    Raises:
        ValueError: they differ in more than white space, which tools cut off and change.
    """
    if text[start:end].split() == copy.split():
        return
    found = f"found {quoted(text[start:end])}" if 0 <= start < end <= len(text) else "found none"
    problem = f"expected {quoted(copy)} at {start:,} to {end:,}, as a span says, {found}"
    units = text.encode("utf-16-le", "surrogatepass")[2 * start : 2 * end]
    if units and units == copy.encode("utf-16-le", "surrogatepass"):
        problem += ". Its offsets count units of UTF-16 (an emoji is two), not code points"
    raise ValueError(problem)


def _probability(part: Any, column: str | None = None) -> float | None:
    """The probability of a span, or of a token's tag in a column; None where there is none."""
    found = value_of_token(part, "probability", "probabilities", column)
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    return float(found) if found is not None and is_number and 0 <= found <= 1 else None


def _places(text: str, tokens: Any) -> tuple[Place, ...] | None:
    """The places of a text's tokens; None where it has none, and is to be divided into them.

    Their own texts are not compared with the text: those of word pieces (`##ing`) are others.

    Raises:
        ValueError: a token has no place in the text, or not behind the one before.
    """
    if not isinstance(tokens, list) or not tokens:
        return None
    places: list[Place] = []
    for token in tokens:
        try:
            start, end = place_of(token)
            # In order and apart: tags are one a token, from left to right.
            if not (places[-1][1] if places else 0) <= start < end <= len(text):
                raise ValueError("expected places in the text, in order")
        except ValueError as error:
            raise ValueError(f"tokens: {error}, found {_shown(token)}") from None
        places.append((start, end))
    return tuple(places)


def _shown(value: Any) -> str:
    """A value of JSON as a message shows it."""
    return quoted(json.dumps(value, ensure_ascii=False))[1:-1]
