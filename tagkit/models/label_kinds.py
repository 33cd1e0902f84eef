"""Which labels a model's task needs of a corpus."""

from tagkit.config import Config
from tagkit.corpus.dataset import LabelKinds

_KINDS = {
    "tag": LabelKinds(tags=True, classes=False),
    "classify": LabelKinds(tags=False, classes=True),
    "both": LabelKinds(tags=True, classes=True),
}


def kinds_of(config: Config) -> LabelKinds:
    """The labels that a corpus must have to train or score a model of this configuration."""
    return _KINDS[config.task]
