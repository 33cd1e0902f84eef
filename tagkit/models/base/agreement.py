"""Checks that a saved configuration and a saved vocabulary belong together.

Each check raises a BundleError that names the file; a task calls those that it needs.
"""

from collections.abc import Iterable
from pathlib import Path

from tagkit.config import Config, training_scheme
from tagkit.errors import BundleError
from tagkit.features.vocabulary import Vocabulary
from tagkit.text.schemes import OUTSIDE, PREFIXES, SCHEMES, has_spans, split_tag
from tagkit.wording import quoted

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
    """Raise unless there are values for each feature column that the model reads."""
    wanted, found = len(config.data.feature_columns), len(vocabulary.features)
    if wanted != found:
        raise BundleError(
            f"{vocabulary_file}: expected values of {wanted} feature columns, as "
            f"data.feature_columns has, found {found}"
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
