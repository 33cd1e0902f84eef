"""`tagkit.tune`: a search for good values of options, for programs and for the command.

Optuna, which the search needs (`study`), is an optional package: it is imported when a search
begins, after all that can be wrong without it.
"""

import threading
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tagkit.config import (
    Config,
    as_config,
    refuse_without_effect,
    with_options,
)
from tagkit.config.search_space import FILE_OPTIONS, Space, parse_spaces
from tagkit.corpus.formats.folders.file_sets import digest_of_files
from tagkit.corpus.source.pipes import require_files
from tagkit.errors import ConfigError, DataError
from tagkit.limits import check_count
from tagkit.training.folder.run_identity import output_folder, refuse_unreadable
from tagkit.training.folder.trials import Tuned, TuneListener
from tagkit.training.several.several_folder import refuse_options, require_one_process


def tune(
    config: Config | Path | str | Mapping[str, Any],
    spaces: Mapping[str, Space] | Iterable[str],
    *,
    trials: int = 20,
    listener: TuneListener | None = None,
    force: bool = False,
    stop: threading.Event | None = None,
    started_s: float | None = None,
) -> Tuned:
    """Search for good values of options, as `tagkit tune` does.

    Each trial trains a model; the one with the best score on dev is kept in the output folder. A
    search that is there is resumed.

    Args:
        config: all other options, as for `train`. `train.max_minutes` limits the whole search. The
            test corpus is not used.
        spaces: the values to try, as texts: "train.lr=0.001..0.01:log", "encoder.hidden=50..200",
            "encoder.cell=lstm,gru".
        trials: their number at most, including those of earlier runs of the same search.
        listener: callbacks of the search, as `tagkit.training.folder.trials.TuneListener`.
        force: remove the search that is there.
        stop: once it is set, the search ends after the current step of training. The trial is
            started again when the search is resumed.
        started_s: the moment, by `time.monotonic()`, from which `train.max_minutes` counts; None
            for the moment of this call.

    Raises:
        TagkitError: Optuna is not installed, a corpus cannot be used, or an option cannot have one
            of the values.
        Interrupted: `stop` was set.
    """
    config = as_config(config)
    if not isinstance(spaces, Mapping):
        spaces = parse_spaces([spaces] if isinstance(spaces, str) else spaces)
    check_count("trials", trials)
    _refuse_unfit(config, spaces, force=force)
    corpora = _corpora(config)
    # Mistakes of the search come first, as Optuna would be of no use to it.
    if find_spec("optuna") is None:  # which does not import it
        raise ConfigError("tagkit tune", ["needs Optuna; pip install 'tagkit[tune]'"])
    from tagkit.training.several.study import search  # imports Optuna, which takes a second

    return search(
        config, spaces, corpora, trials=trials, listener=listener, force=force, stop=stop,
        started_s=started_s,
    )  # fmt: skip


def _refuse_unfit(config: Config, spaces: Mapping[str, Space], *, force: bool) -> None:
    """Look for what is wrong with a search before there is a folder.

    Each kind of value is tried: a wrong one must not fail the tenth trial.

    Raises:
        TagkitError: an option cannot have one of the values, or a file cannot be used.
    """
    # An option counts as having an effect if it has one in some trial.
    searched = {name: space.samples() for name, space in spaces.items()}
    refuse_without_effect(config, "configuration", searched)
    require_one_process("tagkit tune")
    refuse_options(config, {"train.seeds": "a trial trains one model; leave them out of a search"})
    output_folder(config)
    for name, values in searched.items():
        for value in values:
            with_options(config, {name: value})
            if name in FILE_OPTIONS and value and not Path(value).exists():
                raise DataError(f"{value}: no such file")
    others = with_options(config, {name: "" for name in spaces if name in FILE_OPTIONS})
    refuse_unreadable(others, resume=not force)
    require_files(config, "the trials of a search")


def _corpora(config: Config) -> dict[str, str | None]:
    """SHA-256 of each corpus of a search, and of the weights of its sentences.

    Raises:
        DataError: one does not exist or cannot be read.
    """
    data = config.data
    files = {"train": data.train_file, "dev": data.dev_file, "weights of the train": data.weights}
    for path in files.values():
        if path and not Path(path).exists():
            raise DataError(f"{path}: no such file")
    return {
        f"{name} corpus": digest_of_files(path) if path else None for name, path in files.items()
    }
