"""How many classes a text has, and which a corpus must have to be learnt from."""

from tagkit.config import Config
from tagkit.corpus.records.dataset import Split
from tagkit.errors import DataError, FormatError
from tagkit.wording import Message, Setting, listed, quoted


def several_classes(config: Config, train: Split) -> bool:
    """Whether a text may have several classes: as configured, or as some training text has."""
    # By train alone: dev and test must not decide what a model is able to say.
    if config.head.multi_label == "auto":
        return any(len(sentence.labels) > 1 for sentence in train.sentences)
    return config.head.several_classes


def check_classes(split: Split, *, several: bool) -> None:
    """Raise where a text has not as many classes as it may have.

    Raises:
        DataError: no text has a class.
        FormatError: a text without a class, or with several.
    """
    if several:
        return
    if split.sentences and not any(sentence.labels for sentence in split.sentences):
        read_as = f", which is read as {split.format}" if split.format else ""
        raise DataError(
            f"{split.path}: expected a class for each text, found none in this file{read_as}"
        )
    for sentence in split.sentences:
        if len(sentence.labels) != 1:
            found = listed([quoted(label) for label in sentence.labels]) or "none"
            raise FormatError(
                split.path, sentence.lines[0] if sentence.lines else 1,
                f"expected one class, found {found} (head.multi_label says how many a text has)",
            )  # fmt: skip


def check_variety(train: Split, dev: Split, *, is_split: bool) -> None:
    """Raise where there is only one class, or dev has classes of another kind.

    Args:
        train: what a model learns.
        dev: what it is scored on.
        is_split: whether dev was split off train.

    Raises:
        DataError: that is so.
    """
    known = train.classes()
    # With several classes a text, one that all texts have is no reason to refuse the others.
    always = [label for label, count in known.items() if count == len(train.sentences)]
    if always and len(known) == 1:
        problem = f"is of the class {quoted(always[0])}: expected two classes or more"
        if is_split and dev.classes().keys() - known.keys():
            said = f"{train.path}: every text that is left when dev is split off {problem}. "
            raise DataError(Message(said, "Name a dev corpus (", Setting("data.dev_file"), ")"))
        raise DataError(f"{train.path}: every text {problem}")
    if not known:
        raise DataError(f"{train.path}: no text has a class, so there is nothing to learn")
    found = dev.classes()
    if found and not found.keys() & known.keys():
        if is_split:
            raise DataError(
                Message(
                    f"{train.path}: no class of the texts that are split off for dev is among "
                    "those that are left, as each class has too few texts. Name a dev corpus (",
                    Setting("data.dev_file"),
                    "), or label more texts of each class",
                )
            )
        ours, theirs = (listed(sorted(labels)[:5]) for labels in (known, found))
        raise DataError(
            f"{dev.path}: expected classes of {train.path}, such as {ours}; found none of them, "
            f"but {theirs}"
        )
