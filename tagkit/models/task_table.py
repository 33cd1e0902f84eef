"""The table of tasks: the one place where the name of a task is turned into behaviour."""

from tagkit.config import Config
from tagkit.models.classifier import ClassifyTask
from tagkit.models.joint import JointTask
from tagkit.models.tagger import TagTask
from tagkit.models.task import Task

# A new task is one module beside these and one row; the keys are what the configuration allows.
TASKS: dict[str, Task] = {
    "tag": TagTask(),
    "classify": ClassifyTask(),
    "both": JointTask(),
}


def task_of(config: Config) -> Task:
    """The task of a configuration."""
    return TASKS[config.task]
