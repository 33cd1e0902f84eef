"""Laws of every row of `TASKS`: what its properties promise, it has."""

import pytest

from tagkit.config import load_config
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.base.task import Task
from tagkit.models.task_table import TASKS

VOCABULARY = Vocabulary(
    words=("a",), vector_words=(), only_vectors=False, chars=(), affixes=(), tags=("O",),
    classes=("x",), features=(), lowercase=False, normalize_digits=False,
)  # fmt: skip


@pytest.mark.parametrize("name", TASKS)
def test_a_task_that_reads_windows_joins_them(name: str) -> None:
    # Prediction calls `join` for texts of several windows alone; a whole text is never cut.
    task = TASKS[name]
    assert task.is_whole or type(task).join is not Task.join


@pytest.mark.parametrize("name", TASKS)
def test_a_task_that_gives_tags_has_its_best_sequences_of_them(name: str) -> None:
    # `Predictor.n_best` refuses the others before it asks them.
    task = TASKS[name]
    answers = task.answers(load_config(overrides=["data.scheme=iob2"]), VOCABULARY)
    assert (type(task).n_best is not Task.n_best) == answers.by_token
