"""Predictions as records of a corpus, so that they are written and scored as any other records."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tagkit.corpus.records.record_checks import check_answer, checked_item
from tagkit.corpus.source.options import Item
from tagkit.errors import DataError
from tagkit.text.records import Document, Prediction, Sentence, TaggedText, TaggedToken
from tagkit.text.schemes import is_span_tag
from tagkit.wording import clipped

Answer = Prediction | TaggedText


def holds_sentences(records: Sequence[Item | Answer]) -> bool:
    """Whether records are tokens with tags, which spans of characters could not hold."""
    return any(
        isinstance(record, Sentence | Prediction)
        or (isinstance(record, TaggedText) and _is_plain(record))
        for record in records
    )


def column_names(record: Item | Answer) -> tuple[str, ...]:
    """Names of the tag columns of a record that has several; else none."""
    if isinstance(record, TaggedText):
        return next((tuple(token.tags) for token in record.tokens if token.tags), ())
    return () if isinstance(record, Document) else tuple(each.name for each in record.columns)


def _is_plain(answer: TaggedText) -> bool:
    """Whether some tag is a plain label, such as a part of speech, and no part of a span."""
    return not all(is_span_tag(token.tag) for token in answer.tokens if token.tag is not None)


def as_items(records: Iterable[Item | Answer], *, split: bool) -> Iterator[Item]:
    """The records, with answers to texts as sentences or, unless they are `split`, as documents.

    Raises:
        DataError: something is no record, or one whose parts do not fit together.
    """
    for number, record in enumerate(records, 1):
        if isinstance(record, Sentence | Document):
            item = checked_item(record, f"record {number:,}")
            if isinstance(item, Sentence) and not item.words:
                raise DataError(f"record {number:,}: expected at least one word, found none")
            if isinstance(item, Document) and not item.source:  # as messages name it
                item = replace(item, source="record", line=number)
            yield item
        elif isinstance(record, Prediction | TaggedText):
            check_answer(record, f"record {number:,}")
            if split or isinstance(record, Prediction):
                yield from as_sentences(record)
            else:
                yield as_document(record)
        else:
            raise DataError(
                "records: expected a Sentence, a Document, or a model's answer, found "
                f"{clipped(repr(record))}"
            )


def left_out(records: Iterable[Item | Answer], *, are_drawn: bool) -> list[str]:
    """What answers have that is not written, as records of a corpus have nothing of the kind.

    Args:
        records: valid ones.
        are_drawn: whether probabilities of spans are written nevertheless, as a page shows them.
    """
    answers = [each for each in records if isinstance(each, Prediction | TaggedText)]
    parts = {
        "probabilities": any(
            each.scores
            or (_has_probabilities(each) and not (are_drawn and isinstance(each, TaggedText)))
            for each in answers
        ),
        "weights of attention": any(map(_has_attention, answers)),
        # Of `tagkit.inference`, from which nothing is imported here.
        "prediction sets": any(hasattr(each, "tag_sets") for each in answers),
    }
    return [name for name, is_there in parts.items() if is_there]


def _has_probabilities(answer: Answer) -> bool:
    """Whether some tag or span has a probability."""
    if any(span.probability is not None for span in answer.spans):
        return True
    if isinstance(answer, Prediction):
        columns = any(column.probabilities is not None for column in answer.columns)
        return columns or answer.probabilities is not None
    return any(token.probability is not None or token.probabilities for token in answer.tokens)


def _has_attention(answer: Answer) -> bool:
    if isinstance(answer, Prediction):
        return answer.attention is not None
    return any(token.attention is not None for token in answer.tokens)


def as_document(answer: TaggedText) -> Document:
    """A text with its spans and classes; its tags, unless they are those of spans, are left out."""
    places = tuple((token.start, token.end) for token in answer.tokens)
    has_tags = any(token.tag is not None for token in answer.tokens)
    return Document(
        answer.text,
        spans=answer.spans if has_tags else None,
        labels=answer.labels,
        tokens=places or None,
        tree=answer.tree,
    )


def as_sentences(answer: Answer) -> Iterator[Sentence]:
    """The sentences of a text with their tags; the classes of the text are those of each."""
    if isinstance(answer, Prediction):
        yield Sentence(answer.words, answer.tags or None, labels=answer.labels, tree=answer.tree)
        return
    starts = [part[0].start for part in answer.sentences]
    for number, tokens in enumerate(answer.sentences):
        # White space belongs to the sentence before it: end to end, the texts are the whole.
        begin = starts[number] if number else 0
        end = starts[number + 1] if number + 1 < len(starts) else len(answer.text)
        yield _sentence(tokens, answer.text[begin:end], begin, answer.labels)


def _sentence(
    tokens: tuple[TaggedToken, ...], text: str, begin: int, labels: tuple[str, ...]
) -> Sentence:
    tags = tuple(token.tag for token in tokens if token.tag is not None)
    return Sentence(
        tuple(token.text for token in tokens),
        tags or None,
        labels=labels,
        text=text,
        places=tuple((token.start - begin, token.end - begin) for token in tokens),
    )
