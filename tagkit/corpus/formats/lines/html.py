"""Records -> a page for people, as displaCy draws one; it is written, and never read.

Each record is a text with its spans, its classes, or tokens above their tags. It is written when
it has come, whatever follows it: the colours go to labels in the order in which they are met.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from markupsafe import Markup

from tagkit.corpus.source.options import Item, silent
from tagkit.corpus.source.pieces import OutputPiece, Writing
from tagkit.html.colours import Palette
from tagkit.html.drawing import (
    BARE,
    DrawnToken,
    Mark,
    draw_alignment,
    draw_classes,
    draw_legend,
    draw_text,
    draw_tokens,
)
from tagkit.html.elements import element, joined
from tagkit.html.page import page_end, page_head
from tagkit.text.records import Document, Sentence, StringAnswer, TaggedText, node_spans
from tagkit.text.records import joined as joined_words
from tagkit.text.schemes import is_span_tag, span_tuples
from tagkit.wording import plural

_TITLE = "Labelled texts"
Classes = Sequence[tuple[str, float | None]]


def write_html(
    items: Iterable[Item | TaggedText | StringAnswer], writing: Writing
) -> Iterator[OutputPiece]:
    """The beginning of a page, each record as it comes, and what was counted of them."""
    palette, counts = Palette(), Counter[str]()
    header = element("header", element("h1", _TITLE))
    yield OutputPiece("", joined([page_head(_TITLE), header, Markup("\n<main>\n")]))
    number = 0
    for number, item in enumerate(items, 1):
        place = element("p", number, class_="place")
        drawn = _drawn(item, writing, palette, counts)
        body = element("div", drawn)
        yield OutputPiece(
            "", element("div", place, body, class_="text", id=f"text-{number}") + "\n"
        )
    legend = draw_legend(counts.most_common(), palette)
    summary = element("p", f"{plural(number, 'text')}, and how often each label occurs:")
    shown = [summary, legend] if counts else [element("p", plural(number, "text"))]
    yield OutputPiece(
        "", joined([Markup("</main>\n"), element("footer", *shown), "\n", page_end()])
    )


def draw_item(item: Item | TaggedText | StringAnswer, palette: Palette) -> Markup:
    """A record by itself; tags that mean no spans stand below their tokens."""
    tags: Iterable[str | None] = ()
    if isinstance(item, TaggedText):
        tags = (token.tag for token in item.tokens)
    elif isinstance(item, Sentence):
        tags = item.tags or ()
    plain = not all(is_span_tag(tag) for tag in tags if tag is not None)
    return _drawn(item, Writing(plain=plain, single=True, note=silent), palette, Counter())


def _drawn(
    item: Item | TaggedText | StringAnswer,
    writing: Writing,
    palette: Palette,
    counts: Counter[str],
) -> Markup:
    if isinstance(item, StringAnswer):
        text = draw_text(f"{item.source} \u2192 {item.text}", [], palette)
        if (found := item.alignment) is None:
            return text
        return joined([text, draw_alignment(found.symbols, found.units, found.weights)])
    return joined([_classes(item, palette, counts), _labels(item, writing, palette, counts)])


def _classes(item: Item | TaggedText, palette: Palette, counts: Counter[str]) -> Markup | None:
    classes: Classes = [(label, None) for label in item.labels]
    if isinstance(item, TaggedText) and item.scores:
        classes = [(score.label, score.probability) for score in item.scores]
    counts.update(label or BARE for label in item.labels)
    return draw_classes(classes, palette) if classes else None


def _labels(
    item: Item | TaggedText, writing: Writing, palette: Palette, counts: Counter[str]
) -> Markup:
    """The text with its spans, or its tokens with their tags where these mean no spans."""
    if isinstance(item, Sentence):
        tokens = _tokens_of_sentence(item, plain=writing.plain)
    else:
        tokens = _tokens_of_text(item, plain=writing.plain) if isinstance(item, TaggedText) else []
    if tokens:
        counts.update(tag or BARE for token in tokens for tag, _ in token.tags)
        return draw_tokens(tokens, palette)
    text, marks = _marks_of_sentence(item) if isinstance(item, Sentence) else _marks_of_text(item)
    counts.update(mark.label or BARE for mark in marks)
    return draw_text(text, marks, palette)


def _tokens_of_sentence(item: Sentence, *, plain: bool) -> list[DrawnToken]:
    columns = [column.values for column in item.columns]
    if not columns and plain and item.tags is not None:
        columns = [item.tags]
    return [
        DrawnToken(word, tuple((tag, None) for tag in tags))
        for word, *tags in zip(item.words, *columns, strict=True)
        if columns
    ]


def _tokens_of_text(item: TaggedText, *, plain: bool) -> list[DrawnToken]:
    found = []
    for token in item.tokens:
        if token.tags is not None:
            probabilities = token.probabilities or {}
            tags = tuple((tag, probabilities.get(name)) for name, tag in token.tags.items())
            found.append(DrawnToken(token.text, tags))
        elif plain and token.tag is not None:
            found.append(DrawnToken(token.text, ((token.tag, token.probability),)))
    return found


def _marks_of_sentence(item: Sentence) -> tuple[str, list[Mark]]:
    text, places = (item.text, item.places) if item.places else joined_words(item.words)
    marks = [
        Mark(places[start][0], places[end - 1][1], label)
        for start, end, label in span_tuples(item.tags or ())
    ]
    return text or "", marks


def _marks_of_text(item: Document | TaggedText) -> tuple[str, list[Mark]]:
    # The root, which is the last node, has the class of the text, which stands above it.
    spans = item.spans or node_spans(item)[-2::-1]
    return item.text, [Mark(each.start, each.end, each.label, each.probability) for each in spans]
