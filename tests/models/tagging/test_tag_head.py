"""Shared scores of tags, steps that a scheme forbids, paths of ids -> tags, spans, alternatives."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import tiny
import torch
from hypothesis import given
from hypothesis import strategies as st
from marks import mostly_slow
from says import Says
from tag_heads import make_head, path_scores
from torch import Tensor
from vocabularies import NO_FEATURES

from tagkit.config import load_config
from tagkit.errors import ConfigError
from tagkit.models.base.output import ModelOutput
from tagkit.models.base.task_records import ModelContext
from tagkit.models.bundle.bundle import load_bundle
from tagkit.models.tagging.tag_head import (
    continuations,
    gold_paths,
    illegal_steps,
    legal_scheme,
    stretch_probabilities,
    tag_alternatives,
    tag_predictions,
    tag_sharing,
    tags_and_spans,
)
from tagkit.models.task_table import task_of
from tagkit.nn.crf.chain import Chain
from tagkit.nn.crf.confidence import span_confidence
from tagkit.nn.heads import HEADS
from tagkit.nn.heads.tagging import ChainHead
from tagkit.text.records import Sentence, Span
from tagkit.text.schemes import OUTSIDE, PLAIN, PREFIXES, convert, may_follow
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


OF_ONE_LABEL = ("O", "B-X", "E-X", "S-X", "I-X")


def context(scheme: str, train_scheme: str, tags: tuple[str, ...]) -> ModelContext:
    config = load_config(
        overrides=[f"data.scheme={scheme}", f"data.train_scheme={train_scheme}", "encoder.hidden=4",
                   "embeddings.word_dim=4", "embeddings.char_cell=none", "head.constrain=decode"]
    )  # fmt: skip
    vocabulary = replace(NO_FEATURES, tags=tags)
    torch.manual_seed(2)
    return ModelContext(task_of(config).build(config, vocabulary, None), vocabulary, config, True)


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        ("iob1", ("I-X", "I-X", "B-X", "O")),
        ("iob2", ("B-X", "I-X", "B-X", "O")),
        ("bilou", ("B-X", "L-X", "U-X", "O")),
        ("iobes", ("B-X", "E-X", "S-X", "O")),
    ],
)
def test_tags_are_in_the_scheme_of_the_corpus_and_spans_the_same_in_all(
    scheme: str, expected: tuple[str, ...]
) -> None:
    tags, spans = tags_and_spans(context(scheme, "iobes", OF_ONE_LABEL), [1, 2, 3, 0])
    assert tags == expected
    assert spans == (Span(0, 2, "X"), Span(2, 3, "X"))


@pytest.mark.parametrize("learnt", ["iob2", "iobes"])
def test_probabilities_of_stretches_are_those_of_all_paths(learnt: str) -> None:
    tags = ("O", "B-X", "I-X") if learnt == "iob2" else OF_ONE_LABEL
    given = context("iob2", learnt, tags)
    torch.manual_seed(3)
    mask = torch.tensor([[True] * 4, [True, True, False, False]])
    size = len(tags)
    scores = Chain(torch.randn(2, 4, size), torch.randn(size, size), torch.randn(size),
                   torch.randn(size), mask)  # fmt: skip
    sentences = [
        Sentence(("a", "b", "c", "d"), ("B-X", "I-X", "O", "B-X")),
        Sentence(("e", "f"), ("O", "B-X")),
    ]
    places = [[(0, 2), (0, 3), (3, 4), (2, 3), (0, 4)], [(0, 1), (1, 2)]]
    following = continuations(tags, learnt)
    gold_ids, known = gold_paths(given, sentences, mask)
    assert all(map(all, known))
    found = stretch_probabilities(span_confidence(scores, gold_ids, following), known, places)
    for row, (sentence, stretches) in enumerate(zip(sentences, places, strict=True)):
        gold = convert(sentence.tags or (), learnt)
        paths = path_scores(scores, row)
        total = sum(math.exp(each) for each in paths.values())
        for (start, end), probability in zip(stretches, found[row], strict=True):
            # Of all paths that have these tags there, and do not go on with the last span.
            going_on = int(following[tags.index(gold[end - 1])])
            wanted = sum(
                math.exp(each)
                for path, each in paths.items()
                if tuple(tags[number] for number in path[start:end]) == gold[start:end]
                and (end == len(path) or path[end] != going_on)
            )
            assert probability == pytest.approx(wanted / total, rel=1e-4)


def test_tags_that_the_model_does_not_know_are_impossible_and_leave_the_others_alone() -> None:
    given = context("iob2", "iobes", OF_ONE_LABEL)
    scores = Chain(torch.zeros(1, 3, 5), torch.zeros(5, 5), torch.zeros(5), torch.zeros(5),
                   torch.ones(1, 3).bool())  # fmt: skip
    sentence = Sentence(("a", "b", "c"), ("B-NEW", "O", "B-X"))
    places = [[(0, 1), (0, 2), (1, 2), (2, 3)]]
    paths, known = gold_paths(given, [sentence], scores.mask)
    assert known == [[False, True, True]]
    confidence = span_confidence(scores, paths, continuations(OF_ONE_LABEL, "iobes"))
    (found,) = stretch_probabilities(confidence, known, places)
    assert found == pytest.approx([0, 0, 1 / 5, 1 / 5])


def test_plain_labels_mean_no_spans() -> None:
    plain = context("labels", "iobes", ("B-X", "NOUN"))
    assert tags_and_spans(plain, [0, 1]) == (("B-X", "NOUN"), ())


def test_tags_on_padding_are_left_out() -> None:
    sentences = [Sentence(("a", "b", "c")), Sentence(("d",))]
    output = ModelOutput(tag_ids=torch.tensor([[1, 2, 0], [3, 3, 3]]))
    found = tag_predictions(context("iob2", "iobes", OF_ONE_LABEL), output, sentences)
    assert [prediction.tags for prediction in found] == [("B-X", "I-X", "O"), ("B-X",)]
    assert [prediction.words for prediction in found] == [("a", "b", "c"), ("d",)]
    assert all(prediction.probabilities is None for prediction in found)


def test_alternatives_of_a_short_sentence_are_all_its_legal_sequences_and_sum_to_one() -> None:
    model = context("iob2", "iobes", OF_ONE_LABEL)
    states: Tensor = torch.randn(2, 2, 8)
    mask = torch.tensor([[True, True], [True, False]])
    head = model.model.head
    with torch.no_grad():
        two, one = tag_alternatives(model, *head.n_best(states, mask, 50), [2, 1])
    assert {found.tags for found in one} == {("O",), ("B-X",)}
    assert {found.tags for found in two} == {
        ("O", "O"), ("O", "B-X"), ("B-X", "O"), ("B-X", "B-X"), ("B-X", "I-X"),
    }  # fmt: skip
    for found in (one, two):
        probabilities = [alternative.probability for alternative in found]
        assert probabilities == sorted(probabilities, reverse=True)
        # The chain of a constrained head has its constraints, so nothing is lost to illegal paths.
        assert sum(probabilities) == pytest.approx(1)


def test_a_temperature_changes_the_probabilities_of_alternatives_and_not_their_order() -> None:
    model = context("iob2", "iobes", OF_ONE_LABEL)
    states: Tensor = torch.randn(2, 2, 8)
    mask = torch.tensor([[True, True], [True, False]])
    with torch.no_grad():
        head = model.model.head
        raw = tag_alternatives(model, *head.n_best(states, mask, 50), [2, 1])
        head.temperature = 2.0
        hot = tag_alternatives(model, *head.n_best(states, mask, 50), [2, 1])
    for before, after in zip(raw, hot, strict=True):
        assert [each.tags for each in before] == [each.tags for each in after]
        # p ** (1 / T), normalised over all paths.
        roots = [each.probability**0.5 for each in before]
        expected = [root / sum(roots) for root in roots]
        assert [each.probability for each in after] == pytest.approx(expected)
