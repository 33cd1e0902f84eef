"""`tagkit.evaluate_sets`: how the sets of a calibrated model do on a corpus with gold labels."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tagkit.corpus.files import data_options, path_text
from tagkit.corpus.formats.options import silent
from tagkit.evaluation.conformal import SetReport
from tagkit.inference.prediction_sets import report_on_sets, require_sets
from tagkit.inference.predictor import Predictor, load
from tagkit.inference.score import gold_split
from tagkit.limits import BATCH_SIZE


def evaluate_sets(
    gold: str | Path,
    coverage: float = 0.9,
    *,
    model: Predictor | str | Path,
    batch_size: int = BATCH_SIZE,
    device: str = "auto",
    note: Callable[[str], None] = silent,
    **options: Any,
) -> Mapping[str, SetReport]:
    """Report on a model's sets on a file, as `tagkit eval --coverage` does.

    Args:
        gold: file with gold tags, classes, or both.
        coverage: share of sets that are to hold the right answer, 0.5 to 0.99.
        model: a calibrated model, or its folder.
        batch_size: maximum number of sentences in a batch.
        device: of a model that is given by its folder, as for `load`.
        note: called with a sentence on the format that was recognised, and on odd corpora.
        options: those of [data] in the configuration, such as format, scheme or tag_column.

    Returns:
        A report on the sets of "tags", of "classes", or on both.

    Raises:
        DataError: the file cannot be read, or the model has no sets of this coverage.
        ConfigError: an option is unknown or has a wrong value.
    """
    data, path = data_options(options), path_text(gold, "gold")
    predictor = model if isinstance(model, Predictor) else load(model, device)
    require_sets(predictor, coverage)  # before the file is read
    split = gold_split(predictor, path, data)
    for text in split.notes:
        note(text)
    return report_on_sets(predictor, split, coverage, batch_size=batch_size)
