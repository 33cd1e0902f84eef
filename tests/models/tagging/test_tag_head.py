"""Tags of the same label, and tags with the same prefix, share a part of their scores."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
import tiny
import torch
from hypothesis import given
from hypothesis import strategies as st
from marks import mostly_slow
from says import Says
from tag_heads import make_head
from torch import Tensor

from tagkit.config import load_config
from tagkit.errors import ConfigError
from tagkit.models.bundle.bundle import load_bundle
from tagkit.models.tagging.tag_head import continuations, illegal_steps, legal_scheme, tag_sharing
from tagkit.nn.heads import HEADS
from tagkit.nn.heads.tagging import ChainHead
from tagkit.text.schemes import OUTSIDE, PLAIN, PREFIXES, may_follow
from tagkit.training.setup.setup import prepare
from tagkit.training.trainer import train

CPU = torch.device("cpu")
LINEAR = [name for name, head in HEADS.items() if issubclass(head, ChainHead)]


def shares(tags: Sequence[str], scheme: str = "iobes", option: str = "true") -> Tensor | None:
    options = [f"head.tag_sharing={option}", f"data.scheme={scheme}"]
    if scheme != PLAIN:
        options.append(f"data.train_scheme={scheme}")
    return tag_sharing(load_config(None, options), tags)


def test_a_tag_has_half_of_its_labels_others_and_three_tenths_of_its_prefixs() -> None:
    found = shares(["O", "B-PER", "E-PER", "B-LOC", "S-LOC"])
    assert found is not None
    expected = [
        [1, 0, 0, 0, 0],
        [0, 1, 0.5, 0.3, 0],
        [0, 0.5, 1, 0, 0],
        [0, 0.3, 0, 1, 0.5],
        [0, 0, 0, 0.5, 1],
    ]
    torch.testing.assert_close(found, torch.tensor(expected))


def test_of_many_tags_with_a_prefix_each_has_a_smaller_share() -> None:
    found = shares([f"B-{label}" for label in range(10)], "iob2")
    assert found is not None
    torch.testing.assert_close(found, torch.full((10, 10), 0.1).fill_diagonal_(1.0))


def test_o_is_nobodys_relative_also_where_a_label_is_called_o_or_has_no_name() -> None:
    for tags in (["O", "B-O", "I-O"], ["O", "B", "I"]):
        found = shares(tags, "iob2")
        assert found is not None
        assert found.tolist() == [[1, 0, 0], [0, 1, 0.5], [0, 0.5, 1]]


def test_labels_of_words_and_a_configuration_without_it_have_none() -> None:
    assert shares(["NOUN", "VERB"], PLAIN) is None
    assert shares(["B-PER", "I-PER"], "iob2", "false") is None
    assert shares(["B-PER", "I-PER"], "iob2", "auto") is None  # of a task without tags


def test_sharing_among_labels_of_words_alone_is_refused(tmp_path: Path) -> None:
    shared = "head.tag_sharing=true"
    # The column in the middle has a label of each word.
    refused = tiny.config(tmp_path, shared, "data.tag_column=1", columns=3)
    with pytest.raises(ConfigError) as found:
        prepare(refused, CPU)
    assert str(found.value) == (Says("head.tag_sharing"))
    # Of several columns one with spans is enough.
    both = tiny.config(tmp_path, shared, "data.tag_column=[1,2]", columns=3)
    heads = prepare(both, CPU).model.heads
    assert [head.sharing is None for head in heads] == [True, False]


@given(st.data())
def test_labels_and_prefixes_are_told_apart_in_every_scheme_of_training(
    data: st.DataObject,
) -> None:
    scheme = data.draw(st.sampled_from(["iob2", "iobes", "bilou"]))
    names = st.text("AB-", min_size=1, max_size=3)
    pairs = st.tuples(st.sampled_from(sorted(PREFIXES[scheme])), names)
    drawn = data.draw(st.lists(pairs, min_size=1, max_size=12, unique=True))
    found = shares([f"{prefix}-{label}" for prefix, label in drawn], scheme)
    assert found is not None
    for i, one in enumerate(drawn):
        for j, other in enumerate(drawn):
            others = sum(each[0] == one[0] for each in drawn) - 1  # with the same prefix
            of_prefix = min(0.3, 0.9 / others) if others and one[0] == other[0] else 0
            expected = 0.5 * (one[1] == other[1]) + of_prefix
            assert float(found[i, j]) == pytest.approx(1 if i == j else expected)


@pytest.mark.parametrize("kind", LINEAR)
def test_scores_are_a_tags_own_and_shares_of_its_relatives(kind: str) -> None:
    tags = ("O", "B-PER", "I-PER", "B-LOC")
    free = illegal_steps(tags, PLAIN)
    matrix = shares(tags, "iob2")
    head = make_head(kind, free, sharing=matrix)
    alone = make_head(kind, free)
    assert isinstance(head, ChainHead)
    assert isinstance(alone, ChainHead)
    states = torch.randn(2, 5, 3)
    own = alone.emissions(states)
    expected = own.clone()
    expected[..., 1] += 0.5 * own[..., 2] + 0.3 * own[..., 3]
    expected[..., 2] += 0.5 * own[..., 1]
    expected[..., 3] += 0.3 * own[..., 1]
    torch.testing.assert_close(head.emissions(states), expected)
    # All that a head computes has these scores: its loss is that of a head with them as its own.
    with torch.no_grad():
        alone.linear.weight.copy_(matrix @ alone.linear.weight)
        alone.linear.bias.copy_(matrix @ alone.linear.bias)
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    gold = torch.tensor([[0, 1, 2, 3, 0], [3, 0, 1, 0, 0]])
    for one, other in zip(
        head.loss(states, mask, gold), alone.loss(states, mask, gold), strict=True
    ):
        torch.testing.assert_close(one, other)
    assert torch.equal(head.decode(states, mask), alone.decode(states, mask))


def test_what_one_tag_learns_its_relatives_learn_in_part() -> None:
    tags = ("O", "B-PER", "I-PER", "B-LOC")
    head = make_head("softmax", illegal_steps(tags, PLAIN), sharing=shares(tags, "iob2"))
    assert isinstance(head, ChainHead)
    state = torch.ones(1, 1, 3)
    head.emissions(state)[0, 0, 2].backward()  # of I-PER alone
    assert head.linear.bias.grad is not None
    assert head.linear.bias.grad.tolist() == pytest.approx([0, 0.5, 1, 0])


@pytest.mark.parametrize("option", mostly_slow(["true", "false"], always=1))
def test_a_model_that_is_loaded_scores_as_the_trained_one(tmp_path: Path, option: str) -> None:
    trained = train(tiny.config(tmp_path, "train.max_epochs=2", f"head.tag_sharing={option}"))
    loaded = load_bundle(tmp_path / "model")
    head, other = loaded.model.head, trained.predictor.model.head
    assert (head.sharing is None) == (option == "false")
    states = torch.randn(1, 4, head.inputs)
    assert torch.equal(head.emissions(states), other.emissions(states))


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
