"""The files of a learning curve.

learning-curve.json     what was measured, and the law and forecasts once all is
learning-curve.svg      the same as a picture
size-N-seed-S/          the run of the point that is being measured; removed at its end
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tagkit import __version__
from tagkit.errors import CheckpointError
from tagkit.evaluation.analysis.power_law import LearningCurve, Point
from tagkit.storage import CURVE, write_of_run
from tagkit.text.json_text import from_json, plain, to_json
from tagkit.wording import reason

PICTURE = "learning-curve.svg"
SIZE_RUN = re.compile(r"size-[0-9]+-seed-[0-9]+")  # folders that are runs of their own
FORMAT_VERSION = 1


def size_folder(sentences: int, seed: int) -> str:
    """The name of the folder of the run on so many sentences."""
    return f"size-{sentences}-seed-{seed}"


@dataclass(frozen=True, slots=True)
class MeasuredPoints:
    """The points that a folder has so far.

    Attributes:
        run: options and corpora that all of them have in common (`run_identity.identity`).
        measure: what their scores are.
        unit: what a training sentence is called.
        points: in the order in which they were measured.
        sizes: that were asked for, increasing.
        seeds: that were asked for, increasing.
    """

    run: Mapping[str, Any]
    measure: str
    unit: str
    points: tuple[Point, ...] = ()
    sizes: tuple[int, ...] = ()
    seeds: tuple[int, ...] = ()

    def asked_for(self, sizes: Iterable[int], seeds: Iterable[int]) -> "MeasuredPoints":
        """The same, with sizes and seeds that are asked for as well."""
        both = tuple(sorted({*self.sizes, *sizes})), tuple(sorted({*self.seeds, *seeds}))
        return replace(self, sizes=both[0], seeds=both[1])


def write_measured(
    folder: Path, measured: MeasuredPoints, curve: LearningCurve | None = None
) -> None:
    """Write learning-curve.json: the points, and of a complete curve the law and forecasts.

    Raises:
        CheckpointError: it cannot be written.
    """
    points = curve.points if curve else measured.points
    record: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "tagkit": __version__,
        "measure": measured.measure,
        "unit": measured.unit,
        "sizes": list(measured.sizes),
        "seeds": list(measured.seeds),
        "points": [point.to_dict() for point in points],
        "law": curve.law.to_dict() if curve else None,
        "forecasts": [each.to_dict() for each in curve.forecasts] if curve else [],
        "remarks": plain(curve.remarks()) if curve else [],
        "run": dict(measured.run),
    }
    write_of_run(folder / CURVE, (to_json(record, indent=2) + "\n").encode())


def read_measured(folder: Path) -> MeasuredPoints:
    """The points that were measured so far.

    Raises:
        CheckpointError: the file cannot be read, or is of a later version.
    """
    path = folder / CURVE
    try:
        record = from_json(path.read_bytes())
        if record["format_version"] != FORMAT_VERSION:
            raise CheckpointError(
                f"{path}: made by tagkit {record['tagkit']}, whose files this one cannot read"
            )
        points = tuple(_point(each) for each in record["points"])
        return MeasuredPoints(
            dict(record["run"]), str(record["measure"]), str(record["unit"]), points,
            tuple(map(int, record["sizes"])), tuple(map(int, record["seeds"])),
        )  # fmt: skip
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {reason(error)}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{path}: is damaged ({error}); force=True measures the curve again"
        ) from None


def _point(record: Mapping[str, Any]) -> Point:
    point = Point(int(record["sentences"]), int(record["seed"]), float(record["score"]))
    if point.sentences < 1 or not 0 <= point.score <= 1:
        raise ValueError("a point is out of range")
    return point
