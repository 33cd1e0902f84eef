"""What a head of a tagger is built from: the tags, their steps, and the options of single heads.

An option of one head alone is a field here, as in `FeedbackOptions`, and is given its value in
`models/tagging/tag_head.py`.
"""

from dataclasses import dataclass

from torch import Tensor

from tagkit.nn.heads.sampling import Sampling
from tagkit.nn.recurrence.cell import CellOptions


@dataclass(frozen=True, slots=True)
class StepScores:
    """Scores of steps between tags, whether learnt, estimated, or 0 and minus infinity.

    Attributes:
        transitions: (tags before, tags after).
        start: (tags,).
        end: (tags,).
    """

    transitions: Tensor
    start: Tensor
    end: Tensor


@dataclass(frozen=True, slots=True)
class FeedbackOptions:
    """Options of the feedback head alone.

    Attributes:
        cell: name of the decoder's recurrent cell.
        cell_options: of that cell.
        hidden: units of the decoder.
        tag_dim: dimension of the embedding of the tag before.
        beam: hypotheses that decoding keeps; 1 is greedy.
        sampling: when training reads predicted tags in place of the gold ones.
    """

    cell: str
    cell_options: CellOptions
    hidden: int
    tag_dim: int
    beam: int
    sampling: Sampling


@dataclass(frozen=True, slots=True)
class TagSpace:
    """The arguments of a head's constructor.

    Attributes:
        inputs: features of a hidden state.
        tags: how many there are.
        illegal: minus infinity where a step is forbidden, else 0.
        sharing: (tags, tags) the share of each tag's score, by rows, in that of each, by columns;
            None where each has its own score alone. For heads that are linear in the states.
        bigrams: scores of the training corpus's steps, for heads that use them; None where they are
            loaded with the weights.
        constrain_training: whether forbidden paths are left out of the loss too, not only of
            decoding, for heads in which a tag depends on another.
        feedback: options of the feedback head.
    """

    inputs: int
    tags: int
    illegal: StepScores
    sharing: Tensor | None
    bigrams: StepScores | None
    constrain_training: bool
    feedback: FeedbackOptions
