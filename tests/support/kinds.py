"""Which labels a corpus must have, as the tests ask for them."""

from tagkit.corpus.records.dataset import LabelKinds

TAGS = LabelKinds(tags=True, classes=False)
CLASSES = LabelKinds(tags=False, classes=True)
BOTH = LabelKinds(tags=True, classes=True)
WORDS = LabelKinds(tags=False, classes=False)
KINDS = {"tag": TAGS, "classify": CLASSES, "both": BOTH}
