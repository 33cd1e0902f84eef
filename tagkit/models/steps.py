"""Which steps between tags a scheme allows, as scores for the heads."""

import torch
from torch import Tensor

from tagkit.config import Config, training_scheme
from tagkit.nn.heads import HEADS
from tagkit.nn.heads.tagging import StepScores
from tagkit.text.schemes import OUTSIDE, PLAIN, has_spans, join_tag, may_follow, split_tag


def legal_scheme(config: Config) -> str:
    """The scheme whose steps alone are legal; `PLAIN` where all are."""
    constrain = config.head.constrain
    by_default = HEADS[config.head.kind].constrained_by_default
    if constrain == "none" or (constrain == "auto" and not by_default):
        return PLAIN
    return training_scheme(config)


def illegal_steps(tags: tuple[str, ...], scheme: str) -> StepScores:
    """Minus infinity on every step that the scheme forbids, 0 on the others."""
    size = len(tags)
    free = StepScores(torch.zeros(size, size), torch.zeros(size), torch.zeros(size))
    if not has_spans(scheme) or free.start.is_meta:  # an outline of a model has shapes alone
        return free

    def score(before: str, after: str) -> float:
        return 0.0 if may_follow(before, after, scheme) else -torch.inf

    # A prefix, and whether two labels are the same, decide: few pairs to look at, not tags squared.
    parts = [(None, "") if tag == OUTSIDE else split_tag(tag) for tag in tags]
    kinds = list(dict.fromkeys(prefix for prefix, _ in parts))
    labels = {label: number for number, (_, label) in enumerate(parts)}
    same, other = (
        torch.tensor([[score(_example(a, "x"), _example(b, label)) for b in kinds] for a in kinds])
        for label in ("x", "y")
    )
    kind_ids = torch.tensor([kinds.index(prefix) for prefix, _ in parts])
    label_ids = torch.tensor([labels[label] for _, label in parts])
    return StepScores(
        torch.where(
            label_ids.unsqueeze(1) == label_ids,
            same[kind_ids][:, kind_ids],
            other[kind_ids][:, kind_ids],
        ),
        torch.tensor([score(OUTSIDE, tag) for tag in tags]),
        torch.tensor([score(tag, OUTSIDE) for tag in tags]),
    )


def _example(prefix: str | None, label: str) -> str:
    """A tag with this prefix; None is that of O."""
    return OUTSIDE if prefix is None else f"{prefix}-{label}"


def continuations(tags: tuple[str, ...], scheme: str) -> Tensor:
    """Of each tag the one that would continue its span, where only the next tag tells: IOB2."""
    ids = {tag: number for number, tag in enumerate(tags)}
    following = [-1] * len(tags)
    if scheme == "iob2":
        for tag, number in ids.items():
            if tag != OUTSIDE:
                following[number] = ids.get(join_tag("I", split_tag(tag)[1]), -1)
    return torch.tensor(following)
