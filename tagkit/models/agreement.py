"""Whether a model's configuration and its vocabulary belong together."""

from collections.abc import Iterable
from pathlib import Path

from tagkit.config import Config, training_scheme
from tagkit.errors import BundleError, shorten
from tagkit.features.vocabulary import Vocabulary
from tagkit.text.schemes import OUTSIDE, PREFIXES, SCHEMES, split_tag

# Prefixes that one label has together, in each scheme that models learn: where the first of a pair
# occurs, the second does.
_TOGETHER = {
    "iob2": (("I", "B"),),
    "iobes": (("B", "E"), ("E", "B"), ("I", "B")),
    "bilou": (("B", "L"), ("L", "B"), ("I", "B")),
}


def check_agreement(config: Config, vocabulary: Vocabulary, settings: Path, words: Path) -> None:
    """Raise where a model's configuration and vocabulary do not belong together.

    Args:
        config: resolved, as training writes it.
        vocabulary: of the model.
        settings: file of the configuration, for messages.
        words: file of the vocabulary, for messages.

    Raises:
        BundleError: a part of one is not in the other.
    """
    task = config.task
    if task != "classify":
        _check_tags(config, vocabulary.tags, settings, words)
    elif vocabulary.tags and not config.train.init_from:
        # One that began with a tagger's weights may have kept the names of its tags.
        raise BundleError(f"{words}: expected no tags, as task = 'classify', found some")
    if task == "tag" and vocabulary.classes:
        raise BundleError(f"{words}: expected no classes, as task = 'tag', found some")
    if task != "tag":
        _check_classes(config, vocabulary.classes, settings, words)
    wanted, found = len(config.data.feature_columns), len(vocabulary.features)
    if wanted != found:
        raise BundleError(
            f"{words}: expected values of {wanted} feature columns, as data.feature_columns has, "
            f"found {found}"
        )


def _check_tags(config: Config, tags: tuple[str, ...], settings: Path, words: Path) -> None:
    if not tags:
        raise BundleError(f"{words}: expected tags, as task = '{config.task}', found none")
    if config.data.scheme not in SCHEMES:
        raise BundleError(
            f"{settings}: data.scheme = '{config.data.scheme}': expected the scheme of the corpus"
        )
    scheme = training_scheme(config)
    labels = set(tags)
    if scheme != "labels":
        _check_prefixes(scheme, tags, words)
        labels = {OUTSIDE if tag == OUTSIDE else split_tag(tag)[1] for tag in tags}
    _check_known("head.label_weights", config.head.label_weights, "label", labels, settings)


def _check_prefixes(scheme: str, tags: tuple[str, ...], words: Path) -> None:
    """Raise where tags are not those of spans in a scheme."""
    known = set(tags)
    if OUTSIDE not in known:
        raise BundleError(f"{words}: expected the tag {OUTSIDE}, as in every {scheme}, found none")
    for tag in tags:
        prefix, _ = split_tag(tag)
        if tag == OUTSIDE:
            continue
        if prefix not in PREFIXES[scheme]:
            raise BundleError(
                f"{words}: expected tags of the scheme {scheme}, which the model learns, found "
                f"{shorten(tag)}"
            )
        for first, second in _TOGETHER[scheme]:
            partner = second + tag[1:]
            if prefix == first and partner not in known:
                raise BundleError(
                    f"{words}: expected {shorten(partner)} beside {shorten(tag)}, as in the scheme "
                    f"{scheme}, which the model learns; found none"
                )


def _check_classes(config: Config, classes: tuple[str, ...], settings: Path, words: Path) -> None:
    if not classes:
        raise BundleError(f"{words}: expected classes, as task = '{config.task}', found none")
    if config.head.multi_label == "auto":
        raise BundleError(f"{settings}: head.multi_label = 'auto': expected 'yes' or 'no'")
    for option in ("threshold", "class_weights"):
        named = getattr(config.head, option)
        if isinstance(named, dict):
            _check_known(f"head.{option}", named, "class", set(classes), settings)


def _check_known(
    option: str, named: Iterable[str], kind: str, known: set[str], settings: Path
) -> None:
    for name in named:
        if name not in known:
            raise BundleError(
                f"{settings}: {option} names the {kind} {shorten(name)}, which is not in the "
                "vocabulary"
            )
