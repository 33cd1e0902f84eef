"""Transitions between tags that a scheme allows, as scores for the heads."""

import torch
from torch import Tensor

from tagkit.config import Config, training_scheme
from tagkit.nn.heads import HEADS
from tagkit.nn.heads.tag_space import StepScores
from tagkit.text.schemes import OUTSIDE, PLAIN, has_spans, join_tag, may_follow, split_tag


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
