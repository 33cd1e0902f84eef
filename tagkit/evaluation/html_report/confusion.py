"""Which labels are taken for which: of tokens with plain labels, and of texts with one class."""

from collections import Counter
from itertools import chain

from markupsafe import Markup

from tagkit.evaluation.html_report.scores import Scored
from tagkit.evaluation.html_report.tables import confusion
from tagkit.evaluation.reports.class_report import NO_CLASS
from tagkit.evaluation.scores.metrics import Kind
from tagkit.html.colours import Palette


def draw_confusion(scored: Scored, palette: Palette) -> Markup | None:
    """A matrix, or the most frequent pairs; nothing of spans, whose errors are of more kinds."""
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
