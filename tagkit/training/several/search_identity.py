"""What makes two searches the same: options, corpora and values."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tagkit.config import (
    Config,
    option_values,
    options_of,
    parse_saved,
    parse_toml,
    refuse_without_effect,
    to_toml,
    with_options,
)
from tagkit.config.search_space import Space
from tagkit.corpus.formats.folders.file_sets import digest_of_files
from tagkit.corpus.source.pipes import require_files
from tagkit.errors import (
    BundleError,
    ConfigError,
    DataError,
    TagkitError,
    TrainingError,
    VectorsError,
)
from tagkit.training.folder.run_identity import differences, output_folder, refuse_unreadable
from tagkit.training.folder.trials import STUDY
from tagkit.training.processes.launcher import is_alone
from tagkit.wording import listed

# The parts of a record, and what they are called.
_PARTS = {"config": "options", "corpora": "corpora", "spaces": "values"}
Record = Mapping[str, Any]


# Options whose values are files or folders.
_FILES = ("embeddings.vectors", "train.init_from")


def check_search(config: Config, spaces: Mapping[str, Space], *, force: bool) -> list[str | None]:
    """Look for what is wrong with a search before there is a folder; the digests of its corpora.

    Args:
        config: of all trials.
        spaces: the values to try, by dotted name.
        force: whether a search that is there is replaced.

    Raises:
        TagkitError: an option cannot have one of the values, or a file cannot be used.
    """
    if not is_alone():
        raise ConfigError("tagkit tune", ["a search is one process; start it without a launcher"])
    if config.train.seeds:
        raise ConfigError("train.seeds", ["a trial trains one model; leave them out of a search"])
    output_folder(config)
    check_values(config, spaces)
    # Of the files to try `check_values` has found each.
    refuse_unreadable(
        with_options(config, {name: "" for name in spaces if name in _FILES}), resume=not force
    )
    require_files(config, "the trials of a search")
    return corpus_digests(config)


def check_values(config: Config, spaces: Mapping[str, Space]) -> None:
    """Try each kind of value before any training: a wrong one must not fail the tenth trial.

    Raises:
        ConfigError: an option cannot have one of its values, or has no effect.
        DataError: a file to try does not exist.
    """
    searched = {name: space.samples() for name, space in spaces.items()}
    for name, values in searched.items():
        for value in values:
            with_options(config, {name: value})
            if name in _FILES and value and not Path(value).exists():
                raise DataError(f"{value}: no such file")
    refuse_without_effect(config, "tagkit tune", searched)


def failures_of(spaces: Mapping[str, Space]) -> tuple[type[TagkitError], ...]:
    """The errors that fail a trial and not the search: other values may be right."""
    read = (VectorsError, BundleError) if any(name in spaces for name in _FILES) else ()
    return TrainingError, ConfigError, *read


def corpus_digests(config: Config) -> list[str | None]:
    """SHA-256 of each corpus of a search, and of the weights of its labels.

    Raises:
        DataError: one does not exist or cannot be read.
    """
    data = config.data
    digests = []
    for name in (data.train_file, data.dev_file, data.weights):
        if name:
            if not Path(name).exists():
                raise DataError(f"{name}: no such file")
            digests.append(digest_of_files(name))
    return digests


def record_of(
    config: Config, digests: Sequence[str | None], spaces: Mapping[str, Space]
) -> dict[str, Any]:
    """What a study keeps of a search: only the same one is resumed."""
    return {
        "config": to_toml(config),
        "corpora": list(digests),
        "spaces": {name: str(space) for name, space in spaces.items()},
    }


def what_differs(before: Record, search: Record) -> str:
    """How an earlier search differs, as in 'tried other values'; empty if it does not."""
    others = [what for key, what in _PARTS.items() if _part(before, key) != _part(search, key)]
    if not others:
        return ""
    theirs, ours = former_options(before), former_options(search)
    changed = differences(theirs, ours) if theirs is not None and ours is not None else []
    if changed:
        return f"had {'; '.join(changed)}"
    if others[0] != _PARTS["spaces"]:
        return f"tried other {others[0]}"
    tried, wanted = before["spaces"], search["spaces"]
    if not isinstance(tried, Mapping):  # somebody has changed it
        return "tried other values"
    theirs_alone, ours_alone = (
        listed([f"{name}={one[name]}" for name in one if one[name] != other.get(name)])
        for one, other in ((tried, wanted), (wanted, tried))
    )
    if not theirs_alone:
        return f"did not try {ours_alone}"
    return f"tried {theirs_alone}, not {ours_alone}" if ours_alone else f"tried {theirs_alone} too"


def former_options(record: Record) -> dict[str, Any] | None:
    """The options of a search that must not change when it is resumed; None if unreadable."""
    try:
        config = parse_saved(parse_toml(record["config"].encode()), STUDY)
    except (ValueError, ConfigError):  # of another version, whose options are not ours
        return None
    values = option_values(config)
    return {
        name: values[name]
        for name, option in options_of(Config).items()
        if not option.resume_search
    }


def _part(record: Record, key: str) -> Any:
    return former_options(record) if key == "config" else record[key]
