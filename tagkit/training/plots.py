"""Curves of a run's loss and dev score as a picture, where matplotlib is there (extra `plots`)."""

import io
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tagkit.evaluation.criterion import Criterion, scaled
from tagkit.storage import cannot_write, write_whole
from tagkit.training.callbacks import CURVES, Epoch


def write_curves(folder: Path, epochs: Sequence[Epoch], criterion: Criterion) -> bool:
    """Write curves.svg into the folder of a run, unless matplotlib is missing.

    Args:
        folder: of the run.
        epochs: all of them.
        criterion: what their scores are.

    Returns:
        Whether it was written.

    Raises:
        CheckpointError: it cannot be written.
    """
    try:
        figure_class = _figure_class()
    except OSError as error:
        raise cannot_write(folder / CURVES, error) from None
    if figure_class is None:
        return False
    numbers = [epoch.number for epoch in epochs]
    best = max(epoch.number for epoch in epochs if epoch.is_best)
    # Inches; two square pictures side by side, with room for the labels of the axes.
    figure = figure_class(figsize=(8, 3), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(numbers, [epoch.loss for epoch in epochs], marker=".", label="train")
    if all(epoch.dev_loss is not None for epoch in epochs):
        left.plot(numbers, [epoch.dev_loss for epoch in epochs], marker=".", label="dev")
        left.legend()
    left.set(xlabel="epoch", ylabel="training loss (nats)")
    right.plot(numbers, [scaled(criterion.key, epoch.score) for epoch in epochs], marker=".")
    right.set(xlabel="epoch", ylabel="dev score", title=f"dev {criterion.name}")
    right.axvline(best, linestyle=":")
    picture = io.BytesIO()
    # Into memory first: the file on disk is whole or not there.
    figure.savefig(picture, format="svg", metadata={"Date": None})
    try:
        write_whole(folder / CURVES, picture.getvalue())
    except OSError as error:
        raise cannot_write(folder / CURVES, error) from None
    return True


def _figure_class() -> Any:
    """Matplotlib's figure; None without matplotlib.

    It writes a list of fonts into the user's home unless it has another place; a run writes only
    into its folder. So it gets a folder for the time of the import, where nobody has chosen one.
    """
    # Where it was imported before, it has a folder already.
    chosen = "MPLCONFIGDIR" in os.environ or "matplotlib" in sys.modules
    with tempfile.TemporaryDirectory(prefix="tagkit-") as scratch:
        if not chosen:
            os.environ["MPLCONFIGDIR"] = scratch
        try:
            # Not pyplot, which may need a display, and keeps every figure until it is closed.
            from matplotlib.figure import Figure
        except ImportError:
            return None
        finally:
            if not chosen:
                del os.environ["MPLCONFIGDIR"]
        return Figure
