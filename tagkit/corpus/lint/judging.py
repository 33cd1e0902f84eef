"""The scheme of a file's tags where some of them are those of none."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tagkit.corpus.lint.spelling import variants
from tagkit.errors import SchemeError
from tagkit.text.schemes import (
    OUTSIDE,
    Detection,
    Step,
    detect_in,
    illegal_in,
    is_span_tag,
    may_follow,
)


@dataclass(frozen=True, slots=True)
class Judged:
    """What the tags of a file are.

    Attributes:
        detection: their scheme; steps from and to odd tags are not counted.
        odd: tags that are none of a span scheme, in a file of spans; empty for plain labels.
        is_named: whether the configuration names the scheme.
    """

    detection: Detection
    odd: frozenset[str]
    is_named: bool

    @property
    def scheme(self) -> str:
        """One of `SCHEMES`."""
        return self.detection.scheme

    def forbids(self, step: Step, scheme: str | None = None) -> bool:
        """Whether a step is illegal, in another scheme if that is named; not beside an odd tag."""
        return not self.odd.intersection(step) and not may_follow(*step, scheme or self.scheme)

    def steps_of(self, tags: Sequence[str]) -> Iterator[Step]:
        """The steps of a sentence, from its edge and to its edge."""
        return pairwise((OUTSIDE, *tags, OUTSIDE))

    def without_odd(self, tags: Sequence[str]) -> tuple[str, ...]:
        """The tags with O for odd ones, which mean no span."""
        return tuple(OUTSIDE if tag in self.odd else tag for tag in tags)

    def fits(self, steps: Counter[Step], scheme: str) -> int:
        """How many steps a scheme forbids, those beside odd tags left out."""
        return illegal_in(_beside_none(steps, self.odd), scheme)


def judge(steps: Counter[Step], named: str) -> Judged:
    """The scheme that `data.scheme` names, or the one that fits best.

    Args:
        steps: of all sentences of a file, as `count_steps` has them.
        named: a scheme, or "auto".
    """
    if named == "labels":
        return Judged(Detection("labels", steps.total(), 0), frozenset(), True)
    odd: frozenset[str] = frozenset()
    try:
        found = detect_in(steps)
        has_odd = named != "auto" and found.scheme == "labels"
    except SchemeError:
        has_odd = True
    if has_odd:
        odd = frozenset(tag for step in steps for tag in step if not is_span_tag(tag))
        found = detect_in(_beside_none(steps, odd))
    scheme = named if named != "auto" else found.scheme
    fit = _beside_none(steps, odd)
    return Judged(Detection(scheme, fit.total(), illegal_in(fit, scheme)), odd, named != "auto")


def _beside_none(steps: Counter[Step], odd: frozenset[str]) -> Counter[Step]:
    if not odd:
        return steps
    return Counter({step: count for step, count in steps.items() if not odd.intersection(step)})


def meant(odd: frozenset[str], tags: Counter[str], times: int) -> dict[str, str]:
    """For odd tags the tag that differs in case or punctuation alone, if it is far more frequent.

    Args:
        odd: tags of no scheme.
        tags: how often each tag of the file occurs.
        times: as frequent as the odd one must the other be.
    """
    return {
        other: one
        for one, other in variants(tags, plain=True)
        if other in odd and one not in odd and tags[one] >= times * tags[other]
    }
