"""What identifies a run: its output folder, and the options and corpora that resuming must keep.

Resuming promises the weights of a run that was never stopped. So everything that changes weights is
compared with what the checkpoint has recorded: options, the corpora by digest (a path may now hold
another file), the kind of device and the number of processes.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tagkit.config import (
    FORMER_DEFAULTS,
    REMOVED,
    Config,
    carried_by_models,
    option_values,
    options_of,
    refuse_without_effect,
    with_new_names,
    with_options,
)
from tagkit.corpus.source.source import is_pipe
from tagkit.errors import BundleError, ConfigError, VectorsError
from tagkit.models.folder.parts import find_bundle
from tagkit.models.folder.seed_folders import SEED_RUN
from tagkit.storage import CURVE, METADATA, digest_of, digest_of_bytes
from tagkit.text.scheme_names import PLAIN
from tagkit.training.folder.run_files import CHECKPOINTS, MODEL_FILES
from tagkit.training.setup.setup import Prepared
from tagkit.wording import clipped

_CONTENT = "content of "
# What a run reads, by option.
_READ = {
    "train.init_from": "folder of a model",
    "embeddings.contextual": "folder of a language model",
    "data.train_file": "corpus",
    "data.dev_file": "corpus",
    "data.test_file": "corpus",
    "data.weights": "file of weights",
    "embeddings.vectors": "file of word vectors",
}
_MODELS = ("train.init_from", "embeddings.contextual")
# Whether the others are there is seen by those who read them.
_MISSING = {**dict.fromkeys(_MODELS, BundleError), "embeddings.vectors": VectorsError}
# An option that runs of 0.1.0 did not have, so that their checkpoints show by its absence.
_SINCE_0_2 = "embeddings.affix_dim"


def output_folder(config: Config) -> Path:
    """The folder that a command writes into.

    Raises:
        ConfigError: the name is empty.
    """
    # From an unset variable of a shell: Path("") would be the current folder.
    if not config.output.dir.strip():
        problem = "expected a folder, found an empty name; output.dir=. is the current one"
        raise ConfigError("output.dir", [problem])
    return Path(config.output.dir)


def refuse_unfit(config: Config, *, resume: bool) -> None:
    """Refuse options without effect, and what a run reads and would replace.

    Raises:
        TagkitError: an option has no effect; or as `refuse_unreadable`.
    """
    # A run of 0.1.0, which did not refuse them, must still be resumable.
    if not (resume and _has_run(Path(config.output.dir))):
        refuse_without_effect(config, "configuration")
    refuse_unreadable(config, resume=resume)


def refuse_unreadable(config: Config, *, resume: bool) -> None:
    """Refuse models and files to read that are not there, or lie in the folder that is replaced.

    Args:
        config: of the run.
        resume: whether a run there is resumed, which leaves other files than models as they are.

    Raises:
        BundleError: there is no such model.
        ConfigError: a name is empty, or something is read from the output folder.
        VectorsError: there is no such file of vectors.
    """
    output, values = Path(config.output.dir), option_values(config)
    is_resumed = resume and (_has_run(output) or os.path.exists(output / CURVE))
    back = ". A run is resumed with what it started with: put it back" if is_resumed else ""
    for option in _READ:
        value = values[option]
        for path in value if isinstance(value, list) else filter(None, [value]):
            if not path.strip():  # Path("") would be the current folder
                raise ConfigError(option, [f"expected a {_READ[option]}, found an empty name"])
            is_replaced = not resume or option in _MODELS
            if is_replaced and not is_pipe(path) and _is_inside(Path(path), output):
                same = os.path.realpath(path) == os.path.realpath(output)
                where = "is the output too" if same else f"lies in {output}, which is replaced"
                raise ConfigError(option, [f"{path} {where}; name another (output.dir)"])
            if option in _MISSING and not os.path.exists(path):
                raise _MISSING[option](f"{option}: {path}: no such {_READ[option]}{back}")


def _has_run(folder: Path) -> bool:
    """Whether a run, or one of several seeds, has begun here, or beside the run of one seed."""
    if SEED_RUN.fullmatch(folder.name) and _has_run(folder.parent):
        return True
    names: list[str] = []
    with suppress(OSError):  # of a folder that cannot be read the run will say so
        names = os.listdir(folder)
    return any(name == CHECKPOINTS or SEED_RUN.fullmatch(name) for name in names)


def _is_inside(path: Path, folder: Path) -> bool:
    # Not Path.resolve, which raises where links form a loop.
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def identity(
    config: Config, digests: Mapping[str, str | None], device: str, processes: int
) -> dict[str, Any]:
    """What a resumed run must have in common with the run that wrote the checkpoint, by name.

    Args:
        config: resolved from the corpus.
        digests: of the corpora, by split.
        device: "cpu" or "cuda"; the number of a GPU does not matter.
        processes: number of processes that train together.
    """
    # These names are keys of every checkpoint (state.run): to rename one would make the old
    # checkpoints look as if they agreed, since only names that both have are compared.
    values = option_values(config)
    kept = {name: values[name] for name, option in options_of(Config).items() if not option.resume}
    # Of a model that training starts from, which may be of a version that had them as options.
    for name in carried_by_models(Config):
        section, _, key = name.partition(".")
        kept[name] = getattr(getattr(config, section), key)
    corpora = {f"{split} corpus": digest for split, digest in digests.items()}
    contents = {
        "vectors": config.embeddings.vectors,
        "file of weights": config.data.weights,
    }
    for key, path in contents.items():
        corpora[_CONTENT + key] = digest_of(Path(path)) if path else None
    # Under a name of its own: earlier runs recorded the digest of the whole folder, which changes
    # when the run there goes on or its model is calibrated.
    initial = config.train.init_from
    corpora[f"{_CONTENT}initial model"] = _digest_of_model(Path(initial)) if initial else None
    for number, path in enumerate(config.embeddings.contextual, 1):
        # Its files alone: the folder of a run may have grown since.
        corpora[f"{_CONTENT}language model {number}"] = digest_of(find_bundle(Path(path)))
    return {**kept, **corpora, "kind of device": device, "number of processes": processes}


def _digest_of_model(path: Path) -> str:
    """Of all that makes a model but its metadata, which a calibration changes."""
    folder = find_bundle(path)
    parts = [f"{digest_of(folder / name)}" for name in MODEL_FILES if name != METADATA]
    return digest_of_bytes("\n".join(parts).encode())


def facts_of(prepared: Prepared) -> dict[str, Any]:
    """The corpora and labels that a model was trained on, for its metadata."""
    corpus, read = prepared.corpus, prepared.vocabulary.contextual
    splits = {"train": corpus.train, "dev": corpus.dev, "test": corpus.test}
    return {
        "data": {
            name: {
                "file": split.path,
                "sentences": len(split.sentences),
                "tokens": split.tokens,
                "scheme": split.scheme,
                "sha256": split.digest,
            }
            for name, split in splits.items()
            if split
        },
        # Of several columns the vocabulary has the labels, and lemmas are not few.
        "labels": sorted(corpus.train.labels())
        if corpus.scheme and not prepared.vocabulary.columns
        else [],
        "classes": sorted(corpus.train.classes()) if prepared.vocabulary.classes else [],
        **({"contextual": [{"path": p.path, "sha256": p.sha256} for p in read]} if read else {}),
    }


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The differences of two identities, each as part of a sentence."""
    found = []
    # A run of an earlier version lacks the options that were added since, and did what they do by
    # default (or did by default: `FORMER_DEFAULTS`).
    without = {f"{_CONTENT}file of weights": None}
    before = {**option_values(Config()), **FORMER_DEFAULTS, **without, **with_new_names(before)}
    for name, removed in REMOVED.items():
        if (old := before.get(name, removed.value)) != now.get(name, removed.value):
            found.append(f"{name} = {_shown(old)}, with which version 0.2 resumes it")
    for name in sorted((before.keys() & now.keys()) - REMOVED.keys()):
        old, new = before[name], now[name]
        if old != new:
            other = name.endswith(" corpus") or name.startswith(_CONTENT)
            found.append(
                f"another {name.removeprefix(_CONTENT)}"
                if other
                else f"{name} = {_shown(old)}, not {_shown(new)}"
            )
    return found


def _shown(value: Any) -> str:
    """An option's value, written as in TOML."""
    return "unset" if value is None else clipped(json.dumps(value, ensure_ascii=False, default=str))


def with_former_defaults(config: Config, run: object) -> Config:
    """The configuration with what the run that is resumed had, for options left unset.

    That is of options whose defaults have changed, or may change: they depend on the corpus.

    Args:
        config: of the run that resumes it.
        run: `identity` of the run that is resumed, from its checkpoint.
    """
    if not isinstance(run, Mapping):
        return config
    is_former = _SINCE_0_2 not in run
    former = {
        name: run.get(name, default)
        for name, default in FORMER_DEFAULTS.items()
        if not _is_set(config, name) and (name in run or is_former)
    }
    # Before 0.3 tags in other notations than the usual one were plain labels.
    if "data.notation" not in run and run.get("data.scheme") == PLAIN:
        former["data.scheme"] = PLAIN
    return with_options(config, former) if former else config


def _is_set(config: Config, name: str) -> bool:
    section, _, key = name.partition(".")
    return key in getattr(config, section).model_fields_set
