"""What toy tasks have in common, and their row in the table of tasks."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest

from tagkit.config import Config
from tagkit.corpus.records.dataset import LabelKinds, Split
from tagkit.corpus.splits.splits import Corpus
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.base.model import Model
from tagkit.models.base.task import Task
from tagkit.models.base.task_records import Labels
from tagkit.models.task_table import TASKS
from tagkit.text.records import Sentence
from tagkit.training.events.callbacks import Listener, Step


class ToyModel(Model):
    """A network without labels."""

    def set_constants(self, config: Config, vocabulary: Vocabulary) -> None:
        pass

    def head_labels(self, vocabulary: Vocabulary) -> Mapping[str, tuple[str, ...]]:
        return {}


class ToyTask(Task):
    """A task of whole texts whose targets follow from the words: no corpus needs labels."""

    needs = LabelKinds(tags=False, classes=False)
    is_whole = True

    def resolve(self, config: Config, corpus: Corpus) -> Config:
        return config

    def examples(self, config: Config, split: Split) -> list[Sentence]:
        return list(split.sentences)

    def labels(self, config: Config, sentences: Sequence[Sentence]) -> Labels:
        return Labels()

    def check(
        self, config: Config, vocabulary: Vocabulary, config_file: Path, vocabulary_file: Path
    ) -> None:
        pass


@contextmanager
def row_of(name: str, task: Task) -> Iterator[None]:
    """The row of a toy task, and its name among those that the configuration allows."""
    field = Config.model_fields["task"]
    names, field.annotation = field.annotation, Literal["tag", "classify", "both", name]  # type: ignore[valid-type]
    Config.model_rebuild(force=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(TASKS, name, task)
        yield
    field.annotation = names
    Config.model_rebuild(force=True)


class StopAfter(Listener):
    """Stops a run after so many steps."""

    def __init__(self, steps: int) -> None:
        self.left, self.event = steps, threading.Event()

    def on_step(self, step: Step) -> None:
        self.left -= 1
        if not self.left:
            self.event.set()
