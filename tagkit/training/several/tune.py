"""`tagkit.tune`: a search for good values of options, for programs and for the command.

Optuna, which the search needs (`study`), is an optional package: it is imported when a search
begins, after all that can be wrong without it.
"""

import threading
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tagkit.config import Config, as_config, refuse_without_effect
from tagkit.config.search_space import Space, parse_spaces
from tagkit.errors import ConfigError
from tagkit.inference.predict.value_checks import check_count
from tagkit.training.folder.trials import Tuned, TuneListener
from tagkit.wording import clipped


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
    config, parsed = as_config(config), _parsed(spaces)
    check_count("trials", trials)
    # An option counts as having an effect if it has one in some trial.
    searched = {name: space.samples() for name, space in parsed.items()}
    refuse_without_effect(config, "configuration", searched)
    from tagkit.training.several.search_identity import check_search  # imports torch

    digests = check_search(config, parsed, force=force)
    _require_optuna()  # which is of no use to a search that is wrong
    from tagkit.training.several.study import search_options  # imports Optuna, which takes a second

    return search_options(
        config, parsed, digests, trials=trials, listener=listener, force=force, stop=stop,
        started_s=started_s,
    )  # fmt: skip


def _require_optuna() -> None:
    """Refuse to search where Optuna is not installed.

    Raises:
        ConfigError: it is not.
    """
    if find_spec("optuna") is None:  # which does not import it
        raise ConfigError("tagkit tune", ["needs Optuna; pip install 'tagkit[tune]'"])


def _parsed(spaces: Mapping[str, Space] | Iterable[str]) -> Mapping[str, Space]:
    if isinstance(spaces, Mapping):
        return spaces
    if isinstance(spaces, str) or not isinstance(spaces, Iterable):
        found = clipped(repr(spaces))
        raise ConfigError(
            "spaces=...", [f"expected texts such as 'encoder.hidden=50..200', found {found}"]
        )
    return parse_spaces(map(str, spaces))
