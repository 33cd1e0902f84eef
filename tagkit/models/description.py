"""What the console and `tagkit info` say of a model."""

from dataclasses import dataclass

HEAD_NAMES = {"crf": "CRF", "softmax": "softmax", "viterbi": "softmax + tag bigrams"}


@dataclass(frozen=True, slots=True)
class Description:
    """A model in a few words.

    Attributes:
        heads: what is above the encoder.
        unit: what a corpus of it is counted in, "sentence" or "text".
        measure: name of dev's headline score.
    """

    heads: tuple[str, ...]
    unit: str
    measure: str
