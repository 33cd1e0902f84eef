"""Spans of characters <-> tags of tokens.

Each line of a text is tokenised by itself, as in `tagkit predict`: a model is trained on the tokens
that it will meet. Neither a sentence nor a line ends inside a span. Where a corpus gives tokens,
these are taken.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tagkit.corpus.records.spans_over_ends import SpansOverEnds
from tagkit.corpus.source.options import Item, ReaderOptions
from tagkit.errors import FormatError, SpanErrors
from tagkit.text.records import Document, Sentence, Span, TextSpan, joined, new_document
from tagkit.text.schemes import from_spans, to_spans
from tagkit.text.tokenizer import TOKENIZERS
from tagkit.text.windows import divides_any
from tagkit.wording import plural, quoted, shown_name

Place = tuple[int, int]

_MOST_SETTLED = 10  # spans that were made to fit, each of which is noted

_KEEP_ONE = "Keep one of each two"
_CORRECT = (
    "Correct these spans, or let data.on_misaligned (expand, shrink or drop) settle all that do "
    "not fall on token edges; where words are longer than names, as in Korean, let tokens be "
    "characters (data.tokenizer=characters)"
)


@dataclass(frozen=True, slots=True)
class _Fitted:
    """Spans of tokens, and what is wrong with the spans of characters that they come from.

    Attributes:
        spans: that fit tokens, or were made to fit.
        errors: spans that do not fit, where that is an error.
        settled: spans that were moved or dropped, as data.on_misaligned says.
    """

    spans: list[Span]
    errors: list[FormatError]
    settled: list[FormatError]


def to_sentences(
    items: Iterable[Item],
    reading: ReaderOptions,
    *,
    numbered: bool = True,
    over_ends: SpansOverEnds | None = None,
) -> Iterator[Sentence]:
    """Sentences of a corpus: as they are, or as the tokens of its documents, in IOB2.

    A document with classes comes out as one sequence; other ones as their sentences, whose texts,
    laid end to end, are the document's.

    Args:
        items: the corpus.
        reading: how it is read.
        numbered: whether sentences of a document have its number.
        over_ends: counts spans over what else would end a sentence.

    Raises:
        SpanErrors: spans that overlap, or that do not fall on token edges where
            `data.on_misaligned` is "error"; all of them, after the last document. With
            `reading.on_error` they are reported to it instead, and left out.
    """
    problems = _Problems(reading)
    for item in items:
        if isinstance(item, Sentence):
            yield item
            continue
        if not reading.with_tags:  # spans that nobody asked for need not fit the tokens
            item = replace(item, spans=None)
        overlapping = overlaps(item)
        ends: list[int] = []
        places = tokens_of(item, reading.data.tokenizer, whole=reading.whole, ends=ends)
        if over_ends is not None:
            over_ends.add(item, ends)
        if not places and (item.labels or reading.whole):
            reading.refuse(item.source or "input", item.line, "expected a text, found no token")
            continue
        # Spans are fitted to all tokens at once: a sentence may end where a span does.
        flat = [place for sentence in places for place in sentence]
        fitted = _fit(item, flat, reading.data.on_misaligned, bool(overlapping))
        problems.add(overlapping, fitted)
        number = new_document() if numbered else None
        yield from _cut(item, places, flat, fitted.spans, number)
    problems.report()


class _Problems:
    """What is wrong with the spans of a corpus, for one report of all of it."""

    def __init__(self, reading: ReaderOptions) -> None:
        self._reading = reading
        self._errors: list[FormatError] = []
        self._some_overlap = self._some_are_misaligned = False
        self._settled: Counter[str] = Counter()  # by file

    def add(self, overlapping: list[FormatError], fitted: _Fitted) -> None:
        """Those of one document; the first ones that were settled are noted at once."""
        self._errors += overlapping + fitted.errors
        self._some_overlap |= bool(overlapping)
        self._some_are_misaligned |= bool(fitted.errors)
        for problem in fitted.settled:
            self._settled[problem.source] += 1
            if self._settled.total() <= _MOST_SETTLED:
                self._reading.note(str(problem))

    def report(self) -> None:
        """Raise or report all at once, so that a corpus can be corrected in one pass.

        Raises:
            SpanErrors: there are some, and nobody is given them one by one.
        """
        settled, reading = self._settled, self._reading
        if (rest := settled.total() - _MOST_SETTLED) > 0:
            where = f"{next(iter(settled))}: " if len(settled) == 1 else ""
            reading.note(f"{where}{plural(rest, 'more span')} made to fit tokens, or dropped")
        if not self._errors:
            return
        if reading.on_error is None:
            # data.on_misaligned has no effect on spans that overlap.
            remedy = _CORRECT if self._some_are_misaligned else _KEEP_ONE
            if self._some_are_misaligned and self._some_overlap:
                remedy = f"{_KEEP_ONE} that overlap. {_CORRECT}"
            raise SpanErrors(self._errors, remedy)
        for error in self._errors:
            reading.on_error(error)
        if self._some_are_misaligned:
            reading.note(_CORRECT)


def overlaps(document: Document) -> list[FormatError]:
    """Each span that overlaps one before it, with both named.

    One tag a token cannot hold nested spans, as GENIA and ACE have them.
    """
    found: list[FormatError] = []
    widest: TextSpan | None = None  # the one that reaches furthest, not the last: spans may nest
    for index, span in enumerate(document.spans or ()):
        if widest is not None and span.start < widest.end:
            how = "is inside" if span.end <= widest.end else "overlaps"
            found.append(
                _error(document, index, f"{shown(span)} {how} {shown(widest)}: expected spans side "
                       "by side")
            )  # fmt: skip
        if widest is None or span.end > widest.end:
            widest = span
    return found


def side_by_side(places: Sequence[Place]) -> bool:
    """Whether each place ends before the next one begins."""
    return all(a[1] <= b[0] for a, b in pairwise(places))


def shown(span: TextSpan) -> str:
    """A span as messages name it."""
    return f"{quoted(span.text, 40)} ({shown_name(span.label)} {span.start} {span.end})"


def _error(document: Document, index: int, problem: str) -> FormatError:
    line = document.span_lines[index] if document.span_lines else document.line
    return FormatError(document.source or "input", line, problem)


def tokens_of(
    document: Document, tokenizer: str, *, whole: bool, ends: list[int] | None = None
) -> list[list[Place]]:
    """Places of the tokens of each sentence; no span reaches over the end of a sentence.

    Args:
        document: its own tokens are taken where it has some.
        tokenizer: a name in `TOKENIZERS`.
        whole: whether its tokens are one sequence, as they are where it has classes.
        ends: gets the places within spans at which a line or a sentence would end without them.
    """
    whole = whole or bool(document.labels)
    # Of a text that is one sequence nothing ends before it does.
    ends = [] if ends is None or whole else ends
    if document.tokens is not None:
        return [list(document.tokens)] if document.tokens else []
    divides = divides_any((span.start, span.end) for span in document.spans or ())
    sentences: list[list[Place]] = []
    for start, line in _lines(document.text, divides, ends):
        for found in TOKENIZERS[tokenizer](line):
            places = [(token.start + start, token.end + start) for token in found]
            # A tokenizer knows no spans, and may end a sentence after the "St." of "St. Gallen".
            is_within = divides(places[0][0])
            if is_within:
                ends.append(places[0][0])
            if sentences and (whole or is_within):
                sentences[-1] += places
            else:
                sentences.append(places)
    return sentences


def _lines(
    text: str, divides: Callable[[int], bool], within: list[int]
) -> Iterator[tuple[int, str]]:
    """Lines with their offsets; one that ends inside a span is joined with the next."""
    start, end = 0, text.find("\n") + 1
    while end:
        if divides(end):
            within.append(end)
        else:
            yield start, text[start:end]
            start = end
        end = text.find("\n", end) + 1
    yield start, text[start:]


def _fit(document: Document, tokens: Sequence[Place], how: str, skip_overlapping: bool) -> _Fitted:
    """Spans of tokens for a document's spans of characters."""
    starts, ends = [start for start, _ in tokens], [end for _, end in tokens]
    fitted = _Fitted([], [], [])
    behind = 0  # end of the last span, in tokens: nothing may begin before it
    for index, span in enumerate(document.spans or ()):
        # Tokens that share at least one character with the span.
        first, last = bisect_right(ends, span.start), bisect_left(starts, span.end)
        aligned = first < last and (starts[first], ends[last - 1]) == (span.start, span.end)
        if aligned and first >= behind:
            fitted.spans.append(Span(first, last, span.label))
            behind = last
            continue
        # It overlaps one before, which is reported by `overlaps`, or one that was expanded.
        if aligned:
            if not skip_overlapping:
                problem = f"{shown(span)}: its tokens are those of a span that was made larger"
                fitted.settled.append(_error(document, index, f"{problem}; dropped"))
            continue
        problem = _misaligned(document.text, span, tokens[first:last])
        if how == "error":
            fitted.errors.append(_error(document, index, problem))
            continue
        # "expand" takes all tokens that are touched, "shrink" those that lie inside.
        if how == "shrink":
            first = bisect_left(starts, span.start)
            last = bisect_right(ends, span.end)
        if how == "drop" or first >= last or first < behind:
            fitted.settled.append(_error(document, index, f"{problem}; dropped"))
            continue
        found = document.text[starts[first] : ends[last - 1]]
        done = f"{problem}; it becomes {quoted(found, 40)} ({how})"
        fitted.settled.append(_error(document, index, done))
        fitted.spans.append(Span(first, last, span.label))
        behind = last
    return fitted


def _misaligned(text: str, span: TextSpan, tokens: Sequence[Place]) -> str:
    """Why a span is not one of tokens; `tokens` are those that it touches."""
    if not tokens:
        return f"{shown(span)} holds no token"
    where = ", ".join(
        f"{quoted(text[start:end], 40)} ({start} {end})"
        for start, end in {tokens[0]: 0, tokens[-1]: 0}
    )
    return f"{shown(span)} does not fall on token edges: the tokens there are {where}"


def _cut(
    document: Document,
    places: list[list[Place]],
    flat: list[Place],
    spans: list[Span],
    document_number: int | None,
) -> Iterator[Sentence]:
    """The document's sentences with their tags and texts."""
    text = document.text
    # IOB2, as nothing else is known of a corpus of characters; training converts it.
    tags = None if document.spans is None else from_spans(spans, len(flat), "iob2")
    done = 0
    for number, sentence in enumerate(places):
        # White space belongs to the sentence before it: end to end, the texts are the document.
        begin = sentence[0][0] if number else 0
        end = places[number + 1][0][0] if number + 1 < len(places) else len(text)
        yield Sentence(
            words=tuple(text[a:b] for a, b in sentence),
            tags=None if tags is None else tags[done : done + len(sentence)],
            labels=document.labels,
            text=text[begin:end],
            places=tuple((a - begin, b - begin) for a, b in sentence),
            lines=(document.line,) * len(sentence),
            extra=document.extra,
            document=document_number,
            tree=document.tree,  # of a document with classes, which is one sentence
        )
        done += len(sentence)


def to_document(sentence: Sentence, *, plain: bool, source: str = "") -> Document:
    """A sentence as a text with spans: its own text, or its words joined by blanks.

    Args:
        sentence: its tags, in any scheme, are read by the rules of conlleval.
        plain: whether its tags are plain labels, which are not spans and are left out.
        source: the file that it comes from.
    """
    text, places = sentence.text, sentence.places
    if text is None:
        text, places = joined(sentence.words)
    spans = None
    if sentence.tags is not None and not plain:
        spans = tuple(
            TextSpan(text[start:end], start, end, span.label)
            for span in to_spans(sentence.tags)
            for start, end in [(places[span.start][0], places[span.end - 1][1])]
        )
    return Document(
        text=text,
        spans=spans,
        labels=sentence.labels,
        # Words of one multiword token of CoNLL-U share a place: these are no tokens of the text.
        tokens=places if side_by_side(places) else None,
        source=source,
        line=sentence.lines[0] if sentence.lines else 1,
        extra=sentence.extra,
        tree=sentence.tree,
    )
