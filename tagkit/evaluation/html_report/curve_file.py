"""learning-curve.json, which `tagkit learning-curve` writes, -> the record."""

from pathlib import Path

from tagkit.errors import DataError
from tagkit.evaluation.learning_curve import LearningCurve, Point, fit
from tagkit.text.json_text import from_json
from tagkit.wording import reason


def read_curve(path: Path) -> LearningCurve:
    """The points of a file, and what follows from them.

    Raises:
        DataError: it cannot be read, or is no learning curve.
    """
    try:
        found = from_json(path.read_bytes())
        measure = str(found["measure"])
        points = [
            Point(int(each["sentences"]), int(each["seed"]), float(each["score"]))
            for each in found["points"]
        ]
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {reason(error)}") from None
    except (KeyError, TypeError, ValueError):
        points = []
    if not points or not all(each.sentences > 0 and 0 <= each.score <= 1 for each in points):
        raise DataError(
            f"{path}: expected the learning-curve.json that tagkit learning-curve writes, found "
            "no points of one"
        )
    # Law and forecasts follow from the points: they are never other than those of this version.
    return fit(measure, points)
