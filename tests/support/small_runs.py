"""Small runs of every task, without chance, and what they save."""

from collections.abc import Callable
from pathlib import Path

import tiny
from carried import config_with

from tagkit.config import Config

QUIET = ["encoder.dropout=0", "encoder.locked_dropout=0", "encoder.word_dropout=0",
         "embeddings.min_count=2"]  # fmt: skip
TASKS: dict[str, Callable[[Path], dict[str, str]]] = {
    "tag": tiny.corpus,
    "classify": tiny.classified,
    "both": tiny.joint,
    "columns": tiny.treebank,
}
# One of each codec, and tags of spans.
COLUMNS = 'data.tag_column=["UPOS", "FEATS", "LEMMA", "MISC.NER"]'


def of_task(folder: Path, task: str, *overrides: str) -> Config:
    """A small run of a task, without chance but for the order of the corpus."""
    folder.mkdir(exist_ok=True)
    small = ["embeddings.word_dim=8", "embeddings.char_dim=4", "embeddings.char_hidden=4",
             "encoder.hidden=8", "train.max_epochs=2", "train.batch_size=8", "train.device=cpu",
             f"output.dir={folder / 'model'}", *QUIET]  # fmt: skip
    small += [COLUMNS] if task == "columns" else [f"task={task}"]
    small += ["head.dropout=0"] if task in ("classify", "both") else []
    return config_with([*small, *overrides], TASKS[task](folder))
