"""JSON Lines -> sentences and documents: one record a line (jsonlines.org).

| object | read as |
| --- | --- |
| `{"tokens": [...], "tags": [...]}`, or `words`, `ner_tags` | a sentence |
| `{"text": "...", "spans": [{"start", "end", "label"}]}`, as Prodigy has it | a document |
| the same with `entities` and `start_offset`, `end_offset`, or `label(s)`: [[start, end, "X"]] |
  a document, as doccano has it |
| `{"text": "...", "ents": [...], "tokens": [...]}`, as spaCy's Doc.to_json has it | a document |
| `{"text": "...", "label": [{"start", "end", "labels": ["X"]}]}`, Label Studio's JSON_MIN |
  a document |
| `{"text": "...", "label": "X"}`, or `labels`: ["X", "Y"] | a document with classes |
| `{"text": "...", "options": [...], "accept": ["X", "Y"]}`, as Prodigy has it | the same |
| `["...", {"entities": [[start, end, "X"]], "cats": {"Y": 1.0}}]`, as spaCy 2 has it | a document |
| `{"text": "...", "tokens": [{"text", "start", "end", "tag"}]}`, of `tagkit predict` | a sentence |

The records of a file may also be the elements of one list.

Offsets count code points, as in Python. A tool written in JavaScript counts units of UTF-16, of
which an emoji has two, so that spans behind one are a place too far to the right. Most tools write
a copy of each span's text beside its place: where the two differ, the record is refused.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tagkit.config import DataConfig
from tagkit.corpus.formats.json.json_records import (
    RecordTexts,
    as_record,
    columns_of_tokens,
    tags_of_tokens,
    text_of_tokens,
    value_of_token,
)
from tagkit.corpus.formats.json.jsonl_keys import (
    CHOSEN,
    CLASSES,
    SPANS,
    TAGS,
    TEXT,
    TOKENS,
    any_of,
    class_key,
    classes_of,
    first_of,
    has_other_classes,
    keys_read,
    kind_of,
    other_than_classes,
    span_list,
)
from tagkit.corpus.source.options import Item, ReaderOptions
from tagkit.corpus.source.source import Source
from tagkit.errors import FileError
from tagkit.text.json_text import require_plain
from tagkit.text.records import Document, Extra, Sentence, TagColumn, TextSpan
from tagkit.wording import listed, plural, quoted

# Keys of a record that Label Studio exports as JSON: its text and annotation are further below.
_OF_LABEL_STUDIO = {"data", "annotations"}
# Prodigy keeps what its annotator refused.
_REFUSED = ("reject", "ignore")
_COMPLETE = ReaderOptions(DataConfig(), all_features=True, with_text=True)
# Prodigy, spaCy and Label Studio say start and end, doccano start_offset and end_offset. Label
# Studio has a list of labels.
_START = ("start", "start_offset")
_END = ("end", "end_offset")
# What a record of tagkit has of them. Probabilities are read where they are wanted, and are no part
# of a corpus.
_OF_SPANS = frozenset((*_START, *_END, "text", "label", "labels"))
_OF_TOKENS = frozenset(("text", "start", "end", "tag", "tags"))


class _BadRecord(Exception):
    """What is wrong with a record."""


class _BadFile(_BadRecord):
    """What is wrong with a record, and with all others of its file."""


def read_jsonl(source: Source, reading: ReaderOptions) -> Iterator[Item]:
    """The records of a file, each as what its keys say.

    Raises:
        FileError: a record shows that the file is of a kind that cannot be read.
    """
    passed_over = 0  # records that an annotator rejected: data, but no examples
    # Records whose `label` and `labels` are not the same: their number, and the line of the first.
    differing = first_differing = 0
    # Keys of spans and of tokens that are left out where all of a record is wanted.
    unread: dict[tuple[str, str], None] = {}
    is_complete = reading.with_extra and reading.all_features and reading.with_tags
    texts = RecordTexts(source)
    for number, line in texts:
        if not line.strip():
            continue
        try:
            record = _parse(line)
            if record.get("answer") in _REFUSED and not reading.with_refused:
                passed_over += 1
                continue
            item = _item(record, source.name, number, reading)
            if reading.with_tags and has_other_classes(record, _kind(record, reading)):
                differing += 1
                first_differing = first_differing or number
            if is_complete:
                spans = span_list(record)[1] if _kind(record, reading) == "jsonl-spans" else None
                unread.update(dict.fromkeys(unread_keys(spans, record.get("tokens"))))
        # RecursionError: json nests as deep as a hostile line says.
        except (_BadRecord, ValueError, RecursionError) as error:
            problem = (
                str(error) if isinstance(error, (_BadRecord, ValueError)) else "is nested too deep"
            )
            if (which := texts.number_on_line()) is not None:  # the line alone does not say it
                problem = f"record {which:,}: {problem}"
            if isinstance(error, _BadFile):
                raise FileError(source.name, number, problem) from None
            reading.refuse(source.name, number, problem)
            continue
        yield item
    if differing:
        count = plural(differing, "record")
        reading.note(
            f"{source.name}:{first_differing}: 'label' is read, though 'labels' names other "
            f"classes ({count})"
        )
    if unread:
        parts = (
            f"of {kind}: {listed([key for of, key in unread if of == kind])}"
            for kind in ("spans", "tokens")
            if any(of == kind for of, _ in unread)
        )
        reading.note(f"{source.name}: keys that are left out {'; '.join(parts)}")
    if passed_over:
        reading.note(
            f"{source.name}: records that Prodigy marks as rejected or ignored are skipped "
            f"({passed_over:,})"
        )


def reads_alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two records are of one kind, with the same text and annotation."""
    try:
        first, second = ((kind_of(each), _item(each, "", 1, _COMPLETE)) for each in (one, other))
    except (_BadRecord, ValueError, RecursionError):
        return False
    return first == second


def _parse(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        why = f"{error.msg.removesuffix(' at')} at character {error.colno}"
        if error.pos >= len(line.rstrip()):
            why = "it does not end on its line (a record has one line, or all are one list)"
        raise _BadRecord(f"expected a JSON object, found {quoted(line)}: {why}") from None
    except ValueError:  # Python's words on it name a function of Python
        raise _BadRecord(
            f"expected a JSON object, found {quoted(line)}: a number has over 4,300 digits"
        ) from None
    record = as_record(value)
    if record is None:
        raise _BadRecord(f"expected a JSON object, found {quoted(line)}")
    # JSON may spell half of a pair as \ud800, which no file in UTF-8 could hold. To look at all of
    # a record takes twice as long as to read it.
    if "\\u" in line:
        try:
            json.dumps(record, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            found = quoted(error.object[error.start : error.end])
            raise _BadRecord(
                f"expected Unicode text, found half of a surrogate pair: {found}"
            ) from None
    return record


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of a record. Of a key that comes twice, Python would keep the last value."""
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise _BadRecord(f"expected each key once, found {quoted(twice)} {counts[twice]} times")
    return found


def _item(record: dict[str, Any], source: str, number: int, reading: ReaderOptions) -> Item:
    if record.keys() >= _OF_LABEL_STUDIO and first_of(record, (*TEXT, *TOKENS)) is None:
        raise _BadFile(
            f"expected a {any_of(TEXT)}, found the keys {listed([*record])}. Export from Label "
            "Studio as CONLL2003, or texts with classes as CSV"
        )
    kind = _kind(record, reading)
    if kind == "jsonl-tokens":
        return _sentence(record, number, reading)
    text = first_of(record, TEXT)
    if text is None:
        keys = listed([*record]) or "of nothing"
        raise _BadRecord(f"expected a {any_of(TEXT)}, found the keys {keys}")
    if not isinstance(text, str) or not text.strip():
        raise _BadRecord(f"expected a text, found {shown_json(text)}")
    name = record.get("id", "")
    spans: tuple[TextSpan, ...] | None = None
    if kind == "jsonl-spans":
        _, found = span_list(record)
        # Prodigy may leave out the key where its annotator marked nothing.
        if found is None and "spans" not in record and record.get("answer") == "accept":
            found = []
        # A text whose spans are to be predicted need not have any.
        if found is None and reading.with_tags:
            key = next((key for key in SPANS if key in record), None)
            if key is None:
                raise _BadRecord(f"expected spans, found the keys {listed([*record])}")
            raise _BadRecord(f"{key}: expected a list of spans, found {shown_json(record[key])}")
        if found is not None:
            with_probability = reading.with_probabilities
            read = (span_of(text, span, with_probability=with_probability) for span in found)
            spans = tuple(sorted(read, key=_place))
    return Document(
        text=text,
        spans=spans,
        labels=_labels(record, kind, reading, needed=kind == "jsonl-texts" and reading.with_tags),
        tokens=places_of(text, record.get("tokens")),
        name=str(name) if isinstance(name, (str, int)) else "",
        source=source,
        line=number,
        extra=_extra(record, kind, reading),
    )


def _kind(record: Mapping[str, Any], reading: ReaderOptions) -> str:
    """Which of the three formats a record is read as."""
    wanted = reading.data.format
    return wanted if wanted.startswith("jsonl-") else kind_of(record)


def _extra(record: Mapping[str, Any], kind: str, reading: ReaderOptions) -> Extra:
    if not reading.with_extra:
        return ()
    read = keys_read(record, kind)
    found = tuple((key, value) for key, value in record.items() if key not in read)
    for key, value in found:
        # It is written again, and sent to workers: both walk through it by recursion.
        if isinstance(value, (list, dict)):
            try:
                require_plain(value)
            except ValueError as error:
                raise _BadRecord(f"{quoted(key)}: {error}") from None
    return found


def _sentence(record: dict[str, Any], number: int, reading: ReaderOptions) -> Sentence:
    words = _strings(first_of(record, TOKENS), "tokens")
    labels = _labels(record, "jsonl-tokens", reading, needed=False)
    found = first_of(record, TAGS)
    # Of tags of several columns, as a model of these writes them, the one that is wanted.
    column = reading.column if columns_of_tokens(record) else None
    found = tags_of_tokens(record, column) if found is None else found
    tags: tuple[str, ...] | None = None
    # Tokens of one class need no tags, nor those that are known to have none of the classes.
    is_classified = bool(labels) or class_key(record, "jsonl-tokens") is not None
    if reading.with_tags and not (is_classified and found is None):
        tags = _strings(found, "tags")
        if len(tags) != len(words):
            raise _BadRecord(f"expected as many tags as tokens ({len(words)}), found {len(tags)}")
    # A list for each feature, as columns are: [["NNP", "VBZ"], ["upper", "lower"]].
    features = _features(record.get("features", []), len(words))
    if not reading.all_features:
        try:
            features = tuple(features[int(column)] for column in reading.data.feature_columns)
        except (IndexError, ValueError):
            named = list(reading.data.feature_columns)
            raise _BadRecord(
                f"features: expected those at {named}, found {len(features)} lists"
            ) from None
    columns: tuple[TagColumn, ...] = ()
    if reading.with_probabilities and tags is not None and first_of(record, TAGS) is None:
        probs = [probability_of(token, column) for token in first_of(record, TOKENS)]
        known = tuple(each for each in probs if each is not None)
        columns = (TagColumn("", tags, known if len(known) == len(probs) else None),)
    text, places = text_of_tokens(record)
    lines, extra = (number,) * len(words), _extra(record, "jsonl-tokens", reading)
    return Sentence(words, tags, features, labels, text, places, columns, lines, extra)


def _features(columns: Any, length: int) -> tuple[tuple[str, ...], ...]:
    if not isinstance(columns, list):
        raise _BadRecord(f"features: expected a list of lists, found {shown_json(columns)}")
    features = tuple(_strings(column, "features") for column in columns)
    if any(len(column) != length for column in features):
        raise _BadRecord(f"features: expected {length} values in each list, one a token")
    return features


def _strings(value: Any, key: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise _BadRecord(f"{key}: expected a list of strings, found {shown_json(value)}")
    # Tokens of Prodigy and of tagkit's own predictions are objects.
    texts: list[Any] = [item.get("text") if isinstance(item, dict) else item for item in value]
    odd = next((item for item in texts if not isinstance(item, str) or not item), texts)
    if odd is not texts:
        names = " (write the names of numbered classes)" * (type(odd) is int)
        raise _BadRecord(
            f"{key}: expected strings that are not empty, found {shown_json(odd)}{names}"
        )
    return tuple(texts)


def _labels(
    record: dict[str, Any], kind: str, reading: ReaderOptions, *, needed: bool
) -> tuple[str, ...]:
    if isinstance(record.get("cats"), dict):
        return _cats(record["cats"])
    if (key := class_key(record, kind)) is not None:
        if reading.with_tags and (meant := other_than_classes(record, key)):
            raise _BadRecord(
                f"{key}: expected names of classes, found {meant}: {shown_json(record[key])}"
            )
        return classes_of(record[key])
    if needed:
        for key in (*CLASSES, CHOSEN):
            if key in record:
                raise _BadRecord(
                    f"{key}: expected a class or a list of classes, found {shown_json(record[key])}"
                )
        raise _BadRecord(f"expected a {any_of(CLASSES)}, found the keys {listed([*record])}")
    return ()


def _cats(cats: dict[str, Any]) -> tuple[str, ...]:
    """The classes of spaCy's object of all classes: those with a value of 0.5 or more."""
    odd = next((v for v in cats.values() if not isinstance(v, (int, float))), None)
    if odd is not None or "" in cats:
        raise _BadRecord(f"cats: expected a number for each class, found {shown_json(cats)}")
    return tuple(label for label, value in cats.items() if value >= 0.5)


def _place(span: TextSpan) -> tuple[int, int]:
    return span.start, span.end


def span_of(text: str, span: Any, *, with_probability: bool = False) -> TextSpan:
    """A span of any of the known shapes.

    Args:
        text: of the record.
        span: an object, or a list of start, end and label.
        with_probability: whether its probability is wanted.

    Raises:
        ValueError: it is no span of the text; the message is the reason, in words.
    """
    copy = None
    if isinstance(span, dict):
        start, end, label = first_of(span, _START), first_of(span, _END), span.get("label")
        if label is None and isinstance(labels := span.get("labels"), list) and len(labels) == 1:
            label = labels[0]
        copy = span.get("text")
    elif isinstance(span, list) and len(span) == 3:
        start, end, label = span
    else:
        raise ValueError(f"expected a span with start, end and label, found {shown_json(span)}")
    # Python takes True for the number 1.
    whole = all(isinstance(at, int) and not isinstance(at, bool) for at in (start, end))
    if not whole or not isinstance(label, str) or not label:
        raise ValueError(f"expected a span with start, end and label, found {shown_json(span)}")
    if isinstance(copy, str) and copy != text[start:end]:
        _require_same(text, start, end, copy)
    if not 0 <= start < end <= len(text):
        raise ValueError(
            f"expected a span inside the text's {len(text):,} characters, found {shown_json(span)}"
        )
    probability = probability_of(span) if with_probability else None
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


def probability_of(part: Any, column: str | None = None) -> float | None:
    """The probability of a span, or of a token's tag in a column; None where there is none."""
    found = value_of_token(part, "probability", "probabilities", column)
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    return float(found) if found is not None and is_number and 0 <= found <= 1 else None


def places_of(text: str, tokens: Any) -> tuple[tuple[int, int], ...] | None:
    """The places of a text's tokens; None where it has none, and is to be divided into them.

    Their own texts are not compared with the text: those of word pieces (`##ing`) are others.

    Raises:
        ValueError: a token has no place in the text, or not behind the one before.
    """
    if not isinstance(tokens, list) or not tokens:
        return None
    places: list[tuple[int, int]] = []
    for token in tokens:
        found = (token.get("start"), token.get("end")) if isinstance(token, dict) else (None, None)
        start, end = found
        if not isinstance(start, int) or not isinstance(end, int):
            raise ValueError(f"tokens: expected start and end in each, found {shown_json(token)}")
        # In order and apart: tags are one a token, from left to right.
        if not (places[-1][1] if places else 0) <= start < end <= len(text):
            raise ValueError(
                f"tokens: expected places in the text, in order, found {shown_json(token)}"
            )
        places.append((start, end))
    return tuple(places)


def unread_keys(spans: Iterable[Any] | None, tokens: Any) -> Iterator[tuple[str, str]]:
    """The keys of spans and of tokens that no record of tagkit has a place for.

    Args:
        spans: those of a record.
        tokens: likewise; a list of objects, or of anything else.

    Returns:
        "spans" or "tokens", and the key.
    """
    for kind, parts, read in (
        ("spans", spans, _OF_SPANS),
        ("tokens", tokens if isinstance(tokens, list) else (), _OF_TOKENS),
    ):
        for part in parts or ():
            if isinstance(part, dict):
                yield from ((kind, key) for key in part if key not in read)


def shown_json(value: Any) -> str:
    """A value of JSON as a message shows it."""
    return quoted(json.dumps(value, ensure_ascii=False))[1:-1]
