"""An audit as lines of plain text: what `tagkit audit` prints of it."""

from collections.abc import Iterator

from tagkit.evaluation.analysis.analysis_text import marked
from tagkit.evaluation.analysis.doubts import Audit, Doubt
from tagkit.evaluation.reports.report_text import label_cell
from tagkit.wording import cells, plural, shortened, shown_name, visible

_WIDTH = 80  # of a file
_INDENT = " " * 6
_NAME = len("predicted") + 2
# Score below which a contradiction more often says something of the models than of gold.
_WEAK = 0.5


def audit_lines(audit: Audit, top: int, width: int | None = None) -> Iterator[str]:
    """The most doubtful labels, each with its sentence.

    Args:
        audit: of a corpus.
        top: how many.
        width: cells of a terminal; None for a file.
    """
    room = width or _WIDTH
    repeats = f", {audit.repeats} times" if audit.repeats > 1 else ""
    agreement = f"{audit.measure} {audit.agreement:.4f}"
    if audit.measure == "mean":
        agreement = f"{audit.agreement:.4f}, the mean of all that is learnt"
    yield (
        f"{plural(audit.folds, 'fold')} by {audit.folds_by}{repeats}: models agree with gold at "
        f"{agreement}"
    )
    contradicted = sum(map(bool, audit.contradicted))
    yield (
        f"{plural(len(audit.doubts), 'doubt')} in {contradicted:,} of "
        f"{plural(len(audit.contradicted), audit.unit)}"
    )
    if audit.doubts and audit.agreement < _WEAK:
        yield "the models agree with gold so little that most doubts are their own mistakes"
    if not audit.doubts or not top:
        return
    yield ""
    yield f"{'':4}  score  p(gold)  p(predicted)  models  line"
    for number, doubt in enumerate(audit.doubts[:top], 1):
        models = f"{doubt.contradicted}/{doubt.repeats}"
        place = f":{doubt.line}" if doubt.line else f", {audit.unit} {doubt.sentence + 1:,}"
        line = (
            f"{number:>4}  {doubt.score:.3f}  {doubt.gold_probability:>7.3f}  "
            f"{doubt.predicted_probability:>12.3f}  {models:>6}  "
        )
        yield line + shortened(f"{shown_name(audit.corpus)}{place}", max(8, room - len(line)))
        yield from _label_lines(doubt, room)
    if len(audit.doubts) > top:
        yield f"and {len(audit.doubts) - top:,} more"


def _label_lines(doubt: Doubt, room: int) -> Iterator[str]:
    left = room - len(_INDENT) - _NAME
    sides = {"gold": doubt.gold, "predicted": doubt.predicted}
    if doubt.what == "class":
        for name, labels in sides.items():
            text = ", ".join(label_cell(label) for _, _, label in labels) or "(no class)"
            yield f"{_INDENT}{name:<{_NAME}}{shortened(text, left)}"
        text = " ".join(map(visible, doubt.words))
        yield f"{_INDENT}{'text':<{_NAME}}{shortened(text, left)}"
        return
    both = (*doubt.gold, *doubt.predicted)
    start, end = min(each[0] for each in both), max(each[1] for each in both)
    # As many words around the place as both lines have room for, up to a few.
    shown = {}
    for around in range(6, -1, -1):
        window = max(0, start - around), min(len(doubt.words), end + around)
        shown = {name: marked(doubt.words, spans, window) for name, spans in sides.items()}
        if max(map(cells, shown.values())) <= left:
            break
    for name, text in shown.items():
        yield f"{_INDENT}{name:<{_NAME}}{shortened(text, left)}"
