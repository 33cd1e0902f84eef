"""The table of tasks: the one place where the name of a task is turned into behaviour."""

from tagkit.config import Config
from tagkit.models.base.task import Task
from tagkit.models.classifying.classifier import ClassifyTask
from tagkit.models.classifying.joint import JointTask
from tagkit.models.columns.columns import ColumnsTask
from tagkit.models.language.language_model import LanguageTask
from tagkit.models.tagging.tagger import TagTask
from tagkit.models.transducing.transduce import TransduceTask

COLUMNS = "columns"  # the task "tag" where data.tag_column is a list
# The other keys are the values that the configuration allows for `task`. How to add one: see
# `task.py`.
TASKS: dict[str, Task] = {
    "tag": TagTask(),
    "classify": ClassifyTask(),
    "both": JointTask(),
    "transduce": TransduceTask(),
    "language-model": LanguageTask(),
    COLUMNS: ColumnsTask(),
}


def task_of(config: Config) -> Task:
    """The task of a configuration."""
    return TASKS[COLUMNS if config.data.tag_columns else config.task]


def ranking_metric(config: Config) -> str:
    """`train.metric`, or "loss" of a task that is scored by its loss whatever that says.

    Unlike `Task.criterion` it needs no corpus.
    """
    task = task_of(config)
    return config.train.metric if task.annotates else task.criterion(config).key
