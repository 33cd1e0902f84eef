"""What a run keeps of its best model besides the model: predictions and reports on dev and test.

dev.pred, test.pred    the corpora with the predictions (`inference.predicted`)
dev.gold               the gold labels of a dev corpus that was split off, if dev.pred lacks them
report.txt             the reports as `tagkit eval` prints them
report.json            the same as JSON, by split
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tagkit.evaluation.reports.confusion_text import confusion_lines
from tagkit.evaluation.reports.report_text import report_lines
from tagkit.inference.predict.predictor import Predictor
from tagkit.inference.score.predicted import gold_text, predicted_text
from tagkit.inference.score.score import Annotated
from tagkit.storage import encoded
from tagkit.text.json_text import to_json
from tagkit.training.folder.run_files import GOLD, PREDICTED, REPORT_JSON, REPORT_TEXT
from tagkit.wording import visible

_WIDTH = 80  # of a confusion matrix in a file


def scores_of(dev: Annotated, test: Annotated | None) -> dict[str, Any]:
    """The reports as plain values, by split; None of a test corpus that is not there."""
    return {"dev": dev.report.to_dict(), "test": test.report.to_dict() if test else None}


def results(predictor: Predictor, dev: Annotated, test: Annotated | None) -> dict[str, bytes]:
    """Contents of the files, by name.

    Args:
        predictor: the best model.
        dev: scored with it.
        test: likewise; None without a test corpus.
    """
    data = predictor.config.data
    # Dev may be a part of the training file, in whose format its predictions then are.
    files = {"dev": data.dev_file or data.train_file, "test": data.test_file}
    splits: dict[str, Annotated | None] = {"dev": dev, "test": test}
    found: dict[str, str] = {}
    if predictor.task.annotates:
        found |= _annotated(predictor, splits, files)
    found[REPORT_TEXT] = "".join(f"{line}\n" for line in _text_lines(splits))
    found[REPORT_JSON] = to_json(scores_of(dev, test)) + "\n"
    return {name: encoded(text, first=True) for name, text in found.items()}


def _annotated(
    predictor: Predictor, splits: Mapping[str, Annotated | None], files: Mapping[str, str]
) -> dict[str, str]:
    """The corpora with the predictions, and the gold labels that are in no file."""
    data = predictor.config.data
    found = {
        PREDICTED[name]: predicted_text(predictor, each.split, each.predictions, files[name])
        for name, each in splits.items()
        if each
    }
    dev = splits["dev"]
    if dev and not data.dev_file:
        gold = gold_text(predictor, dev.split, data.train_file)
        if gold is not None:
            found[GOLD] = gold
    return found


def _text_lines(splits: dict[str, Annotated | None]) -> Iterator[str]:
    for number, (name, each) in enumerate(splits.items()):
        if each:
            yield from ("",) if number else ()
            yield visible(f"{name}: {each.split.path}")
            yield ""
            yield from map(visible, report_lines(each.report))
            yield from map(visible, confusion_lines(each.report, _WIDTH))
