"""Names of the files that show that a folder is that of a run, or holds a model.

They are in no larger module, as that of locks imports a package which prediction does not need.
"""

import os
from pathlib import Path

LOCK = ".tagkit-run.lock"  # of a process that writes in the folder, or was killed there
MANIFEST = "tagkit-run.json"  # of the files of the run
HISTORY = "history.jsonl"  # of the epochs: each is listed once the model of the best one is saved
CURVE = "learning-curve.json"  # of a learning curve, which has no model
WEIGHTS, METADATA = "model.safetensors", "metadata.json"  # of a model
BEST, LAST = "best", "last"  # in the folder of a run; there is no best before the first score


def holds_model(folder: Path) -> bool:
    """Whether a folder is that of a model, or of a run with one, whole or not."""
    return any(
        os.path.isfile(each / WEIGHTS) and os.path.isfile(each / METADATA)
        for each in (folder, folder / BEST, folder / LAST)
    )
