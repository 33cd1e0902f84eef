"""Transitions that a scheme allows."""

import itertools

import pytest
import torch

from tagkit.config import load_config
from tagkit.models.tagging.constraints import continuations, illegal_steps, legal_scheme
from tagkit.text.schemes import OUTSIDE, may_follow

TAGS = ("O", "B-X", "E-X", "S-X", "I-X", "S-Y")


@pytest.mark.parametrize("scheme", ["iob2", "iobes", "bilou", "labels"])
def test_forbidden_steps_are_those_that_the_scheme_forbids(scheme: str) -> None:
    steps = illegal_steps(TAGS, scheme)
    for (i, before), (j, after) in itertools.product(enumerate(TAGS), repeat=2):
        assert (float(steps.transitions[i, j]) == 0) == may_follow(before, after, scheme)
    for i, tag in enumerate(TAGS):
        assert (float(steps.start[i]) == 0) == may_follow(OUTSIDE, tag, scheme)
        assert (float(steps.end[i]) == 0) == may_follow(tag, OUTSIDE, scheme)


def test_a_bare_prefix_is_another_label_than_any_name() -> None:
    tags = ("O", "B", "I", "B-X", "I-X")
    steps = illegal_steps(tags, "iob2").transitions
    for (i, before), (j, after) in itertools.product(enumerate(tags), repeat=2):
        assert (float(steps[i, j]) == 0) == may_follow(before, after, "iob2")
    assert float(steps[1, 2]) == 0
    assert float(steps[1, 4]) == -torch.inf


def test_on_the_meta_device_there_are_shapes_alone() -> None:
    with torch.device("meta"):
        steps = illegal_steps(TAGS, "iobes")
    assert steps.transitions.is_meta
    assert (steps.transitions.shape, steps.start.shape, steps.end.shape) == ((6, 6), (6,), (6,))


@pytest.mark.parametrize(
    ("kind", "constrain", "expected"),
    [
        ("crf", "auto", "iobes"),
        ("viterbi", "auto", "iobes"),
        ("softmax", "auto", "labels"),
        ("softmax", "decode", "iobes"),
        ("crf", "none", "labels"),
        ("crf", "train", "iobes"),
    ],
)
def test_decoding_is_constrained_by_the_training_scheme(
    kind: str, constrain: str, expected: str
) -> None:
    options = [f"head.kind={kind}", f"head.constrain={constrain}", "data.scheme=iob1"]
    assert legal_scheme(load_config(overrides=[*options, "data.train_scheme=iobes"])) == expected


def test_only_in_iob2_does_the_next_tag_say_whether_a_span_goes_on() -> None:
    tags = ("O", "B-X", "I-X", "B-Y", "I")  # no span of Y has two words; a bare prefix
    assert continuations(tags, "iob2").tolist() == [-1, 2, 2, -1, 4]
    assert continuations(TAGS, "iobes").tolist() == [-1] * 6
    assert continuations(("N", "V"), "labels").tolist() == [-1, -1]
