"""The sections of a page, each a function from its record to HTML, and the tables that they share.

Scores with their interval and other measures, systems side by side, errors and examples, slices,
labels in doubt, calibration, sets of answers, and learning curves.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import mean

from markupsafe import Markup

from tagkit.evaluation.analysis.analysis import HeadlineInterval, Match, Measures
from tagkit.evaluation.analysis.error_kinds import NOTHING, ErrorReport, Example
from tagkit.evaluation.analysis.label_errors import Audit, Doubt
from tagkit.evaluation.analysis.power_law import LEVEL, LearningCurve
from tagkit.evaluation.analysis.slices import Slices, WordAccuracy
from tagkit.evaluation.compare.systems import System, Systems, system_tables
from tagkit.evaluation.html_report.curve import page_chart
from tagkit.evaluation.reports.class_report import NO_CLASS, ClassReport
from tagkit.evaluation.reports.column_report import ColumnsReport
from tagkit.evaluation.reports.report_text import MEMBERS, label_cell, without_spans
from tagkit.evaluation.reports.tag_report import TagReport
from tagkit.evaluation.scores.calibration import Bin, Calibration
from tagkit.evaluation.scores.conformal import SetReport
from tagkit.evaluation.scores.metrics import Kind, added_metrics
from tagkit.evaluation.scores.scores import Score
from tagkit.html.chart import PAGE_TICKS, Axis, Chart, round_ticks, share_bar
from tagkit.html.colours import Palette
from tagkit.html.drawing import Mark, draw_text
from tagkit.html.elements import Child, element, joined, percent, scrolling, share, table
from tagkit.text.records import joined as joined_words
from tagkit.text.schemes import SpanTuple, has_spans
from tagkit.wording import listed, plural, plural_of

MAX_ROWS = 40  # of a table that has one for each label
_MAX_MATRIX = 18  # labels of a matrix; of more the pairs are listed
_CONTEXT = 14  # words on either side of what an example is about


def score_table(caption: str, head: str, scores: Iterable[tuple[str, Score]]) -> Markup:
    """Precision, recall and F1 of several rows, with a bar for F1."""
    rows = [
        (
            label_cell(name),
            *_score_cells(each),
            each.support,
        )
        for name, each in scores
    ]
    heads = (head, "precision", "recall", "F1", "", "gold")
    return joined([table(caption, heads, rows[:MAX_ROWS]), left_out(len(rows))])


def _score_cells(each: Score | Match) -> list[Child]:
    return [share(each.precision), share(each.recall), share(each.f1), share_bar(each.f1)]


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
        element("div", element("dt", name),
                element("dd", value, element("small", remark) if remark else None),
                class_=None if number else "main")
        for number, (name, value, remark) in enumerate(values)
    ), class_="cards")  # fmt: skip


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


_ROW = 34  # height of a system in the chart, in units of the drawing
_LEFT, _RIGHT, _WIDTH = 46, 20, 480
_MAX_DOUBTS = 50  # doubts on a page
_MEANING = {
    "boundary": "the right type on overlapping words",
    "type": "the right words, another type",
    "boundary and type": "overlapping words, another type",
    "missed": "a gold span that no prediction overlaps",
    "spurious": "a prediction that no gold span overlaps",
    "split": "several predictions for one gold span",
    "merged": "one prediction for several gold spans",
}
_OF_NONE = note(
    "(none) as gold label is a spurious span, as predicted label a missed one. Splits and mergers "
    "are not in this table."
)
_TICKS = [(tick / 5, f"{20 * tick}") for tick in range(6)]


@dataclass(frozen=True, slots=True)
class Scored:
    """A report, and the interval of its headline where there is one."""

    report: TagReport | ClassReport
    interval: HeadlineInterval | None


def draw_scores(scored: Scored, palette: Palette) -> Markup:
    """The numbers of `tagkit eval` on one kind of labels."""
    report, found = scored.report, scored.interval
    remark = ""
    if found is not None:
        remark = f"{100 * found.level:g} % interval {percent(found.low)} to {percent(found.high)}"
    shown = [(f"{report.measure}, %", percent(report.headline), remark)]
    if report.measure == "F1":
        shown += [
            ("precision, %", percent(report.micro.precision), "of what is predicted"),
            ("recall, %", percent(report.micro.recall), "of what is in the gold labels"),
        ]
    shown.append(("macro F1, %", percent(report.macro.f1), "mean over labels"))
    shown += [
        (metric.name, share(metric.value(report.comparison)), "")
        for metric in added_metrics(report.comparison.kind)
    ]
    if isinstance(report, TagReport):
        kind = f"{report.scheme} spans" if has_spans(report.scheme) else "labels of tokens"
        size = f"{report.tokens:,} tokens"
        shown += [
            ("sentences", f"{report.sentences:,}", f"{size}; accuracy {share(report.accuracy)}"),
            ("counted", report.mode, kind),
        ]
    else:
        shown += [("texts", f"{report.texts:,}", f"all classes right {share(report.accuracy)}")]
    averages = (("micro", report.micro), ("macro", report.macro), ("weighted", report.weighted))
    unknown = None
    if report.unknown:
        names = [f"{label_cell(label)} ({count:,})" for label, count in report.unknown.items()]
        unknown = note("Gold labels that the model does not know, all counted as errors: ",
                       listed(names))  # fmt: skip
    labels = score_table("Scores by label", "label", report.types.items()) if report.types else None
    means = score_table("Averages", "average", averages)
    remark = without_spans(report) if isinstance(report, TagReport) else ""
    return joined([cards(*shown), remark_note(remark), side_by_side(labels, means), unknown])


def draw_columns(report: ColumnsReport, palette: Palette) -> Markup:
    """The accuracy of a model of several tag columns, a row for each."""
    rows = [
        (label_cell(each.name), share(each.accuracy), share_bar(each.accuracy),
         share(each.known.accuracy) if each.known and each.known.support else "–",
         share(each.unknown.accuracy) if each.unknown and each.unknown.support else "–",
         each.tokens)
        for each in report.columns
    ]  # fmt: skip
    heads = ("column", "accuracy", "", "known words", "unknown words", "tokens")
    return joined([
        cards((f"{report.measure}, %", percent(report.headline), "")),
        table("Accuracy of whole values", heads, rows),
        note("Unknown words are those that the training corpus lacks."),
    ])  # fmt: skip


def draw_measures(measures: Measures, palette: Palette) -> Markup:
    """Strict, exact and partial scores of spans, by type, and of surface forms, a row for each."""
    rows = [
        (
            name, *_score_cells(each), each.correct, each.incorrect, each.partial, each.missed,
            each.spurious,
        )
        for name, each in measures.spans.micro.items()
    ]  # fmt: skip
    surface = measures.surface
    form = ("surface", *_score_cells(surface), *["–"] * 5)
    heads = ("measure", "precision", "recall", "F1", "", "correct", "wrong", "partial", "missed",
             "spurious")  # fmt: skip
    return joined([
        table("Measures of spans", heads, [*rows, form]),
        note("strict: boundaries and type are right. exact: boundaries are. partial: half a point "
             "for an overlap. ent_type: an overlap of the same type (SemEval-2013, task 9.1). "
             "surface: each distinct gold form with its type counts once, "
             f"{surface.support:,} in all (WNUT-17)."),
    ])  # fmt: skip


def draw_systems(systems: Systems, palette: Palette) -> Markup:
    """Each part of the systems' labels in turn: tags, classes, or the only one."""
    parts: list[Child] = []
    for name, each in systems.parts.items():
        measure = each[0].runs[0].report.measure
        parts += [
            element("h3", name.capitalize()) if name else None,
            element(
                "figure",
                element(
                    "figcaption", f"{measure} with its {100 * each[0].interval.level:g} % interval"
                ),
                _interval_chart(each, measure),
            ),
        ]
        names = [f"({number}) {label_cell(system.name)}" for number, system in enumerate(each, 1)]
        for found in system_tables(each, names, numbered=True):
            parts += [
                table(found.caption, (found.title, *found.heads), found.rows[:MAX_ROWS]),
                left_out(len(found.rows)),
                note(". ".join(found.remarks)) if found.remarks else None,
            ]
    return joined(parts)


def _interval_chart(systems: Sequence[System], measure: str) -> Markup:
    """A row for each system: its interval as a line, its score as a point."""
    ends = [end for each in systems for end in (each.interval.low, each.interval.high)]
    ends += [each.score for each in systems]
    spread = max(max(ends) - min(ends), 0.01)
    low, high = max(0.0, min(ends) - spread / 8), min(1.0, max(ends) + spread / 8)
    height = _ROW * len(systems) + 34

    def across(value: float) -> float:
        return round(_LEFT + (value - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT), 1)

    parts = []
    for tick in round_ticks(100 * low, 100 * high, PAGE_TICKS):
        x = across(tick / 100)
        parts.append(element("line", x1=x, x2=x, y1=4, y2=height - 28, class_="grid"))
        parts.append(element("text", f"{tick:g}", x=x, y=height - 10, text_anchor="middle"))
    for number, system in enumerate(systems):
        y = 4 + _ROW * (number + 0.5)
        left, right = across(system.interval.low), across(system.interval.high)
        parts += [
            element("text", f"({number + 1})", x=6, y=y + 4),
            element("path", d=f"M{left} {y - 6}v12M{left} {y}H{right}M{right} {y - 6}v12",
                    class_="whisker"),
            element("circle", cx=across(system.score), cy=y, r=5.5, class_="dot"),
        ]  # fmt: skip
    name = f"{measure} of {len(systems)} systems with their intervals"
    return element("svg", *parts, viewBox=f"0 0 {_WIDTH} {height}", role="img", aria_label=name)


def draw_errors(errors: ErrorReport, palette: Palette) -> Markup:
    """All errors of spans, each in one kind."""
    most = max((each.count for each in errors.kinds.values()), default=0) or 1
    kinds = table(
        "Kinds of error",
        ("kind", "errors", "", "F1 if mended"),
        [
            (
                joined([kind, element("span", _MEANING.get(kind), class_="meaning")]),
                each.count,
                share_bar(each.count / most, "bar-2"),
                f"{100 * each.gain:+.2f}",
            )
            for kind, each in errors.kinds.items()
        ],
    )
    if not errors.errors:
        return joined([kinds, note("No error was found.")])
    ranked = [(label_cell(label), count) for label, count in errors.types.items()]
    types = table("Types with most errors", ("type", "errors"), ranked[:MAX_ROWS])
    pairs = {(gold, other): count for gold, other, count in errors.confusion}
    confused = confusion("Confusion of types", pairs, {}, unit="errors", none=NOTHING)
    side = joined([confused, _OF_NONE]) if pairs else None
    worst = joined([types, left_out(len(ranked))])
    gain = (
        f"{plural(errors.errors, 'error')}. The last column is how many points F1 would gain if "
        "all errors of a kind were mended and nothing else changed."
    )
    found = [side_by_side(joined([kinds, note(gain)]), joined([side, worst]))]
    for kind, each in errors.kinds.items():
        if each.examples:
            found.append(element("h3", f"Examples: {kind}"))
            found += [_example(one, palette) for one in each.examples]
    return joined(found)


def _example(found: Example, palette: Palette) -> Markup:
    window = window_around(found.words, (*found.gold, *found.predicted))
    place = f"line {found.line:,}" if found.line else f"sentence {found.sentence + 1:,}"
    sides = {"gold": found.gold, "predicted": found.predicted}
    return example(
        place,
        ((name, spans_in_context(found.words, spans, window, palette))
         for name, spans in sides.items()),
    )  # fmt: skip


def draw_confusion(scored: Scored, palette: Palette) -> Markup | None:
    """Which label is taken for which, of tokens with plain labels and of texts with one class.

    A matrix, or the most frequent pairs; nothing of spans, whose errors are of more kinds.
    """
    comparison = scored.report.comparison
    if comparison.kind not in (Kind.TOKENS, Kind.CLASS):
        return None
    # A text may be left without a predicted class.
    predicted = chain.from_iterable(labels or (NO_CLASS,) for labels in comparison.predicted)
    pairs = Counter(zip(chain.from_iterable(comparison.gold), predicted, strict=True))
    wrong = {pair: count for pair, count in pairs.items() if pair[0] != pair[1]}
    if not wrong:
        return None
    right = {ours: count for (ours, theirs), count in pairs.items() if ours == theirs}
    unit = "tokens" if comparison.kind is Kind.TOKENS else "texts"
    return confusion("Confusion", wrong, right, unit=unit, none=NO_CLASS)


def draw_slices(slices: Slices, palette: Palette) -> Markup | None:
    """A table for each division of the spans; nothing without spans."""
    tables = [
        score_table(f"By {title}", "slice", scores.items())
        for title, scores in slices.divisions().items()
    ]
    return side_by_side(*tables) if tables else None


def draw_words(words: WordAccuracy, palette: Palette) -> Markup:
    """The accuracy of known and of unknown words."""
    rows = [
        (name, share(accuracy) if tokens else "–", share_bar(accuracy), tokens)
        for name, accuracy, tokens in words.rows()
    ]
    return table("By the words in training", ("words", "accuracy", "", "tokens"), rows)


def draw_doubts(audit: Audit, palette: Palette) -> Markup:
    """What models say of the most doubtful labels."""
    parts = [
        cards(
            ("labels in doubt", f"{len(audit.doubts):,}", f"in {audit.corpus}"),
            (f"{audit.measure}, %", percent(audit.agreement), "of the models on gold labels"),
            ("models", f"{audit.folds * audit.repeats:,}",
             f"{plural(audit.repeats, 'cross-validation')} of {audit.folds} folds"),
        ),
        note("No model was trained on the sentence that it contradicts. A person has to decide "
             "who is right."),
    ]  # fmt: skip
    parts += [
        _drawn(number, each, palette) for number, each in enumerate(audit.doubts[:_MAX_DOUBTS], 1)
    ]
    if len(audit.doubts) > _MAX_DOUBTS:
        parts.append(note(f"and {len(audit.doubts) - _MAX_DOUBTS:,} more"))
    return joined(parts)


def _drawn(number: int, doubt: Doubt, palette: Palette) -> Markup:
    place = f"line {doubt.line:,}" if doubt.line else f"sentence {doubt.sentence + 1:,}"
    models = f"{doubt.contradicted:,} of {plural(doubt.repeats, 'model')}"
    verb = "contradicts" if doubt.repeats == 1 else "contradict"
    return example(
        f"{number}. {place}: {models} {verb}, score {doubt.score:.2f}",
        (("gold", _side(doubt, doubt.gold, doubt.gold_probability, palette)),
         ("predicted", _side(doubt, doubt.predicted, doubt.predicted_probability, palette))),
    )  # fmt: skip


def _side(
    doubt: Doubt, spans: tuple[SpanTuple, ...], probability: float, palette: Palette
) -> Child:
    if doubt.what == "class":  # of all words, which a colour behind them would only hide
        shown = ", ".join(label for _, _, label in spans) or "(none)"
        text = " ".join(doubt.words)
        return joined([element("strong", f"{shown} {probability:.2f}"), element("p", text)])
    window = window_around(doubt.words, (*doubt.gold, *doubt.predicted))
    return spans_in_context(doubt.words, spans, window, palette, [probability] * len(spans))


def draw_calibration(found: Calibration, palette: Palette) -> Markup:
    """Confidence against accuracy, and what a threshold would keep."""
    filled = [each for each in found.bins if each.count]
    bins = [
        (f"{each.low:.2f} to {each.high:.2f}", each.count, percent(each.confidence),
         percent(each.accuracy), f"{100 * (each.accuracy - each.confidence):+.2f}")
        for each in filled
    ]  # fmt: skip
    thresholds = [
        (f"{each.threshold:g}", each.count, share(each.precision), share(each.recall),
         share(each.f1))
        for each in found.thresholds
    ]  # fmt: skip
    diagram = element(
        "figure",
        element("figcaption", "Reliability diagram"),
        _diagram(filled),
        note("A bar is the share of right predictions among those of its confidence; a point is "
             "their mean confidence. Of a model that says how sure it is, all points lie at the "
             "top of their bars, on the dashed line."),
    )  # fmt: skip
    return joined([
        cards(
            ("ECE, %", percent(found.ece), "expected calibration error; 0 is best"),
            ("Brier score", share(found.brier), "mean squared error of probabilities; 0 is best"),
            (found.name, f"{found.count:,}", "with a probability"),
        ),
        side_by_side(
            diagram,
            table("By confidence", ("confidence", "count", "mean, %", "right, %", "gap"), bins),
        ),
        table(f"If only {found.name} from a probability on were kept",
              ("from", "kept", "precision", "recall", "F1"), thresholds),
    ])  # fmt: skip


def _diagram(bins: list[Bin]) -> Markup:
    chart = Chart(Axis(0, 1, _TICKS, "confidence, %"), Axis(0, 1, _TICKS, "right, %"))
    return chart.svg(
        "Share of right predictions by confidence",
        *(chart.bar(each.low, each.high, each.accuracy, class_="bar") for each in bins),
        chart.line([(0, 0), (1, 1)], class_="ideal"),
        *(chart.dot((each.confidence, each.confidence), class_="dot-2") for each in bins),
    )


@dataclass(frozen=True, slots=True)
class SetsSection:
    """A report on sets of "tags" or of "classes"."""

    kind: str
    report: SetReport


def draw_sets(found: SetsSection, palette: Palette) -> Markup:
    """Single numbers, of which the share that holds the gold answer is the main one."""
    each, (member, unit) = found.report, MEMBERS[found.kind]
    asked = f"of {100 * each.coverage:g} asked for; standard error {percent(each.standard_error)}"
    right = "" if each.single_correct is None else f"right in {percent(each.single_correct)} %"
    limit = plural(each.limit, member)
    return cards(
        (f"hold the gold {found.kind}, %", percent(each.covered), asked),
        ("sets", f"{each.count:,}", f"one of each {unit}"),
        ("mean size", f"{each.mean_size:.2f}",
         f"median {each.median_size:g}, 90th percentile {each.p90_size:g}"),
        (f"have one {member} alone, %", percent(each.single), right),
        (f"hold all {limit}, %" if found.kind == "classes" else f"reached the limit of {limit}, %",
         percent(each.at_limit), ""),
    )  # fmt: skip


def draw_learning_curve(curve: LearningCurve, palette: Palette) -> Markup:
    """What was measured, the forecasts, and what is to be kept in mind with them."""
    if curve.finds_no_error:
        curve = replace(curve, forecasts=())
    units = plural_of(curve.unit)
    by_size: dict[int, list[float]] = defaultdict(list)
    for point in curve.points:
        by_size[point.sentences].append(point.score)
    measured = [
        (size, len(scores), percent(mean(scores)), f"{percent(min(scores))} to "
         f"{percent(max(scores))}" if len(scores) > 1 else "–")
        for size, scores in by_size.items()
    ]  # fmt: skip
    ahead = [
        (each.sentences, percent(each.score), f"{percent(each.low)} to {percent(each.high)}")
        for each in curve.forecasts
    ]
    law = curve.law
    figure = element(
        "figure",
        element("figcaption", f"{curve.measure} on dev by size of the training corpus"),
        page_chart(curve),
        note("Points: trained models. Line: the power law through them. Dashed, with "
             f"{100 * LEVEL:g} % intervals: forecasts. Sizes have a logarithmic axis."),
        None if curve.finds_no_error else note(
            f"score(n) = 1 - ({law.asymptote:.4f} + {law.factor:.4f} n^-{law.exponent:.3f})"
        ),
    )  # fmt: skip
    runs = table("Measured", (units, "runs", f"{curve.measure}, %", "from and to"), measured)
    interval = f"{100 * LEVEL:g} % interval"
    forecasts = table(
        "With more data of this kind", (units, f"{curve.measure}, %", interval), ahead
    )
    remarks = [element("p", f"Warning: {remark}") for remark in curve.remarks()]
    return side_by_side(figure, joined([runs, forecasts if ahead else None, *remarks]))
