"""What other commands write as JSON and a report shows beside its own: curves and audits."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tagkit.errors import DataError
from tagkit.evaluation.analysis.doubts import Audit, Doubt
from tagkit.evaluation.analysis.learning_curve import LearningCurve, Point, fit
from tagkit.text.json_text import from_json
from tagkit.text.schemes import Stretch
from tagkit.wording import reason

_Record = TypeVar("_Record")
_MAX_SENTENCES = 10**12  # sentences of a corpus: far more than there are


def read_curve(path: Path) -> LearningCurve:
    """The points of learning-curve.json, and what follows from them.

    Raises:
        DataError: it cannot be read, or is no learning curve.
    """
    curve = _read(path, "the learning-curve.json of tagkit learning-curve", _curve)
    # Law and forecasts follow from the points: they are never other than those of this version.
    return fit(*curve)


def read_audit(path: Path) -> Audit:
    """The JSON that `tagkit audit` printed; without the sentences of the corpus.

    Raises:
        DataError: it cannot be read, or is no audit.
    """
    return _read(path, "the JSON that tagkit audit prints", _audit)


def _read(path: Path, expected: str, record: Callable[[Any], _Record]) -> _Record:
    try:
        return record(from_json(path.read_bytes()))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {reason(error)}") from None
    except (AttributeError, KeyError, TypeError, ValueError):
        raise DataError(f"{path}: expected {expected}, found something else") from None


def _curve(found: Any) -> tuple[str, list[Point], str]:
    """Measure, points, and what a training sentence is called."""
    points = [
        Point(int(each["sentences"]), int(each["seed"]), float(each["score"]))
        for each in found["points"]
    ]
    if not all(0 < each.sentences <= _MAX_SENTENCES and 0 <= each.score <= 1 for each in points):
        raise ValueError("a point is out of range")
    return str(found["measure"]), points, str(found["unit"])


def _audit(found: Any) -> Audit:
    return Audit(
        corpus=str(found["corpus"]),
        folds=int(found["folds"]),
        repeats=int(found["repeats"]),
        folds_by=found["folds_by"],
        seed=int(found["seed"]),
        measure=str(found["measure"]),
        agreement=float(found["agreement"]),
        doubts=tuple(map(_doubt, found["doubts"])),
        contradicted=tuple(map(int, found["contradicted"])),
        sentences=(),
    )


def _doubt(found: Any) -> Doubt:
    words = tuple(map(str, found["words"]))
    probabilities = found["gold_probability"], found["predicted_probability"]
    if not all(0 <= float(each) <= 1 for each in probabilities):
        raise ValueError("a probability out of range")
    if not (found["gold"] or found["predicted"]):
        raise ValueError("a doubt about nothing")
    return Doubt(
        what=found["what"],
        line=int(found["line"]),
        sentence=int(found["sentence"]),
        gold=_stretches(found["gold"], len(words)),
        predicted=_stretches(found["predicted"], len(words)),
        gold_probability=float(found["gold_probability"]),
        predicted_probability=float(found["predicted_probability"]),
        contradicted=int(found["contradicted"]),
        repeats=int(found["repeats"]),
        score=float(found["score"]),
        words=words,
    )


def _stretches(found: Any, words: int) -> tuple[Stretch, ...]:
    spans = tuple((int(start), int(end), str(label)) for start, end, label in found)
    if not all(0 <= start < end <= words for start, end, _ in spans):
        raise ValueError("a span outside its sentence")
    return spans
