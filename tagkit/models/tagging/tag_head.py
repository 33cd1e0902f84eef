"""The head that a configuration names, for any task with tags, and the tags of what it decodes.

A model predicts in the training scheme; the tags of a prediction are in the scheme of the training
corpus. The spans are the same in both.

The head knows of tags which may follow which in a scheme, and which share a part of their scores.

Tags share a part of their scores: those of one label, and those with one prefix. B-PER, I-PER,
E-PER and S-PER say the same of what a name is, and B-PER and B-LOC the same of where one begins;
some of them a small corpus has a few times only. So a tag is scored by weights of its own, and by a
share of those of each of its relatives:

    score(B-PER) = s(B-PER) + 0.5 (s(I-PER) + s(E-PER) + s(S-PER)) + 0.3 (s(B-LOC) + s(B-ORG) + ...)

What a token teaches of one tag is learnt of its relatives too, in part. (Evgeniou and Pontil 2004
learn several tasks in this way: each has weights of its own, and all of them have some in common.)
With many labels a prefix has many tags. Were the share of each 0.3, a step would move them all so
far that nothing told them apart: with more than four labels the shares are 0.9 together.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from tagkit.config import Config, EncoderConfig, HeadConfig, training_scheme
from tagkit.errors import ConfigError, DataError
from tagkit.features.batching.encoding import Encoded
from tagkit.features.column_labels import ColumnLabels
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.base.building import cell_options, sampling_of
from tagkit.models.base.output import ModelOutput, require_number
from tagkit.models.base.task_records import ModelContext, TrainingData
from tagkit.nn.crf.confidence import PathConfidence
from tagkit.nn.heads import HEADS
from tagkit.nn.heads.tag_space import FeedbackOptions, StepScores, TagSpace
from tagkit.nn.heads.tagging import ChainHead, Head
from tagkit.nn.heads.viterbi import estimate_bigrams
from tagkit.text.records import Alternative, Prediction, Sentence, Span
from tagkit.text.schemes import IO as IO
from tagkit.text.schemes import (
    OUTSIDE,
    PLAIN,
    convert,
    from_span_tuples,
    has_spans,
    join_tag,
    may_follow,
    span_tuples,
    split_tag,
)
from tagkit.wording import listed, quoted


def legal_scheme(config: Config) -> str:
    """The scheme that constrains decoding; `PLAIN` if every transition is legal."""
    constrain = config.head.constrain
    # A softmax head decides each token by itself, unless the user asks for constraints.
    by_default = HEADS[config.head.kind].constrained_by_default
    if constrain == "none" or (constrain == "auto" and not by_default):
        return PLAIN
    return training_scheme(config)


def illegal_steps(tags: tuple[str, ...], scheme: str) -> StepScores:
    """Minus infinity for every transition that the scheme forbids, 0 for the others."""
    size = len(tags)
    free = StepScores(torch.zeros(size, size), torch.zeros(size), torch.zeros(size))
    # On the meta device, where a model to be loaded is built, there are shapes alone.
    if not has_spans(scheme) or free.start.is_meta:
        return free

    def score(before: str, after: str) -> float:
        return 0.0 if may_follow(before, after, scheme) else -torch.inf

    # Whether a transition is legal depends on the two prefixes and on whether the labels are equal.
    # So `may_follow` is called for pairs of prefixes, of which there are at most 25, twice, and not
    # for all pairs of tags, of which there may be millions.
    parts = [(None, "") if tag == OUTSIDE else split_tag(tag) for tag in tags]
    kinds = list(dict.fromkeys(prefix for prefix, _ in parts))
    labels = {label: number for number, (_, label) in enumerate(parts)}
    # Each (kinds before, kinds after): scores for equal labels, and for different ones.
    same, other = (
        torch.tensor([[score(_tag(a, "x"), _tag(b, label)) for b in kinds] for a in kinds])
        for label in ("x", "y")
    )
    kind_ids = torch.tensor([kinds.index(prefix) for prefix, _ in parts])
    label_ids = torch.tensor([labels[label] for _, label in parts])
    return StepScores(
        # (tags, 1) == (tags,) -> (before, after); indexing expands kinds to tags likewise
        torch.where(
            label_ids.unsqueeze(1) == label_ids,
            same[kind_ids][:, kind_ids],
            other[kind_ids][:, kind_ids],
        ),
        # A sentence begins and ends as if O stood before and after it.
        torch.tensor([score(OUTSIDE, tag) for tag in tags]),
        torch.tensor([score(tag, OUTSIDE) for tag in tags]),
    )


def _tag(prefix: str | None, label: str) -> str:
    """A tag with this prefix and label; O for None."""
    return OUTSIDE if prefix is None else f"{prefix}-{label}"


def continuations(tags: tuple[str, ...], scheme: str) -> Tensor:
    """(tags,) id of the tag that continues each tag's span; -1 if there is none.

    Only in IOB2 does the end of a span depend on the next tag. In the other schemes the last tag of
    a span says so itself, and all ids are -1.
    """
    ids = {tag: number for number, tag in enumerate(tags)}
    following = [-1] * len(tags)
    if scheme == "iob2":
        for tag, number in ids.items():
            if tag != OUTSIDE:
                # A label whose spans all have one word has no I in the vocabulary.
                following[number] = ids.get(join_tag("I", split_tag(tag)[1]), -1)
    return torch.tensor(following)


# Chosen on dev (benchmarks/BENCHMARKS.md, "Shared scores").
_OF_LABEL, _OF_PREFIX = 0.5, 0.3
_OF_ALL_OF_PREFIX = 0.9


def tag_sharing(config: Config, tags: Sequence[str]) -> Tensor | None:
    """(tags, tags) the share that the score of each tag, by rows, has in that of each, by columns.

    Args:
        config: its scheme is that of the tags.
        tags: in the order of their ids.

    Returns:
        A symmetric matrix with ones on its diagonal. None where the configuration asks for none, or
        tags are labels of single words, which have no relatives.
    """
    if config.head.tag_sharing is not True or not has_spans(training_scheme(config)):
        return None
    if torch.empty(0).is_meta:  # a model to be loaded has shapes alone until its constants are set
        return None
    # O is a relative of no other tag.
    parts = [(None, None) if tag == OUTSIDE else split_tag(tag) for tag in tags]
    of_prefix, of_label = (_equal(names) for names in zip(*parts, strict=True))
    # A prefix has as many tags as there are labels: each has a smaller share where these are many.
    relatives = of_prefix.sum(1, keepdim=True) - 1  # (tags, 1)
    share = (_OF_ALL_OF_PREFIX / relatives).clamp(max=_OF_PREFIX)
    # Different tags never have both in common.
    return (_OF_LABEL * of_label + share * of_prefix).fill_diagonal_(1.0)


def label_sharing(tags: Sequence[str]) -> Tensor:
    """(tags, tags) likewise, of labels alone: for weights that are found with a penalty.

    Each row has length 1, so that the penalty weighs as much as without. To share by prefix would
    cost a CRF of word features what sharing by label brings it.

    Args:
        tags: of spans, in the order of their ids.
    """
    labels = [None if tag == OUTSIDE else split_tag(tag)[1] for tag in tags]
    shares = (_OF_LABEL * _equal(labels)).fill_diagonal_(1.0)
    lengths: Tensor = shares.norm(dim=1, keepdim=True)
    return shares / lengths


def refuse_without_spans(config: Config, columns: Sequence[ColumnLabels]) -> None:
    """Refuse sharing among labels of single words, none of which has a relative.

    Args:
        config: resolved, whose tags are to share scores.
        columns: labels of several tag columns; empty for one.

    Raises:
        ConfigError: none of the tags is of spans.
    """
    schemes = [labels.learnt for labels in columns] or [training_scheme(config)]
    if not any(map(has_spans, schemes)):
        raise ConfigError(
            "head.tag_sharing = true",
            ["has no effect on labels of single words, only on tags of spans; leave it out"],
        )


def _equal(names: Sequence[Hashable]) -> Tensor:
    """(names, names) 1 where two of them are equal, else 0."""
    numbers = {name: number for number, name in enumerate(names)}
    ids = torch.tensor([numbers[name] for name in names])
    return (ids.unsqueeze(1) == ids).float()  # (names, 1) == (names,)


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
    return FeedbackOptions(
        cell=head.feedback_cell,
        cell_options=cell_options(EncoderConfig()),  # those of [encoder] are of its own cell
        hidden=head.feedback_hidden,
        tag_dim=head.tag_dim,
        beam=head.beam,
        sampling=sampling_of(head),
    )


def tag_predictions(
    context: ModelContext, output: ModelOutput, sentences: Sequence[Sentence]
) -> list[Prediction]:
    """Tags and spans of a batch's sentences, with probabilities if the output has them."""
    assert output.tag_ids is not None
    # One tolist() for the batch: reading a tensor number by number is a call of torch for each.
    predictions = []
    for row, (sentence, path) in enumerate(zip(sentences, output.tag_ids.tolist(), strict=True)):
        tags, spans = tags_and_spans(context, path[: len(sentence)])
        prediction = Prediction(sentence.words, tags, spans)
        if output.confidence is not None:
            prediction = with_probabilities(prediction, output.confidence, row)
        predictions.append(prediction)
    return predictions


def tags_and_spans(
    context: ModelContext, path: Sequence[int]
) -> tuple[tuple[str, ...], tuple[Span, ...]]:
    """A path of tag ids as tags in the scheme of the training corpus, and its spans."""
    return spelled(context.vocabulary.tags, context.config.data.scheme, path)


def spelled(
    labels: Sequence[str], scheme: str, path: Sequence[int]
) -> tuple[tuple[str, ...], tuple[Span, ...]]:
    """A path of tag ids as tags in a scheme, and its spans.

    Args:
        labels: tags in the order of their ids, in a training scheme.
        scheme: of the training corpus; `PLAIN` for plain labels, which mean no spans.
        path: of ids.
    """
    tags = tuple(labels[number] for number in path)
    if not has_spans(scheme):
        return tags, ()
    # The model predicts in the training scheme; users see the scheme of their own corpus.
    found = span_tuples(tags)
    own = from_span_tuples(found, len(tags), scheme)
    if scheme == IO:  # in which neighbours of one type are one span
        found = span_tuples(own)
    return own, tuple(Span(*place) for place in found)


def with_probabilities(prediction: Prediction, confidence: PathConfidence, row: int) -> Prediction:
    """The prediction with the probabilities of its tags and spans.

    A span's probability is that of all sequences of tags that have exactly this span.

    Raises:
        BundleError: a probability is not a number.
    """
    probs = confidence.probs[row, : len(prediction.words)].tolist()
    require_number(sum(probs))  # the sum is NaN or infinite if one of them is
    bounds = [(span.start, span.end) for span in prediction.spans]
    of_spans = confidence.span_probs(row, bounds)
    require_number(sum(of_spans))
    spans = tuple(
        replace(span, probability=probability)
        for span, probability in zip(prediction.spans, of_spans, strict=True)
    )
    return replace(prediction, spans=spans, probabilities=tuple(probs))


def gold_paths(
    context: ModelContext, sentences: Sequence[Sentence], mask: Tensor
) -> tuple[Tensor, list[list[bool]]]:
    """Gold tags of sentences as a path each, in the training scheme, and which of them exist.

    Args:
        context: the model.
        sentences: with tags, in the scheme of their corpus.
        mask: (batch, time) bool, True on their tokens.

    Returns:
        (batch, time) int64 on the mask's device, and for each token whether the model knows its
        tag: where it does not, the path has another one.
    """
    ids = {tag: number for number, tag in enumerate(context.vocabulary.tags)}
    learnt = training_scheme(context.config)
    rows = [convert(sentence.tags or (), learnt) for sentence in sentences]
    paths = torch.zeros(mask.shape, dtype=torch.int64)
    for row, tags in enumerate(rows):
        paths[row, : len(tags)] = torch.tensor([ids.get(tag, 0) for tag in tags])
    return paths.to(mask.device), [[tag in ids for tag in tags] for tags in rows]


def stretch_probabilities(
    confidence: PathConfidence,
    known: Sequence[Sequence[bool]],
    stretches: Sequence[Sequence[tuple[int, int]]],
) -> list[list[float]]:
    """How probable the tags of paths are in some stretches; 0 of tags that the model lacks.

    Args:
        confidence: of the paths.
        known: as `gold_paths` returns it.
        stretches: of each sentence: first token, and the token after the last one.

    Raises:
        BundleError: a probability is not a number.
    """
    found = []
    for row, (of_sentence, has) in enumerate(zip(stretches, known, strict=True)):
        probs = confidence.span_probs(row, of_sentence)
        require_number(sum(probs))
        found.append(
            [
                probability if all(has[start:end]) else 0.0
                for (start, end), probability in zip(of_sentence, probs, strict=True)
            ]
        )
    return found


def tag_alternatives(
    context: ModelContext, paths: Tensor, log_probs: Tensor, lengths: Sequence[int]
) -> list[list[Alternative]]:
    """The most probable sequences of tags of each sentence, with their probabilities.

    Args:
        context: the model.
        paths: (batch, count, time) tag ids, from `Head.n_best`.
        log_probs: (batch, count) of these; minus infinity of those that do not exist.
        lengths: number of words in each sentence.
    """
    return alternatives(partial(tags_and_spans, context), paths, log_probs, lengths)


def alternatives(
    read: Callable[[Sequence[int]], tuple[tuple[str, ...], tuple[Span, ...]]],
    paths: Tensor,
    log_probs: Tensor,
    lengths: Sequence[int],
) -> list[list[Alternative]]:
    """As `tag_alternatives`; `read` gives the tags and spans of a path."""
    found = []
    probs = log_probs.exp().tolist()
    for row, length in enumerate(lengths):
        require_number(sum(probs[row]))
        found.append(
            [
                Alternative(*read(path[:length]), probability, log_probability=log_prob)
                for path, log_prob, probability in zip(
                    paths[row].tolist(), log_probs[row].tolist(), probs[row], strict=True
                )
                if log_prob > -math.inf
            ]
        )
    return found
