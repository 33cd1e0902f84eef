"""The folder of a command that trains several models, of which a search and a curve are one."""

from collections.abc import Mapping

from tagkit.config import Config, option_values
from tagkit.errors import CheckpointError, ConfigError
from tagkit.training.folder.run_folder import RunFolder
from tagkit.training.folder.start_checks import check_beforehand
from tagkit.training.processes.launcher import is_alone
from tagkit.wording import ANOTHER_FOLDER, FORCE, RESUME, Message


def require_one_process(what: str) -> None:
    """Refuse to be one of several processes that train together.

    Raises:
        ConfigError: this one is.
    """
    if not is_alone():
        raise ConfigError(what, ["is one process; start it without a launcher"])


def refuse_options(config: Config, problems: Mapping[str, str]) -> None:
    """Refuse options that have no meaning where several models are trained.

    Args:
        config: of the models.
        problems: what to say where an option is set, by its dotted name.

    Raises:
        ConfigError: one is set.
    """
    values = option_values(config)
    for name, problem in problems.items():
        if values[name]:
            raise ConfigError(name, [problem])


def open_folder(
    run_folder: RunFolder, config: Config, names: tuple[str, ...], what: str, *,
    resume: bool, force: bool,
) -> bool:  # fmt: skip
    """Make a folder ready; whether what is there is resumed.

    Args:
        run_folder: that is locked.
        config: of the trainings; before anything is removed it is made sure that they can begin.
        names: of the command's own files, of which the first shows that the folder is one.
        what: it holds then, as in "learning curve".
        resume: whether what is there is resumed.
        force: whether it is replaced.

    Raises:
        CheckpointError: the folder holds something else, or what is neither resumed nor replaced.
    """
    folder, found = run_folder.path, run_folder.contents().ours
    is_there = names[0] in found
    # A model of `tagkit train` must not be replaced, with `force` either.
    if found and not is_there:
        raise CheckpointError(
            Message(f"{folder}: is not empty, and holds no {what}; ", ANOTHER_FOLDER)
        )
    if is_there and not (resume or force):
        both = (RESUME, " continues it, ", FORCE, " starts a new one")
        raise CheckpointError(Message(f"{folder}: holds a {what}; ", *both))
    is_resumed = is_there and resume
    run_folder.check(resume=is_resumed, force=force)
    if is_resumed:
        run_folder.repair()
        return True
    if is_there:
        check_beforehand(config)
    run_folder.clear()
    run_folder.claim(*names)
    return False
