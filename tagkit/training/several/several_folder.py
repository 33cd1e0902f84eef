"""What commands that train several models share: their folder, and what they refuse."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tagkit.config import Config, option_values
from tagkit.errors import CheckpointError, ConfigError
from tagkit.text.json_text import plain
from tagkit.training.folder.run_folder import RunFolder
from tagkit.training.folder.run_identity import differences, with_former_defaults
from tagkit.training.folder.start_checks import check_beforehand
from tagkit.training.processes.launcher import is_alone
from tagkit.wording import ANOTHER_FOLDER, ANOTHER_OR_FORCE


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
        raise CheckpointError(f"{folder}: is not empty, and holds no {what}; {ANOTHER_FOLDER}")
    if is_there and not (resume or force):
        both = "resume=True continues it, force=True starts a new one"
        raise CheckpointError(f"{folder}: holds a {what}; {both}")
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


def same_as_before(
    folder: Path,
    what: str,
    config: Config,
    before: Mapping[str, Any] | None,
    identity_of: Callable[[Config], dict[str, Any]],
) -> tuple[Config, dict[str, Any]]:
    """The options of the trainings to come, and what they have in common with those before.

    Args:
        folder: of the command.
        what: it holds, as in "learning curve".
        config: as it is given.
        before: what the trainings there have in common, by name; None for a new folder.
        identity_of: the same of those to come.

    Raises:
        CheckpointError: they would have other options or corpora.
    """
    if before is not None:  # options left unset are as they were, of other defaults perhaps
        config = with_former_defaults(config, before)
    now: dict[str, Any] = plain(identity_of(config))
    if before is not None and (changed := differences(before, now)):
        raise CheckpointError(
            f"{folder}: the {what} there had {'; '.join(changed)}; {ANOTHER_OR_FORCE}"
        )
    return config, now
