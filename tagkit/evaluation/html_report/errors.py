"""Kinds of error: how many, what each costs, which types are confused, and examples in context.

Also for which spans, or words, a tagger works: by what training has seen, and by length; and gold
labels in doubt: those that cross-validated models contradict, the most doubtful first.
"""

from collections import Counter
from itertools import chain

from markupsafe import Markup

from tagkit.evaluation.analysis.error_kinds import NOTHING, ErrorReport, Example
from tagkit.evaluation.analysis.label_errors import Audit, Doubt
from tagkit.evaluation.analysis.slices import Slices, WordAccuracy
from tagkit.evaluation.html_report.scores import Scored
from tagkit.evaluation.html_report.tables import (
    MAX_ROWS,
    cards,
    confusion,
    example,
    left_out,
    note,
    score_table,
    side_by_side,
    spans_in_context,
    window_around,
)
from tagkit.evaluation.reports.class_report import NO_CLASS
from tagkit.evaluation.reports.report_text import label_cell
from tagkit.evaluation.scores.metrics import Kind
from tagkit.html.chart import share_bar
from tagkit.html.colours import Palette
from tagkit.html.elements import Child, element, joined, percent, share, table
from tagkit.text.schemes import SpanTuple
from tagkit.wording import plural

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
