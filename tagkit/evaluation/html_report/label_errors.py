"""Gold labels in doubt: those that cross-validated models contradict, the most doubtful first."""

from markupsafe import Markup

from tagkit.evaluation.analysis.label_errors import Audit, Doubt
from tagkit.evaluation.html_report.tables import (
    cards,
    example,
    note,
    spans_in_context,
    window_around,
)
from tagkit.html.colours import Palette
from tagkit.html.elements import Child, element, joined, percent
from tagkit.text.schemes import SpanTuple
from tagkit.wording import plural

_MAX_DOUBTS = 50  # doubts on a page


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
