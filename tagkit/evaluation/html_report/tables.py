"""Tables and small parts that several sections share."""

from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup

from tagkit.evaluation.reports.report_text import label_cell
from tagkit.evaluation.scores.scores import Score
from tagkit.html.chart import share_bar
from tagkit.html.colours import Palette
from tagkit.html.drawing import Mark, draw_text
from tagkit.html.elements import Child, element, joined, scrolling, share, table
from tagkit.text.records import joined as joined_words
from tagkit.text.schemes import SpanTuple

MAX_ROWS = 40  # of a table that has one for each label
_MAX_MATRIX = 18  # labels of a matrix; of more the pairs are listed
_CONTEXT = 14  # words on either side of what an example is about


def score_table(caption: str, head: str, scores: Iterable[tuple[str, Score]]) -> Markup:
    """Precision, recall and F1 of several rows, with a bar for F1."""
    rows = [
        (
            label_cell(name),
            share(each.precision),
            share(each.recall),
            share(each.f1),
            share_bar(each.f1),
            each.support,
        )
        for name, each in scores
    ]
    heads = (head, "precision", "recall", "F1", "", "gold")
    return joined([table(caption, heads, rows[:MAX_ROWS]), left_out(len(rows))])


def remark_note(remark: str) -> Markup | None:
    """A remark of a report, which begins in lower case, as a sentence; nothing of an empty one."""
    return note(f"{remark[0].upper()}{remark[1:]}.") if remark else None


def side_by_side(*parts: Child) -> Markup:
    """Parts in two columns where the page is wide enough."""
    return element("div", *(element("div", part) for part in parts if part), class_="wide")


def left_out(count: int) -> Markup | None:
    """How many of so many rows there are beyond the `MAX_ROWS` that are shown."""
    if count <= MAX_ROWS:
        return None
    return note(f"and {count - MAX_ROWS:,} more, which the report as JSON has")


def note(*children: Child) -> Markup:
    """A sentence that explains what is above it."""
    return element("p", *children, class_="note")


def cards(*values: tuple[str, str, str]) -> Markup:
    """Single numbers: name, value and a remark, which may be empty; the first one is the main."""
    return element("dl", *(
        element("div", element("dt", name), element("dd", value, small(remark)),
                class_=None if number else "main")
        for number, (name, value, remark) in enumerate(values)
    ), class_="cards")  # fmt: skip


def small(text: str) -> Markup | None:
    """A remark in small letters; nothing without one."""
    return element("small", text) if text else None


def confusion(
    caption: str,
    counts: Mapping[tuple[str, str], int],
    right: Mapping[str, int],
    *,
    unit: str,
    none: str,
) -> Markup:
    """A matrix of gold and predicted labels, or the most frequent pairs of many labels.

    Args:
        caption: of the table.
        counts: how often a gold label (first) was predicted as another (second).
        right: how often each was predicted as itself; without any, the diagonal is empty.
        unit: what is counted, in the plural.
        none: the label that stands for no label.
    """
    labels = sorted({label for pair in counts for label in pair} | right.keys() - {none})
    labels = [label for label in labels if label != none] + [none] * (none in labels)
    shown = {label: "(none)" if label == none else label_cell(label) for label in labels}
    if len(labels) > _MAX_MATRIX:
        ranked = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
        rows = [(shown[gold], shown[other], count) for (gold, other), count in ranked[:MAX_ROWS]]
        found = table(caption, ("gold", "predicted", unit), rows, names=2)
        return joined([found, left_out(len(ranked))])
    most = max(counts.values(), default=1)
    head = joined(element("th", shown[label], scope="col", class_="number") for label in labels)
    body = joined(
        element(
            "tr",
            element("th", shown[gold], scope="row"),
            joined(_cell(gold, other, counts, right, most) for other in labels),
        )
        for gold in labels
    )
    drawn = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", element("th", "gold \\ predicted", scope="col"), head)),
        element("tbody", body),
        class_="matrix",
    )
    legend = note(f"Rows: gold label. Columns: predicted label. Numbers: {unit}.")
    return joined([scrolling(caption, drawn), legend])


def _cell(
    gold: str,
    other: str,
    counts: Mapping[tuple[str, str], int],
    right: Mapping[str, int],
    most: int,
) -> Markup:
    if gold == other:
        count = right.get(gold)
        return element("td", count or "–", class_="right" if count else "quiet")
    count = counts.get((gold, other), 0)
    heat = 0 if not count else 1 + (count > most / 8) + (count > most / 2)
    return element("td", count or "·", class_=f"heat-{heat}" if heat else "quiet")


def spans_in_context(
    words: Sequence[str],
    spans: Sequence[SpanTuple],
    window: tuple[int, int],
    palette: Palette,
    probabilities: Sequence[float | None] = (),
) -> Markup:
    """The words of a window with their spans, each of which lies in it."""
    start, end = window
    text, places = joined_words(words[start:end])
    before, after = "… " * (start > 0), " …" * (end < len(words))
    known = [*probabilities, *[None] * (len(spans) - len(probabilities))]
    marks = [
        Mark(
            places[first - start][0] + len(before),
            places[last - 1 - start][1] + len(before),
            label,
            probability,
        )
        for (first, last, label), probability in zip(spans, known, strict=True)
    ]
    return draw_text(f"{before}{text}{after}", marks, palette)


def window_around(words: Sequence[str], spans: Iterable[SpanTuple]) -> tuple[int, int]:
    """The words to show: those of the spans, and some on either side."""
    found = list(spans)
    start, end = min(span[0] for span in found), max(span[1] for span in found)
    return max(0, start - _CONTEXT), min(len(words), end + _CONTEXT)


def example(place: str, sides: Iterable[tuple[str, Child]]) -> Markup:
    """Where something is, and what stands there by each side, such as gold and predicted."""
    pairs = (part for name, drawn in sides for part in (element("dt", name), element("dd", drawn)))
    return element("div", element("p", place, class_="place"), element("dl", *pairs),
                   class_="example")  # fmt: skip
