"""The table of tasks: the one place where the name of a task is turned into behaviour."""

from tagkit.config import Config
from tagkit.models.classifier import ClassifyTask
from tagkit.models.joint import JointTask
from tagkit.models.tagger import TagTask
from tagkit.models.task import Task

# The keys are the values that the configuration allows for `task`. How to add one: see `task.py`.
TASKS: dict[str, Task] = {
    "tag": TagTask(),
    "classify": ClassifyTask(),
    "both": JointTask(),
}


def task_of(config: Config) -> Task:
    """The task of a configuration."""
    return TASKS[config.task]
