"""Spans of two files compared by their characters, where one or both of them hold no tokens.

White space is left out of both texts, and what is left must be equal: a file of tokens, a folder of
brat and JSON Lines of the same corpus differ in it, and in where a record ends. Spans are places in
this text. So that scores and their averages are counted as those of tags are, the text is divided
at the edges of the gold tokens and of the spans of both sides, which every span then falls on.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from tagkit.corpus.records.alignment import Place, overlaps, tokens_of
from tagkit.corpus.source.options import Item
from tagkit.errors import FormatError, SpanErrors
from tagkit.text.records import Document, Sentence, Span, TextSpan, joined
from tagkit.text.schemes import SpanTuple, from_spans
from tagkit.text.span_cuts import divides_any
from tagkit.wording import quoted

_SHOWN = 40  # characters of a text that a message quotes
SpansOf = Callable[[Sequence[str]], Iterable[SpanTuple]]  # of tags
Tags = list[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Characters:
    """Records laid end to end without white space, and where their parts are.

    Attributes:
        name: of their file, for messages.
        text: the characters.
        items: the records.
        starts: where each record begins in `text`.
        sentences: where each sentence begins.
        edges: where tokens begin and end.
        has_tokens: whether the file itself says what the tokens are.
        spans: start, end and label of each span, in order.
    """

    name: str
    text: str
    items: Sequence[Item]
    starts: Sequence[int]
    sentences: Sequence[int]
    edges: Sequence[int]
    has_tokens: bool
    spans: Sequence[SpanTuple]


def characters_of_both(
    gold: tuple[Sequence[Item], str],
    predicted: tuple[Sequence[Item], str],
    tokenizer: str,
    spans_of: SpansOf,
    *,
    whole: bool,
) -> tuple[Characters, Characters]:
    """The characters of two files, which are the same in both where that can be.

    Args:
        gold: records, and the name of their file.
        predicted: the same of the predictions.
        tokenizer: as for `characters_of`, and so are the others.
        spans_of: how spans are found in the tags of sentences.
        whole: whether each record is one sequence of tokens.

    Raises:
        SpanErrors: spans that overlap; all of them.
        FormatError: a span without a character that is no white space.
    """
    # Written from CoNLL-U by its words, a text differs at its multiword tokens from that of the
    # corpus: "de le" and "du". So the words are tried where the texts are not the same.
    refused: SpanErrors | None = None
    for by_words in (False, True):
        try:
            ours, theirs = (
                characters_of(*side, tokenizer, spans_of, whole=whole, by_words=by_words)
                for side in (gold, predicted)
            )
        except SpanErrors as error:  # of two words of a multiword token, which share a place
            if by_words:
                raise
            refused = error
            continue
        if ours.text == theirs.text:
            return ours, theirs
    if refused is not None:
        raise refused
    return ours, theirs


def characters_of(
    items: Sequence[Item],
    name: str,
    tokenizer: str,
    spans_of: SpansOf,
    *,
    whole: bool = False,
    by_words: bool = False,
) -> Characters:
    """The characters of records, with their tokens and spans.

    Args:
        items: the records.
        name: of their file.
        tokenizer: a name in `TOKENIZERS`, for texts without tokens.
        spans_of: how spans are found in the tags of sentences.
        whole: whether each record is one sequence of tokens.
        by_words: whether the words of sentences are taken even where their text is known.

    Raises:
        SpanErrors: spans that overlap; all of them.
        FormatError: a span without a character that is no white space.
    """
    texts: list[str] = []
    starts: list[int] = []
    sentences: list[int] = []
    edges: list[int] = []
    spans: list[SpanTuple] = []
    errors: list[FormatError] = []
    done = 0
    for item in items:
        starts.append(done)
        record = _parts_of(item, name, tokenizer, spans_of, whole=whole, by_words=by_words)
        errors += record.overlaps
        # Number of characters that are no white space before each place of the text.
        before = list(accumulate((not char.isspace() for char in record.text), initial=done))
        texts.append("".join(record.text.split()))
        for tokens in record.sentences:
            if tokens:
                sentences.append(before[tokens[0][0]])
                edges += (before[at] for token in tokens for at in token)
        for start, end, label in record.spans:
            if before[start] == before[end]:
                raise _white_space(item, name, label, start, end)
            spans.append((before[start], before[end], label))
        done = before[-1]
    if errors:
        raise SpanErrors(errors, "Keep one of each two: spans that overlap cannot be scored")
    return Characters(
        name=name,
        text="".join(texts),
        items=items,
        starts=starts,
        sentences=sentences,
        edges=edges,
        has_tokens=all(isinstance(item, Sentence) or item.tokens is not None for item in items),
        spans=spans,
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    """The text of a record, with the places of its tokens, by sentence, and of its spans."""

    text: str
    sentences: Sequence[Sequence[Place]]
    spans: Sequence[SpanTuple]
    overlaps: Sequence[FormatError]


def _parts_of(
    item: Item, name: str, tokenizer: str, spans_of: SpansOf, *, whole: bool, by_words: bool
) -> _Parts:
    if isinstance(item, Document):
        spans = [(span.start, span.end, span.label) for span in item.spans or ()]
        return _Parts(item.text, tokens_of(item, tokenizer, whole=whole), spans, overlaps(item))
    text, places = item.text, item.places
    if text is None or by_words:
        text, places = joined(item.words)
    tagged = list(spans_of(item.tags or ()))
    spans = [(places[start][0], places[end - 1][1], label) for start, end, label in tagged]
    if all(one[1] <= other[0] for one, other in pairwise(spans)):
        return _Parts(text, [places], spans, [])
    # Words of a multiword token share a place in the text.
    lines = tuple(_origin(item, name, start)[1] for start, _, _ in tagged)
    shown = tuple(TextSpan(text[start:end], start, end, label) for start, end, label in spans)
    document = Document(text, shown, source=name, line=lines[0], span_lines=lines)
    return _Parts(text, [places], spans, overlaps(document))


def _white_space(item: Item, name: str, label: str, start: int, end: int) -> FormatError:
    problem = f"expected a span of characters, found white space: {label} {start} {end}"
    return FormatError(*_origin(item, name), problem)


def _origin(item: Item, name: str, word: int = 0) -> tuple[str, int]:
    """File and line of a record, or of one word of a sentence."""
    if isinstance(item, Document):
        return item.source or name, item.line
    return name, item.lines[word] if item.lines else 1


def require_same_characters(gold: Characters, predicted: Characters) -> None:
    """Raise where the texts of two files differ, white space left aside.

    Raises:
        FormatError: they do; with the file and line of both, and what stands there.
    """
    if gold.text == predicted.text:
        return
    pairs = enumerate(zip(gold.text, predicted.text, strict=False))
    shorter = min(len(gold.text), len(predicted.text))
    at = next((index for index, (ours, theirs) in pairs if ours != theirs), shorter)
    expected, found = _place(gold, at), _place(predicted, at)
    beside = f" as on {expected.file}:{expected.line}" if expected.text else ""
    raise FormatError(
        found.file,
        found.line,
        f"expected {_quoted(expected.text)}{beside}, found {_quoted(found.text)}",
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """A file and line, and the text there; the last line with an empty text for a file's end."""

    file: str
    line: int
    text: str


def _place(side: Characters, at: int) -> _Place:
    index = bisect_right(side.starts, at) - 1
    if index < 0:
        return _Place(side.name, 1, "")
    item, inside = side.items[index], at - side.starts[index]
    text = " ".join(item.words) if isinstance(item, Sentence) else item.text
    # The whole word that begins to differ, and some of what follows it.
    offset = bisect_right(list(accumulate(not char.isspace() for char in text)), inside)
    begin = max(text.rfind(" ", 0, offset), text.rfind("\n", 0, offset)) + 1
    rest = text[begin : begin + _SHOWN] if at < len(side.text) else ""
    # A word may hold blanks, where tabs separate columns: their number is not that of the words.
    ends = accumulate(len(word) + 1 for word in item.words) if isinstance(item, Sentence) else ()
    word = bisect_right(list(ends), begin)
    return _Place(*_origin(item, side.name, word), rest)


def _quoted(text: str) -> str:
    return quoted(text) if text else "the end of the file"


@dataclass(frozen=True, slots=True)
class TaggedPieces:
    """Tags of the same pieces of text, a sequence for each sentence.

    Attributes:
        gold: the gold tags.
        predicted: likewise.
        sentences: the pieces as words, with the gold tags.
    """

    gold: Tags
    predicted: Tags
    sentences: Sequence[Sentence]


def tags_by_characters(
    gold: Characters, predicted: Characters, scheme: str, *, by_record: bool = False
) -> TaggedPieces:
    """The spans of both sides as tags of the same tokens.

    Args:
        gold: its tokens are counted; those of `predicted` where it has none of its own.
        predicted: the same characters.
        scheme: that the tags are to be in.
        by_record: whether there is a sequence for each gold record, rather than each sentence.
    """
    size = len(gold.text)
    tokens = predicted if predicted.has_tokens and not gold.has_tokens else gold
    both = (*gold.spans, *predicted.spans)
    cuts = {0, size, *gold.starts, *tokens.edges}
    cuts.update(at for start, end, _ in both for at in (start, end))
    edges = sorted(cuts)
    unit = {at: index for index, at in enumerate(edges)}
    # No sequence ends inside a span, of whichever side it is.
    divides = divides_any((start, end) for start, end, _ in both)
    begins = gold.starts if by_record else (*gold.starts, *tokens.sentences)
    firsts = sorted({unit[at] for at in begins if by_record or not divides(at)} - {len(edges) - 1})
    ends = [*firsts[1:], len(edges) - 1]
    sequences = list(zip(firsts, ends, strict=True))
    ours, theirs = (
        _tags([(unit[a], unit[b], label) for a, b, label in side.spans], sequences, scheme)
        for side in (gold, predicted)
    )
    sentences = []
    for (first, end), tags in zip(sequences, ours, strict=True):
        words = tuple(gold.text[a:b] for a, b in pairwise(edges[first : end + 1]))
        line = _line_of(gold, edges[first])
        sentences.append(Sentence(words, tags, lines=(line,) * len(words) if line else ()))
    return TaggedPieces(ours, theirs, sentences)


def _line_of(side: Characters, at: int) -> int:
    """The line of the record that a place is in; 0 where it stands in another file."""
    source, line = _origin(side.items[bisect_right(side.starts, at) - 1], side.name)
    return line if source == side.name else 0


def _tags(spans: Iterable[SpanTuple], sequences: Iterable[tuple[int, int]], scheme: str) -> Tags:
    """The tags of each sequence, one at a time: in IOB1 a tag depends on the one before it."""
    rest = deque(sorted(spans))
    found: Tags = []
    for first, end in sequences:
        here = []
        while rest and rest[0][0] < end:
            start, stop, label = rest.popleft()
            here.append(Span(start - first, stop - first, label))
        found.append(from_spans(here, end - first, scheme))
    return found
