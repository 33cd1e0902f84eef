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

from tagkit.corpus.records.alignment import overlaps, side_by_side, tokens_of
from tagkit.errors import FormatError, SpanErrors
from tagkit.evaluation.scores.pairing import Labelled, Spot, difference, origin, text_of
from tagkit.text.records import Document, Sentence, Span, joined
from tagkit.text.schemes import SpanTuple, from_spans
from tagkit.text.windows import divides_any

_SHOWN = 40  # characters of a text that a message quotes
SpansOf = Callable[[Sequence[str]], Iterable[SpanTuple]]  # of tags
Tags = list[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Characters:
    """Records laid end to end without white space, and where their parts are.

    Attributes:
        side: the records.
        text: the characters.
        starts: where each record begins in `text`.
        sentences: where each sentence begins.
        edges: where tokens begin and end.
        spans: start, end and label of each span, in order.
        probabilities: of each span; None where it has none.
    """

    side: Labelled
    text: str
    starts: Sequence[int]
    sentences: Sequence[int]
    edges: Sequence[int]
    spans: Sequence[SpanTuple]
    probabilities: Sequence[float | None]

    @property
    def has_tokens(self) -> bool:
        """Whether the file itself says what the tokens are."""
        items = self.side.items
        return all(isinstance(item, Sentence) or item.tokens is not None for item in items)

    @property
    def is_flat(self) -> bool:
        """Whether no span shares a character with another."""
        return side_by_side(sorted((start, end) for start, end, _ in self.spans))


def characters_of_both(
    gold: Labelled, predicted: Labelled, tokenizer: str, spans_of: SpansOf, *, whole: bool
) -> tuple[Characters, Characters]:
    """The characters of two files, which are the same in both.

    Args:
        gold: the gold records.
        predicted: the predicted ones.
        tokenizer: as for `characters_of`, and so are the others.
        spans_of: how spans are found in the tags of sentences.
        whole: whether each record is one sequence of tokens.

    Raises:
        SpanErrors: spans of a text that overlap; all of them.
        FormatError: a span without a character that is no white space; or the texts differ: with
            the file and line of both, and what stands there.
    """
    # Written from CoNLL-U by its words, a text differs at its multiword tokens from that of the
    # corpus, "de le" and "du", and two words of "du" share a place. So the words are tried too.
    for by_words in (False, True):
        ours, theirs = (
            characters_of(side, tokenizer, spans_of, whole=whole, by_words=by_words)
            for side in (gold, predicted)
        )
        if ours.text == theirs.text and ours.is_flat and theirs.is_flat:
            return ours, theirs
    pairs = enumerate(zip(ours.text, theirs.text, strict=False))
    shorter = min(len(ours.text), len(theirs.text))
    at = next((index for index, (one, other) in pairs if one != other), shorter)
    raise difference(_spot(ours, at), _spot(theirs, at))


def characters_of(
    side: Labelled,
    tokenizer: str,
    spans_of: SpansOf,
    *,
    whole: bool = False,
    by_words: bool = False,
) -> Characters:
    """The characters of records, with their tokens and spans.

    Args:
        side: the records.
        tokenizer: a name in `TOKENIZERS`, for texts without tokens.
        spans_of: how spans are found in the tags of sentences.
        whole: whether each record is one sequence of tokens.
        by_words: whether the words of sentences are taken even where their text is known.

    Raises:
        SpanErrors: spans of a text that overlap; all of them.
        FormatError: a span without a character that is no white space.
    """
    texts: list[str] = []
    starts: list[int] = []
    sentences: list[int] = []
    edges: list[int] = []
    spans: list[SpanTuple] = []
    probabilities: list[float | None] = []
    errors: list[FormatError] = []
    done = 0
    for item in side.items:
        starts.append(done)
        if isinstance(item, Document):
            text, tokens = item.text, tokens_of(item, tokenizer, whole=whole)
            found = [(span.start, span.end, span.label) for span in item.spans or ()]
            probabilities += [span.probability for span in item.spans or ()]
            errors += overlaps(item)
        else:
            text, places = joined(item.words)
            if item.text is not None and not by_words:
                text, places = item.text, item.places
            tokens = [list(places)]
            tagged = spans_of(item.tags or ())
            found = [(places[start][0], places[end - 1][1], label) for start, end, label in tagged]
        # Number of characters that are no white space before each place of the text.
        before = list(accumulate((not char.isspace() for char in text), initial=done))
        texts.append("".join(text.split()))
        for sentence in tokens:
            if sentence:
                sentences.append(before[sentence[0][0]])
                edges += (before[at] for token in sentence for at in token)
        for start, end, label in found:
            if before[start] == before[end]:
                problem = f"expected a span of characters, found white space: {label} {start} {end}"
                raise FormatError(*origin(item, side.name), problem)
            spans.append((before[start], before[end], label))
        done = before[-1]
    if errors:
        raise SpanErrors(errors, "Keep one of each two: spans that overlap cannot be scored")
    return Characters(side, "".join(texts), starts, sentences, edges, spans, probabilities)


def _spot(characters: Characters, at: int) -> Spot:
    """What stands at a place: the whole word that it is in, and some of what follows it."""
    index = bisect_right(characters.starts, at) - 1
    side = characters.side
    if index < 0:
        return Spot(side.name, 1, None)
    item, inside = side.items[index], at - characters.starts[index]
    text = text_of(item)
    offset = bisect_right(list(accumulate(not char.isspace() for char in text)), inside)
    begin = max(text.rfind(" ", 0, offset), text.rfind("\n", 0, offset)) + 1
    # A word may hold blanks, where tabs separate columns: their number is not that of the words.
    ends = accumulate(len(word) + 1 for word in item.words) if isinstance(item, Sentence) else ()
    place = origin(item, side.name, bisect_right(list(ends), begin))
    return Spot(*place, text[begin : begin + _SHOWN] if at < len(characters.text) else None)


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
        source, line = origin(
            gold.side.items[bisect_right(gold.starts, edges[first]) - 1], gold.side.name
        )
        # Lines are those of the gold file; a record may stand in another one, of a folder.
        lines = (line,) * len(words) if line and source == gold.side.name else ()
        sentences.append(Sentence(words, tags, lines=lines))
    return TaggedPieces(ours, theirs, sentences)


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
