"""Transfer of a language model: which text a new one reads, as the base model does.

Units and their order in a line are what rows of weights mean. A model of plain lines may learn
pairs; one of pairs knows a line by its two sides, and goes on with pairs alone.
"""

from dataclasses import replace

from tagkit.config import Config, options_of
from tagkit.corpus.records.dataset import Split
from tagkit.corpus.records.unit_lines import UnitLines
from tagkit.corpus.splits.splits import Corpus
from tagkit.models.bundle.bundle import Bundle
from tagkit.text.pairs import PairUnits, within

# How pairs are read: what is not set is as in the base model.
_OF_PAIRS = ("pairs", "context", "loss_on")


def inherit_pairs(config: Config, base: Bundle, name: str) -> tuple[Config, list[str]]:
    """The configuration with pairs where the base model has them, and what contradicts that.

    Args:
        config: of the new model.
        base: the base model.
        name: of the base model, for messages.
    """
    mine, theirs = config.data, base.config.data
    if not (theirs.pairs and options_of(Config)["data.pairs"].serves(config.task)):
        return config, []
    if "pairs" in mine.model_fields_set and not mine.pairs:
        return config, [
            f"data.pairs = False: {name}, from which training begins, has True; leave it out"
        ]
    left = {key: getattr(theirs, key) for key in _OF_PAIRS if key not in mine.model_fields_set}
    return config.model_copy(update={"data": mine.model_copy(update=left)}), []


def in_units_of(corpus: Corpus, base: Bundle, *, pairs: bool) -> Corpus:
    """A corpus of texts in the units of the base model, which its own text may not give.

    Args:
        corpus: of the new model.
        base: the base model.
        pairs: whether each line is a pair, whatever the lines of the base model were.
    """
    known = base.vocabulary.units

    def cut(split: Split | None) -> Split | None:
        if split is None or known is None or not isinstance(split.sentences, UnitLines):
            return split
        units = within(known.units)
        return replace(
            split, sentences=split.sentences.cut_again(PairUnits(units) if pairs else units)
        )

    train, dev = cut(corpus.train), cut(corpus.dev)
    assert train is not None
    assert dev is not None
    return Corpus(train, dev, cut(corpus.test))
