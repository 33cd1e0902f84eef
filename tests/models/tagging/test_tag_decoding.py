"""Paths of tag ids -> tags, spans, alternatives. Probabilities of spans: tests/nn/heads."""

import math
from dataclasses import replace

import pytest
import torch
from tag_heads import path_scores
from torch import Tensor
from vocabularies import NO_FEATURES

from tagkit.config import load_config
from tagkit.models.base.output import ModelOutput
from tagkit.models.base.task_records import ModelContext
from tagkit.models.tagging.tag_decoding import (
    gold_paths,
    stretch_probabilities,
    tag_alternatives,
    tag_predictions,
    tags_and_spans,
)
from tagkit.models.tagging.tag_head import continuations
from tagkit.models.task_table import task_of
from tagkit.nn.crf.chain import Chain
from tagkit.nn.crf.confidence import span_confidence
from tagkit.text.records import Sentence, Span
from tagkit.text.schemes import convert

TAGS = ("O", "B-X", "E-X", "S-X", "I-X")


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
    tags, spans = tags_and_spans(context(scheme, "iobes", TAGS), [1, 2, 3, 0])
    assert tags == expected
    assert spans == (Span(0, 2, "X"), Span(2, 3, "X"))


@pytest.mark.parametrize("learnt", ["iob2", "iobes"])
def test_probabilities_of_stretches_are_those_of_all_paths(learnt: str) -> None:
    tags = ("O", "B-X", "I-X") if learnt == "iob2" else TAGS
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
    given = context("iob2", "iobes", TAGS)
    scores = Chain(torch.zeros(1, 3, 5), torch.zeros(5, 5), torch.zeros(5), torch.zeros(5),
                   torch.ones(1, 3).bool())  # fmt: skip
    sentence = Sentence(("a", "b", "c"), ("B-NEW", "O", "B-X"))
    places = [[(0, 1), (0, 2), (1, 2), (2, 3)]]
    paths, known = gold_paths(given, [sentence], scores.mask)
    assert known == [[False, True, True]]
    confidence = span_confidence(scores, paths, continuations(TAGS, "iobes"))
    (found,) = stretch_probabilities(confidence, known, places)
    assert found == pytest.approx([0, 0, 1 / 5, 1 / 5])


def test_plain_labels_mean_no_spans() -> None:
    plain = context("labels", "iobes", ("B-X", "NOUN"))
    assert tags_and_spans(plain, [0, 1]) == (("B-X", "NOUN"), ())


def test_tags_on_padding_are_left_out() -> None:
    sentences = [Sentence(("a", "b", "c")), Sentence(("d",))]
    output = ModelOutput(tag_ids=torch.tensor([[1, 2, 0], [3, 3, 3]]))
    found = tag_predictions(context("iob2", "iobes", TAGS), output, sentences)
    assert [prediction.tags for prediction in found] == [("B-X", "I-X", "O"), ("B-X",)]
    assert [prediction.words for prediction in found] == [("a", "b", "c"), ("d",)]
    assert all(prediction.probabilities is None for prediction in found)


def test_alternatives_of_a_short_sentence_are_all_its_legal_sequences_and_sum_to_one() -> None:
    model = context("iob2", "iobes", TAGS)
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
    model = context("iob2", "iobes", TAGS)
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
