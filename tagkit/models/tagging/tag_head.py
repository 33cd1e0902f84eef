"""The head that a configuration names, over the hidden states of any task with tags."""

import torch
from torch import Tensor

from tagkit.config import Config, EncoderConfig, HeadConfig, training_scheme
from tagkit.errors import DataError
from tagkit.features.batching.encoding import Encoded
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.base.building import cell_options
from tagkit.models.base.task_records import TrainingData
from tagkit.models.tagging.constraints import illegal_steps, legal_scheme
from tagkit.models.tagging.tag_sharing import tag_sharing
from tagkit.nn.heads import HEADS
from tagkit.nn.heads.sampling import Sampling
from tagkit.nn.heads.tag_space import FeedbackOptions, TagSpace
from tagkit.nn.heads.tagging import ChainHead, Head
from tagkit.nn.heads.viterbi import estimate_bigrams
from tagkit.text.schemes import OUTSIDE, has_spans, split_tag
from tagkit.wording import listed, quoted


def build_tag_head(
    config: Config, vocabulary: Vocabulary, inputs: int, data: TrainingData | None
) -> Head:
    """The head that the configuration names.

    Args:
        config: resolved.
        vocabulary: with the tags.
        inputs: features of a token in one member of an ensemble.
        data: the training corpus; None where weights are loaded next.
    """
    head_inputs = config.encoder.ensemble_size * inputs
    head = head_of_tags(config, vocabulary.tags, head_inputs, data, "tags")
    # Only the loss uses weights: a model that is loaded has none.
    if data is not None and config.head.label_weights:
        head.tag_weights = _tag_weights(config, vocabulary, data.path)
    return head


def head_of_tags(
    config: Config, tags: tuple[str, ...], inputs: int, data: TrainingData | None, target: str
) -> Head:
    """The head that the configuration names, of any tags.

    Args:
        config: its scheme is that of the tags.
        tags: in the order of their ids.
        inputs: features of each token.
        data: the training corpus; None where weights are loaded next.
        target: name of the tags among the corpus's targets.
    """
    kind = HEADS[config.head.kind]
    bigrams = None
    if data is not None and kind.uses_bigrams:  # otherwise the saved ones come with the weights
        assert isinstance(data.encoded, Encoded)
        bigrams = estimate_bigrams(data.encoded.paths(target), len(tags))
    return kind(
        TagSpace(
            inputs=inputs,
            tags=len(tags),
            illegal=illegal_steps(tags, legal_scheme(config)),
            sharing=tag_sharing(config, tags),
            bigrams=bigrams,
            constrain_training=config.head.constrain == "train",
            feedback=_feedback_options(config.head),
        )
    )


def set_head_constants(head: Head, config: Config, tags: tuple[str, ...]) -> None:
    """What a head that was loaded has beside its weights: forbidden steps, and shares of scores.

    Args:
        head: of `head_of_tags`.
        config: as there.
        tags: as there.
    """
    illegal = illegal_steps(tags, legal_scheme(config))
    head.illegal_transitions = illegal.transitions
    head.illegal_start, head.illegal_end = illegal.start, illegal.end
    if isinstance(head, ChainHead):
        head.sharing = tag_sharing(config, tags)


def _tag_weights(config: Config, vocabulary: Vocabulary, path: str) -> Tensor:
    """(tags,) weight of each tag in the loss, which is that of its label.

    Raises:
        DataError: an option names a label that the training corpus lacks.
    """
    plain = not has_spans(training_scheme(config))
    # Weights are given by type: B-PER and I-PER both have that of PER.
    labels = [tag if plain or tag == OUTSIDE else split_tag(tag)[1] for tag in vocabulary.tags]
    for label in config.head.label_weights:
        if label not in labels:
            known = listed([*dict.fromkeys(labels)])
            raise DataError(
                f"head.label_weights: no token of {path} has the label {quoted(label)}; there "
                f"are: {known}"
            )
    return torch.tensor([config.head.label_weights.get(label, 1.0) for label in labels])


def _feedback_options(head: HeadConfig) -> FeedbackOptions:
    sampling = Sampling(head.sampling, head.sampling_rate, head.sampling_steps)
    return FeedbackOptions(
        cell=head.feedback_cell,
        cell_options=cell_options(EncoderConfig()),  # those of [encoder] are of its own cell
        hidden=head.feedback_hidden,
        tag_dim=head.tag_dim,
        beam=head.beam,
        sampling=sampling,
    )
