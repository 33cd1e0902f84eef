"""Paths of tag ids -> tags, spans, alternatives. Probabilities of spans: tests/nn/heads."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from vocabularies import NO_FEATURES

from tagkit.config import load_config
from tagkit.models.output import ModelOutput
from tagkit.models.tag_decoding import tag_alternatives, tag_predictions, tags_and_spans
from tagkit.models.task import ModelContext
from tagkit.models.task_table import task_of
from tagkit.text.records import Sentence, Span

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
