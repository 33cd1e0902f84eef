"""Heads of taggers, and poolings of classifiers, by name.

A head, or a pooling, is one module here and one row below. The keys are the values that the
configuration allows for `head.kind` and `head.pooling`.
"""

from tagkit.nn.heads.crf import CrfHead
from tagkit.nn.heads.feedback import FeedbackHead
from tagkit.nn.heads.pooling import (
    AttentionPooling,
    ConcatPooling,
    LastPooling,
    MaxPooling,
    MeanMaxPooling,
    MeanPooling,
    MemoryPooling,
    Pooling,
    ScaledAttentionPooling,
)
from tagkit.nn.heads.softmax import SoftmaxHead
from tagkit.nn.heads.tagging import Head
from tagkit.nn.heads.viterbi import ViterbiHead

# Each is built from one `TagSpace`, so that a head with options of its own adds a field there and
# no branch anywhere.
HEADS: dict[str, type[Head]] = {
    "crf": CrfHead,
    "softmax": SoftmaxHead,
    "viterbi": ViterbiHead,
    "feedback": FeedbackHead,
}

# Each is built from the number of features of a state; `outputs` is that of its vector.
POOLINGS: dict[str, type[Pooling]] = {
    "last": LastPooling,
    "mean": MeanPooling,
    "max": MaxPooling,
    "mean+max": MeanMaxPooling,
    "concat": ConcatPooling,
    "attention": AttentionPooling,
    "scaled-attention": ScaledAttentionPooling,
    "memory": MemoryPooling,
}
