"""The folder of a model, and what it holds beside the weights. No torch.

Metadata, configuration and vocabulary; how they are written: `bundle/bundle.py`. Checks
that a configuration and a vocabulary belong together raise a BundleError that names the file; a
task calls those that it needs.
"""

import json
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, TypeVar

from tagkit import __version__
from tagkit.config import MAX_CONFIG_BYTES, Config, parse_saved, parse_toml, training_scheme
from tagkit.errors import BundleError, ConfigError
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.base.calibration import KEY, ModelCalibration
from tagkit.models.folder.seed_folders import SEED_RUN
from tagkit.storage import (
    BEST,
    CURVE,
    HISTORY,
    LAST,
    LOCK,
    MANIFEST,
    METADATA,
    WEIGHTS,
    digest_of_bytes,
    set_aside,
    whole_folder,
    write_whole,
)
from tagkit.text.json_text import from_json, require_plain, to_json
from tagkit.text.schemes import OUTSIDE, PREFIXES, SCHEMES, has_spans, split_tag
from tagkit.wording import listed, quoted, reason

CONFIG, VOCABULARY = "config.toml", "vocabulary.json"


def find_bundle(path: Path) -> Path:
    """The folder of the model: `path` itself, or, in a training run's folder, `best` or `last`.

    Raises:
        BundleError: there is no model, or the run has lost its best one.
    """
    try:
        for folder in (path, path / BEST, path / LAST):
            # Not the last model in place of a best one that is missing as a whole.
            if folder == path / LAST and _is_scored(path):
                raise _lost_best(path)
            # The metadata is written last, so a folder that has it is whole.
            if (folder / METADATA).is_file():
                return folder
            # The old model, of a run that was stopped between the two renames that replace it.
            if (set_aside(folder) / METADATA).is_file():
                return set_aside(folder)
            # Nor in place of one that has lost a file.
            if (folder / METADATA).exists():
                raise BundleError(f"{folder / METADATA}: expected a file, found something else")
            if any((folder / name).exists() for name in (WEIGHTS, CONFIG, VOCABULARY)):
                raise BundleError(f"{folder}: {METADATA} is missing; this is not a whole model")
        if not path.exists():
            raise BundleError(f"{path}: no such folder; `tagkit train` makes one")
        runs = sorted(each.name for each in path.glob("*") if SEED_RUN.fullmatch(each.name))
    except OSError as error:
        raise BundleError(f"{path}: cannot be read: {reason(error)}") from None
    if runs:  # a folder whose trainings have all ended has a table of them, and is no model folder
        raise BundleError(
            f"{path}: holds trainings with several seeds, which have not all ended; name one of "
            f"them ({listed(runs, 5)})"
        )
    if (path / CURVE).exists():
        raise BundleError(
            f"{path}: holds a learning curve, whose models are not kept; `tagkit train` makes one"
        )
    if (path / LOCK).exists() or (path / MANIFEST).exists():
        raise BundleError(f"{path}: holds a run that has saved no model yet; resume it, or wait")
    if path.is_file():
        raise BundleError(f"{path}: expected the folder of a model, found a file")
    raise BundleError(f"{path}: not a model folder: expected one that holds {METADATA}")


def is_last(folder: Path, path: Path) -> bool:
    """Whether a folder that `find_bundle(path)` has found is that of the last model of a run."""
    last = path / LAST
    return folder in (last, set_aside(last))


def _is_scored(run: Path) -> bool:
    """Whether an epoch of a run has been scored, so that a best model has been saved.

    Raises:
        OSError: the folder cannot be read.
    """
    history = run / HISTORY
    return history.is_file() and history.stat().st_size > 0


def _lost_best(run: Path) -> BundleError:
    missing, last = f"{run}: its best model is missing ({BEST}/); restore it", run / LAST
    if not (last / METADATA).is_file():
        return BundleError(f"{missing}, or resume the run")
    return BundleError(f"{missing}, resume the run, or name {last} for that of the last epoch")


# 2: words have affixes, and the configuration options, that 0.1.0 does not know; both are read.
FORMAT_VERSION = 2
# Limits checked before a part is read; the parts of real models are a hundredth of them.
_READINGS = 3  # of a model that is replaced while it is read
MAX_METADATA_BYTES = 16 * 2**20
MAX_VOCABULARY_BYTES = 512 * 2**20
# Entries of a vocabulary that need no row of weights: characters, in a model that reads none.
MAX_ENTRIES_WITHOUT_ROWS = 2_000_000
_DIGEST = re.compile(r"[0-9a-f]{64}")  # SHA-256 in lower case, as hashlib writes it
Found = TypeVar("Found")


@dataclass(frozen=True)
class ModelParts:
    """What a model's folder holds beside the weights.

    Attributes:
        vocabulary: of the model.
        config: the resolved configuration that it was trained with.
        metadata: the contents of `metadata.json`.
    """

    vocabulary: Vocabulary
    config: Config
    metadata: dict[str, Any]


def read_parts(folder: Path) -> ModelParts:
    """The parts in the folder of the model itself, each checked by itself and by its digest.

    Raises:
        BundleError: a part is missing, cut short, altered or too new.
    """
    # From the smallest part to the largest: a mistake is found before the weights are read.
    metadata = read_metadata(folder)
    digests = _digests(folder, metadata)
    content = _read_verified(folder / CONFIG, MAX_CONFIG_BYTES, digests[CONFIG])
    try:
        table = parse_toml(content)
        config = parse_saved(table, str(folder / CONFIG))
    except ValueError as error:
        raise BundleError(f"{folder / CONFIG}: {error}") from None
    except ConfigError as error:
        raise BundleError(*error.lines) from None
    return ModelParts(_read_vocabulary(folder, digests[VOCABULARY]), config, metadata)


def read_whole(path: Path, read: Callable[[Path], Found]) -> Found:
    """What `read` finds in the folder of a model, also where the model is replaced meanwhile."""
    # Such a model is not damaged: some parts were those of the old one.
    for _ in range(_READINGS - 1):
        before = _state_of(path)
        try:
            return read(path)
        except BundleError:
            if _state_of(path) == before:
                raise
    return read(path)


def _state_of(path: Path) -> list[tuple[int, int] | None]:
    """What changes where the models of a folder are replaced."""
    found: list[tuple[int, int] | None] = []
    for place in (path, path / BEST, path / LAST):
        for name in (METADATA, WEIGHTS):
            try:
                facts = os.stat(place / name)
            except (OSError, ValueError):  # a name that no system takes
                found.append(None)
            else:
                found.append((facts.st_ino, facts.st_mtime_ns))
    return found


def metadata_bytes(metadata: Mapping[str, Any]) -> bytes:
    """The contents of `metadata.json`, as every model has them."""
    return (to_json(metadata, indent=2) + "\n").encode()


def copy_bundle(source: Path, folder: Path) -> None:
    """Replace the model in `folder` by a copy of the one in `source`, its four files alone.

    Of several runs (seeds, trials of a search) the best one's model is copied in this way.

    Raises:
        OSError: it cannot be copied.
    """
    with whole_folder(folder) as temporary:
        for name in (WEIGHTS, CONFIG, VOCABULARY, METADATA):
            shutil.copyfile(source / name, temporary / name)


def store_calibration(folder: Path, calibration: ModelCalibration | None) -> None:
    """Replace the calibration of the model in a folder; None removes it.

    The metadata are written beside and renamed. All else in them, and the other files, stay.

    Args:
        folder: of the model itself, as `model_folder.find_bundle` gives it.
        calibration: of its heads.

    Raises:
        BundleError: the metadata cannot be read or written.
    """
    metadata = read_metadata(folder)
    metadata.pop(KEY, None)
    if calibration is not None:
        metadata[KEY] = calibration.to_dict()
    try:
        write_whole(folder / METADATA, metadata_bytes(metadata))
    except OSError as error:
        raise BundleError(f"{folder}: cannot be written: {reason(error)}") from None


def read_metadata(folder: Path) -> dict[str, Any]:
    """The contents of `metadata.json`.

    Raises:
        BundleError: it cannot be read, or is of a newer format.
    """
    # The metadata has no digest of its own, so it is bounded and checked before it is used.
    path = folder / METADATA
    content = _read(path, MAX_METADATA_BYTES)
    try:
        metadata = from_json(content)
        require_plain(metadata)
    except ValueError as error:
        raise BundleError(f"{path}: damaged: {error}") from None
    if not isinstance(metadata, dict) or "format_version" not in metadata:
        raise BundleError(f"{path}: damaged: expected JSON with a format_version")
    version = metadata["format_version"]
    # Not isinstance: True is an int too.
    if type(version) is not int or version < 1:
        raise BundleError(
            f"{path}: damaged: expected a format_version of 1 or more, found "
            f"{quoted(json.dumps(version))[1:-1]}"
        )
    if version > FORMAT_VERSION:
        made_by = metadata.get("tagkit")
        made_by = quoted(made_by)[1:-1] if isinstance(made_by, str) else "a later version"
        raise BundleError(
            f"{folder}: made by tagkit {made_by} (format {version}); this is tagkit {__version__} "
            f"(reads up to {FORMAT_VERSION}). Upgrade tagkit to load it"
        )
    return metadata


def _digests(folder: Path, metadata: Mapping[str, Any]) -> dict[str, str]:
    """The digest of each part, as saved in the metadata."""
    found = metadata.get("sha256")
    digests: dict[str, str] = {}
    for name in (WEIGHTS, CONFIG, VOCABULARY):
        digest = found.get(name) if isinstance(found, dict) else None
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            raise BundleError(
                f"{folder / METADATA}: damaged: expected the SHA-256 of {name} in 64 hexadecimal "
                f"digits, found {quoted(json.dumps(digest))[1:-1]}"
            )
        digests[name] = digest
    return digests


@contextmanager
def open_part(path: Path) -> Iterator[tuple[BufferedReader, int]]:
    """An open part of a model, and its size in bytes.

    Raises:
        BundleError: it is missing, not a regular file, or cannot be read.
    """
    try:
        # Before it is opened: opening a named pipe waits until somebody writes into it.
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a device or a pipe"
            raise BundleError(f"{path}: expected a file, found {kind}")
        with path.open("rb") as file:
            yield file, status.st_size
    except FileNotFoundError:
        raise BundleError(f"{path}: missing; this is not a whole model") from None
    except OSError as error:
        raise BundleError(f"{path}: cannot be read: {reason(error)}") from None


def _read(path: Path, limit: int) -> bytes:
    """The bytes of a part of a model, at most `limit`."""
    with open_part(path) as (file, size):
        if size > limit:
            raise BundleError(f"{path}: expected at most {limit:,} bytes, found {size:,}")
        # `read` asks for room for all that it may find. What a file has grown by is left: its
        # digest tells.
        content = file.read(size)
    return content


def _read_verified(path: Path, limit: int, digest: str) -> bytes:
    """The bytes of a part of a model, whose SHA-256 is that of the metadata."""
    content = _read(path, limit)
    require_digest(path, digest_of_bytes(content), digest)
    return content


def require_digest(path: Path, found: str, expected: str) -> None:
    """Raise unless the SHA-256 of a part is that of the metadata."""
    if found != expected:
        raise BundleError(
            f"{path}: cut short or altered: expected sha256 {expected[:16]}..., found "
            f"{found[:16]}...; copy or train the model again"
        )


def _read_vocabulary(folder: Path, digest: str) -> Vocabulary:
    path = folder / VOCABULARY
    content = _read_verified(path, MAX_VOCABULARY_BYTES, digest)
    # A parsed entry needs many times its bytes in memory, so the number of entries is bounded
    # before parsing: each has a row of weights, of four bytes or more. Commas and brackets inside
    # strings count too; the limit has room for them.
    entries = content.count(b",") + content.count(b"[")
    with open_part(folder / WEIGHTS) as (_, size):
        if entries > MAX_ENTRIES_WITHOUT_ROWS + size:
            raise BundleError(f"{path}: holds more entries ({entries:,}) than {WEIGHTS} has rows")
    try:
        return Vocabulary.from_dict(from_json(content))
    except KeyError as error:
        raise BundleError(f"{path}: lacks {error}") from None
    except (ValueError, TypeError) as error:
        raise BundleError(f"{path}: {error}") from None


# (first, second) for each training scheme: a label with a tag of the first prefix has one of the
# second too. Training tags come from whole spans, so a label that has I has B too, and one that has
# B has the E or L that ends its spans; S or U alone is possible. (So is B alone, in IOB2.)
_REQUIRED_WITH = {
    "iob2": (("I", "B"),),
    "iobes": (("B", "E"), ("E", "B"), ("I", "B")),
    "bilou": (("B", "L"), ("L", "B"), ("I", "B")),
}


def check_no_classes(config: Config, vocabulary: Vocabulary, vocabulary_file: Path) -> None:
    """Raise if the vocabulary of a tagger holds classes."""
    if vocabulary.classes:
        raise BundleError(
            f"{vocabulary_file}: expected no classes, as task = '{config.task}', found some"
        )


def check_no_tags(config: Config, vocabulary: Vocabulary, vocabulary_file: Path) -> None:
    """Raise if the vocabulary of a classifier holds tags."""
    # A classifier that started with a tagger's weights may have kept the names of its tags.
    if vocabulary.tags and not config.train.init_from:
        raise BundleError(
            f"{vocabulary_file}: expected no tags, as task = '{config.task}', found some"
        )


def check_features(config: Config, vocabulary: Vocabulary, vocabulary_file: Path) -> None:
    """Raise unless there are values for each feature column, and column of numbers, of a model."""
    data = config.data
    for columns, known, what, name in (
        (data.feature_columns, vocabulary.features, "feature columns", "data.feature_columns"),
        (data.vector_columns, vocabulary.vectors, "vector columns", "data.vector_columns"),
    ):
        if len(columns) != len(known):
            raise BundleError(
                f"{vocabulary_file}: expected values of {len(columns)} {what}, as {name} has, "
                f"found {len(known)}"
            )


def check_affixes(config: Config, vocabulary: Vocabulary, config_file: Path) -> None:
    """Raise if there are affixes, and no dimension of their embedding."""
    # The reverse is right: in a very small corpus no affix may be frequent enough.
    dim = config.embeddings.affix_dim
    if vocabulary.affixes and dim in (0, "auto"):
        raise BundleError(
            f"{config_file}: embeddings.affix_dim = {dim!r}: expected a number above 0, as the "
            "vocabulary holds affixes"
        )


def check_units(config: Config, vocabulary: Vocabulary, vocabulary_file: Path) -> None:
    """Raise unless the vocabulary has the units that the configuration names."""
    units = vocabulary.units
    found = units.units.kind if units else "word"
    if found != config.data.unit or vocabulary.reads_units != config.reads_units:
        place = f" in place of {units.instead_of}" if units else ""
        raise BundleError(
            f"{vocabulary_file}: expected units as data.unit = '{config.data.unit}' has them with "
            f"task = '{config.task}', found '{found}'{place}"
        )


def check_tags(
    config: Config, tags: tuple[str, ...], config_file: Path, vocabulary_file: Path
) -> None:
    """Raise unless the tags are those of the training scheme."""
    if not tags:
        raise BundleError(
            f"{vocabulary_file}: expected tags, as task = '{config.task}', found none"
        )
    # "auto" was resolved by training: it cannot be in the folder of a model.
    if config.data.scheme not in SCHEMES:
        raise BundleError(
            f"{config_file}: data.scheme = '{config.data.scheme}': expected the scheme of the "
            "corpus"
        )
    scheme = training_scheme(config)
    labels = set(tags)
    if has_spans(scheme):
        _check_prefixes(scheme, tags, vocabulary_file)
        # Weights may be given for O as well as for types of spans.
        labels = {OUTSIDE if tag == OUTSIDE else split_tag(tag)[1] for tag in tags}
    _check_known("head.label_weights", config.head.label_weights, "label", labels, config_file)


def _check_prefixes(scheme: str, tags: tuple[str, ...], vocabulary_file: Path) -> None:
    """Raise unless the tags are those of spans in a scheme."""
    # Decoding and constraints rely on it: they look up the prefix, and the tag that ends a span.
    known = set(tags)
    if OUTSIDE not in known:
        raise BundleError(
            f"{vocabulary_file}: expected the tag {OUTSIDE}, as in every {scheme}, found none"
        )
    for tag in tags:
        prefix, _ = split_tag(tag)
        if tag == OUTSIDE:
            continue
        if prefix not in PREFIXES[scheme]:
            raise BundleError(
                f"{vocabulary_file}: expected tags of the scheme {scheme}, which the model learns, "
                f"found {quoted(tag)}"
            )
        for first, second in _REQUIRED_WITH[scheme]:
            partner = second + tag[1:]  # keeps the label, and a bare prefix without a hyphen
            if prefix == first and partner not in known:
                raise BundleError(
                    f"{vocabulary_file}: expected {quoted(partner)} beside {quoted(tag)}, as in "
                    f"the scheme {scheme}, which the model learns; found none"
                )


def check_classes(
    config: Config, classes: tuple[str, ...], config_file: Path, vocabulary_file: Path
) -> None:
    """Raise if there are no classes, or if options name unknown ones."""
    if not classes:
        raise BundleError(
            f"{vocabulary_file}: expected classes, as task = '{config.task}', found none"
        )
    if config.head.multi_label == "auto":
        raise BundleError(f"{config_file}: head.multi_label = 'auto': expected 'yes' or 'no'")
    if config.head.pooling == "auto":
        raise BundleError(f"{config_file}: head.pooling = 'auto': expected a way to pool states")
    for option in ("threshold", "class_weights"):
        # The threshold may be one number for all classes.
        named = getattr(config.head, option)
        if isinstance(named, dict):
            _check_known(f"head.{option}", named, "class", set(classes), config_file)


def _check_known(
    option: str, named: Iterable[str], kind: str, known: set[str], config_file: Path
) -> None:
    for name in named:
        if name not in known:
            raise BundleError(
                f"{config_file}: {option} names the {kind} {quoted(name)}, which is not in the "
                "vocabulary"
            )
