"""Laws of the table of codecs, for every row."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tagkit.config import Config, load_config
from tagkit.corpus.source.layout import NO_TAGS
from tagkit.evaluation.reports.column_report import ColumnsReport
from tagkit.features.column_labels import ColumnLabels, read_columns
from tagkit.models.base.output import ColumnOutput
from tagkit.models.columns.codecs import CODECS, codec_of
from tagkit.models.columns.codecs.codec import ColumnText, Decoded
from tagkit.text.json_text import from_json, to_json
from tagkit.text.records import Sentence

WORDS = [("Dogs", "barked", "."), ("Oslo",), ("He", "saw", "Oslo", "dogs")]
VALUES = {
    "tags": [("NOUN", "VERB", "PUNCT"), ("PROPN",), ("PRON", "VERB", "PROPN", "NOUN")],
    "features": [
        ("Number=Plur", "Tense=Past", "_"),
        ("Number=Sing",),
        ("Case=Nom|Number=Sing", "Tense=Past", "Number=Sing", "Number=Plur"),
    ],
    "lemmas": [("dog", "bark", "."), ("Oslo",), ("he", "see", "Oslo", "dog")],
}
LENGTHS = [3, 1, 4]


def config() -> Config:
    return load_config(overrides=["data.scheme=labels"])


def text(name: str) -> ColumnText:
    return ColumnText(WORDS, VALUES[name])


def labels_of(name: str) -> ColumnLabels:
    parts = CODECS[name].labels("labels", text(name))
    return ColumnLabels("COLUMN", name, "labels", "labels", parts)


def head_of(name: str, inputs: int = 6) -> nn.Module:
    torch.manual_seed(2)
    return CODECS[name].build(config(), labels_of(name), inputs, None)


def batch() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(8)
    mask = torch.arange(4) < torch.tensor(LENGTHS).unsqueeze(1)
    return torch.randn(3, 4, 6, generator=generator), mask


def targets_of(name: str) -> Tensor:
    flat = torch.from_numpy(CODECS[name].target(labels_of(name), text(name)))
    _, mask = batch()
    padded = torch.zeros((*mask.shape, *flat.shape[1:]), dtype=torch.int64)
    padded[mask] = flat
    return padded


def sentences() -> list[Sentence]:
    return [Sentence(words) for words in WORDS]


def test_a_row_is_for_columns_that_no_other_row_is_for() -> None:
    named = [column for codec in CODECS.values() for column in codec.columns]
    assert sorted(named) == sorted({*named}) == sorted(NO_TAGS)
    assert [codec_of(column) for column in ("UPOS", 2, "MISC.NER", "FEATS.Case")] == ["tags"] * 4
    assert (codec_of("FEATS"), codec_of("LEMMA")) == ("features", "lemmas")


@pytest.mark.parametrize("name", CODECS)
def test_gold_ids_are_decoded_to_the_gold_values(name: str) -> None:
    # The law of a codec: what it learns is the values, and nothing is lost on the way.
    ids = targets_of(name)
    output = ColumnOutput(ids.squeeze(2) if name == "lemmas" else ids)
    found = CODECS[name].decode(labels_of(name), output, sentences())
    assert [each.column.values for each in found] == VALUES[name]
    assert all(each.column.name == "COLUMN" for each in found)
    assert all(each.column.probabilities is None for each in found)


NEW = {"tags": ["ADJ"], "features": ["Number=Dual", "Gender=Fem"], "lemmas": ["Unsinn"]}


@pytest.mark.parametrize("name", CODECS)
def test_a_value_that_training_lacks_has_no_id(name: str) -> None:
    for new in NEW[name]:
        with pytest.raises(KeyError):
            CODECS[name].target(labels_of(name), ColumnText([("Oslo",)], [(new,)]))


@pytest.mark.parametrize("name", CODECS)
@torch.no_grad()
def test_loss_and_values_of_a_sentence_do_not_depend_on_its_padding(name: str) -> None:
    codec, head = CODECS[name], head_of(name)
    codec.set_constants(head, config(), labels_of(name))
    states, mask = batch()
    gold = targets_of(name)
    total, count = head(states, mask, gold)
    assert int(count) == sum(LENGTHS)
    together = codec.decode(
        labels_of(name), codec.output(head, states, mask, confidence=True), sentences()
    )
    losses = 0.0
    for row, length in enumerate(LENGTHS):
        part = slice(row, row + 1), slice(None, length)
        losses += float(head(states[part], mask[part], gold[part])[0])
        output = codec.output(head, states[part], mask[part], confidence=True)
        (alone,) = codec.decode(labels_of(name), output, [sentences()[row]])
        assert alone.column.values == together[row].column.values
        assert alone.column.probabilities == pytest.approx(together[row].column.probabilities)
    assert float(total) == pytest.approx(losses, rel=1e-5)
    spoilt = states.clone()
    spoilt[~mask] = torch.nan
    torch.testing.assert_close(head(spoilt, mask, gold)[0], total)
    again = codec.decode(
        labels_of(name), codec.output(head, spoilt, mask, confidence=False), sentences()
    )
    assert [e.column.values for e in again] == [e.column.values for e in together]


@pytest.mark.parametrize("name", CODECS)
def test_a_head_learns_its_values_and_every_parameter_gets_a_gradient(name: str) -> None:
    codec, head = CODECS[name], head_of(name)
    states, mask = batch()
    gold = targets_of(name)
    optimizer = torch.optim.Adam(head.parameters(), lr=0.1)
    for step in range(150):
        optimizer.zero_grad()
        head(states, mask, gold)[0].backward()
        if not step:
            for parameter, value in head.named_parameters():
                assert value.grad is not None, parameter
                assert value.grad.abs().sum() > 0, parameter
        optimizer.step()
    with torch.no_grad():
        output = codec.output(head, states, mask, confidence=True)
    found = codec.decode(labels_of(name), output, sentences())
    assert [each.column.values for each in found] == VALUES[name]
    for each in found:
        assert all(0.5 < p <= 1.000001 for p in each.column.probabilities or (0,))


@pytest.mark.parametrize("name", CODECS)
def test_labels_are_the_same_after_json(name: str) -> None:
    labels = labels_of(name)
    assert read_columns(from_json(to_json([labels.to_dict()]).encode())) == (labels,)
    # The order of parts is that of the head's rows.
    (read,) = read_columns(from_json(to_json([labels.to_dict()]).encode()))
    assert [*read.parts] == [*labels.parts]
    rows = CODECS[name].rows(labels)
    assert len(rows) == head_of(name).linear.out_features  # type: ignore[union-attr]
    assert len({*rows}) == len(rows)


@pytest.mark.parametrize("name", CODECS)
def test_a_report_has_the_metrics_of_its_codec_and_gold_itself_is_right(name: str) -> None:
    codec = CODECS[name]
    forms = frozenset({"Dogs", "Oslo", "."})
    report = codec.score(labels_of(name), text(name), VALUES[name], forms, strict=False)
    parts = ColumnsReport((report,)).parts()
    assert {f"COLUMN_{key}" for key in codec.metrics} <= parts.keys()
    assert all(value == 1 for value in parts.values())
    headline = parts[f"COLUMN_{next(iter(codec.metrics))}"]
    assert report.headline == headline
    assert (report.known.support, report.unknown.support) == (4, 4)


def test_ids_of_features_are_those_of_each_attribute() -> None:
    labels = labels_of("features")
    assert labels.parts == {
        "Case": ("-", "=Nom"),
        "Number": ("-", "=Sing", "=Plur"),
        "Tense": ("-", "=Past"),
    }
    expected = [[0, 2, 0], [0, 0, 1], [0, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 0], [0, 2, 0]]  # fmt: skip # noqa: E501
    found = CODECS["features"].target(labels, text("features"))
    assert np.array_equal(found, expected)


def test_a_combination_of_features_that_training_lacks_can_be_predicted() -> None:
    ids = torch.tensor([[[1, 2, 1]]])
    (found,) = CODECS["features"].decode(
        labels_of("features"), ColumnOutput(ids), [Sentence(("x",))]
    )
    assert found.column.values == ("Case=Nom|Number=Plur|Tense=Past",)


def test_the_probability_of_features_is_the_product_of_their_attributes() -> None:
    head = head_of("features")
    states, mask = batch()
    with torch.no_grad():
        output = CODECS["features"].output(head, states, mask, confidence=True)
        scores = head.scores(states, mask)  # type: ignore[operator]
    expected = 1.0
    for each in scores:
        expected *= float(torch.softmax(each[0, 1], 0).max())
    assert output.probs is not None
    assert float(output.probs[0, 1]) == pytest.approx(expected, rel=1e-5)


def test_of_lemmas_the_best_script_that_fits_the_form_is_applied() -> None:
    labels = ColumnLabels(
        "LEMMA", "lemmas", "labels", "labels", {"": ("L0;0;3;0;y", "=be", "L0;0;0;0;")}
    )
    codec = CODECS["lemmas"]
    probs = torch.tensor([[[0.7, 0.1, 0.2], [0.6, 0.3, 0.1]]])
    ids = torch.tensor([[0, 0]])
    output = ColumnOutput(ids, scores=probs.log(), label_probs=probs, probs=probs.amax(2))
    (found,) = codec.decode(labels, output, [Sentence(("tried", "is"))])
    # "is" has two characters, and the best script takes three away.
    assert found.column.values == ("try", "be")
    assert found.column.probabilities == pytest.approx((0.7, 0.3))


def test_a_form_that_no_script_fits_is_its_own_lemma() -> None:
    labels = ColumnLabels("LEMMA", "lemmas", "labels", "labels", {"": ("L0;0;3;0;y",)})
    output = ColumnOutput(torch.tensor([[0]]), scores=torch.ones(1, 1, 1))
    (found,) = CODECS["lemmas"].decode(labels, output, [Sentence(("Is",))])
    assert found.column.values == ("Is",)


@pytest.mark.parametrize("name", CODECS)
@torch.no_grad()
def test_a_temperature_changes_probabilities_and_no_value(name: str) -> None:
    codec, head = CODECS[name], head_of(name)
    codec.set_constants(head, config(), labels_of(name))
    states, mask = batch()

    def decoded() -> list[Decoded]:
        output = codec.output(head, states, mask, confidence=True)
        return codec.decode(labels_of(name), output, sentences())

    raw = decoded()
    head.temperature = 1e6  # every label is as probable as any other
    flat = decoded()
    assert [each.column.values for each in flat] == [each.column.values for each in raw]
    for one, other in zip(raw, flat, strict=True):
        assert one.column.probabilities is not None
        assert other.column.probabilities is not None
        assert sum(other.column.probabilities) < sum(one.column.probabilities)
    if name == "lemmas":  # one softmax over all scripts
        scripts = len(labels_of(name).parts[""])
        assert flat[0].column.probabilities == pytest.approx([1 / scripts] * LENGTHS[0], rel=1e-3)
