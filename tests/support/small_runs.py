"""Small runs of every task, without chance, and what they save."""

from collections.abc import Callable
from pathlib import Path

import tiny

from tagkit.config import Config, load_config

QUIET = ["encoder.dropout=0", "encoder.locked_dropout=0", "encoder.word_dropout=0",
         "embeddings.singleton_dropout=0"]  # fmt: skip
TASKS: dict[str, Callable[[Path], dict[str, str]]] = {
    "tag": tiny.corpus,
    "classify": tiny.classified,
    "both": tiny.joint,
}


def of_task(folder: Path, task: str, *overrides: str) -> Config:
    """A small run of a task, without chance but for the order of the corpus."""
    small = ["embeddings.word_dim=8", "embeddings.char_dim=4", "embeddings.char_hidden=4",
             "encoder.hidden=8", "train.max_epochs=2", "train.batch_size=8", "train.device=cpu",
             f"output.dir={folder / 'model'}", f"task={task}", *QUIET]  # fmt: skip
    small += ["head.dropout=0"] if task != "tag" else []
    return load_config(overrides=[*small, *overrides], flags=TASKS[task](folder))
