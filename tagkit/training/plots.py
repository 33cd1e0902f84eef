"""Curves of a run's loss and dev score as a picture, where matplotlib is there (extra `plots`)."""

import io
import logging
import os
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
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
    left.set(xlabel="epoch", ylabel="loss (nats)")
    right.plot(numbers, [scaled(criterion.key, epoch.score) for epoch in epochs], marker=".")
    right.set(xlabel="epoch", ylabel="dev score", title=f"dev {criterion.name}")
    right.axvline(best, linestyle=":")
    for axes in (left, right):  # there is no epoch 2.5
        axes.xaxis.get_major_locator().set_params(integer=True)
    picture = io.BytesIO()
    # Into memory first: the file on disk is whole or not there.
    figure.savefig(picture, format="svg", metadata={"Date": None})
    try:
        write_whole(folder / CURVES, picture.getvalue())
    except OSError as error:
        raise cannot_write(folder / CURVES, error) from None
    return True


def load_matplotlib() -> bool:
    """Import what draws the curves, which takes a second or more; whether it is there."""
    try:
        return _figure_class() is not None
    except OSError:
        return False  # `write_curves` reports it, once the model is saved


def _figure_class() -> Any:
    """Matplotlib's figure; None without matplotlib.

    Its import reads the list of the computer's fonts from Matplotlib's cache folder, or makes the
    list and writes it there, which takes seconds. That folder, in the user's home unless
    MPLCONFIGDIR names another one, is the only place outside its own folder that a run writes to.
    """
    logger = logging.getLogger("matplotlib")
    level = logger.level
    # Where nothing can be written into the home, the list lasts as long as the import.
    homeless = "MPLCONFIGDIR" not in os.environ and not _home_is_writable()
    with tempfile.TemporaryDirectory(prefix="tagkit-") if homeless else nullcontext() as scratch:
        if scratch:
            os.environ["MPLCONFIGDIR"] = scratch
        # Without a handler it would print that it makes the list.
        logger.setLevel(logging.ERROR)
        try:
            # Not pyplot, which may need a display, and keeps every figure until it is closed.
            from matplotlib.figure import Figure
        except ImportError:
            return None
        finally:
            logger.setLevel(level)
            if scratch:
                del os.environ["MPLCONFIGDIR"]
        return Figure


def _home_is_writable() -> bool:
    try:
        return os.access(Path.home(), os.W_OK)
    except RuntimeError:  # there is no home
        return False
