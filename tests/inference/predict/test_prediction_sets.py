"""Sets of taggings and of classes, from a tiny model, beside all of its paths."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch
from kinds import BOTH, TAGS, answers_of
from says import Says
from tag_heads import path_scores

import tagkit
from tagkit.config import DataConfig
from tagkit.corpus.records.dataset import Split
from tagkit.errors import DataError
from tagkit.evaluation.scores.conformal import SetCalibration, scores
from tagkit.features.column_labels import ColumnLabels
from tagkit.inference.predict.prediction_sets import (
    probs_of,
    require_sets,
    taggings_of,
)
from tagkit.inference.predict.predictor import Predictor
from tagkit.inference.score.evaluate_sets import fit_sets, report_on_sets
from tagkit.inference.score.score import gold_split
from tagkit.models.base.calibration import ModelCalibration
from tagkit.text.records import Sentence
from tagkit.training.trainer import train

TEXT = "Ada Miller visits New York . Ben leaves Oslo ."


def calibrated(predictor: Predictor, sets: Mapping[str, SetCalibration]) -> Predictor:
    """The same model with these calibrations."""
    predictor.calibration = ModelCalibration(sets=sets)
    return predictor


def fixed(threshold: float, limit: int = 100) -> SetCalibration:
    """Of which every coverage has the same threshold."""
    return SetCalibration(200, 200, limit, (threshold,) * 99)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sets")


@pytest.fixture(scope="module")
def tagger(folder: Path) -> Predictor:
    """Trained for one epoch, so that it is not sure of anything."""
    options = "train.max_epochs=1", "data.train_scheme=iob2", "head.feature_crf=0"
    return train(tiny.config(folder, *options)).predictor


@pytest.fixture(scope="module")
def dev(folder: Path, tagger: Predictor) -> Split:
    return gold_split(tagger, str(folder / "dev.conll"), DataConfig())


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    folder = tmp_path_factory.mktemp("classes")
    files = tiny.classified(folder)
    return train(tiny.small(folder, "train.max_epochs=1", "task=classify", **files)).predictor


def every_path(predictor: Predictor, sentence: Sentence) -> list[tuple[float, tuple[str, ...]]]:
    """All sequences of tags with their probabilities, the most probable first, by enumeration."""
    ((_, batch),) = predictor._batches.read([sentence], 1)
    model: Any = predictor.model
    with torch.no_grad():
        states, _ = model.read(batch.tokens, batch.words)
        chain = model.head.chain(states, batch.tokens.mask)
        by_path = path_scores(replace(chain, emissions=chain.emissions.double()), 0)
    weights = {path: math.exp(score) for path, score in by_path.items() if score > -1e4}
    total, tags = sum(weights.values()), predictor.vocabulary.tags
    ranked = sorted(weights.items(), key=lambda each: -each[1])
    return [(weight / total, tuple(tags[number] for number in path)) for path, weight in ranked]


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.7, 0.95, 3.0])
def test_a_set_is_that_of_enumeration(tagger: Predictor, threshold: float) -> None:
    sentence = Sentence(("Ada", "visits", "Oslo"))
    everything = every_path(tagger, sentence)
    members = scores([probability for probability, _ in everything]) <= threshold
    calibrated(tagger, {"tags": fixed(threshold)})
    (found,) = tagger.predict_sets([sentence], 0.9)[0].tag_sets
    assert [each.tags for each in found.taggings] == [
        tags for (_, tags), member in zip(everything, members, strict=True) if member
    ]
    expected = [probability for probability, _ in everything][: len(found.taggings)]
    assert [each.probability for each in found.taggings] == pytest.approx(expected)
    assert not found.reached_limit


@pytest.mark.parametrize(("limit", "size", "reached"), [(1, 1, True), (5, 5, True), (80, 8, False)])
def test_a_set_that_reaches_the_limit_says_so(
    tagger: Predictor, limit: int, size: int, reached: bool
) -> None:
    # 0.1 for each rank after the first, and at most 1 of mass: 0.75 + 0.1 x 8 > 0.7 + mass
    calibrated(tagger, {"tags": fixed(50.0, limit)})
    sentence = Sentence(("Ada", "leaves")) if not reached else Sentence(("Ada", "visits", "Oslo"))
    (found,) = tagger.predict_sets([sentence], 0.9)[0].tag_sets
    expected = size if reached else len(every_path(tagger, sentence))
    assert (len(found.taggings), found.reached_limit) == (expected, reached)


def test_a_calibration_ranks_the_gold_tags_among_all_paths(tagger: Predictor, dev: Split) -> None:
    shares = np.random.default_rng(0).random(len(dev.sentences))
    found = []
    for sentence, share in zip(dev.sentences, shares, strict=True):
        ways = tagger.n_best(sentence, 100)
        ranks = [n for n, each in enumerate(ways) if each.tags == sentence.tags]
        if ranks:
            of_all = scores([each.probability for each in ways], share)
            found.append(float(of_all[ranks[0]]))
    (sets,) = fit_sets(tagger, dev).values()
    assert (sets.count, sets.found, sets.limit) == (20, len(found), 100)
    # ceil(21 x 0.5) = 11 and ceil(21 x 0.9) = 19
    assert sets.threshold(0.5) == pytest.approx(sorted(found)[10])
    assert sets.threshold(0.9) == pytest.approx(sorted(found)[18])


def test_a_temperature_is_in_the_calibration_and_in_the_sets(tagger: Predictor, dev: Split) -> None:
    calibrated(tagger, fit_sets(tagger, dev))
    sure = tagger.predict_sets(TEXT, 0.9)
    tagger.model.head.temperature = 3.0
    try:
        found = fit_sets(tagger, dev)["tags"]
        modest = tagger.predict_sets(TEXT, 0.9)
    finally:
        tagger.model.head.temperature = 1.0
    assert found.thresholds != fit_sets(tagger, dev)["tags"].thresholds
    # Without a new calibration the thresholds stay, and flatter probabilities make larger sets.
    for before, after in zip(sure.tag_sets, modest.tag_sets, strict=True):
        assert after.taggings[0].tags == before.taggings[0].tags
        assert len(after.taggings) >= len(before.taggings)


def test_each_sentence_of_a_text_has_its_set_with_offsets_in_the_text(
    tagger: Predictor, dev: Split
) -> None:
    calibrated(tagger, fit_sets(tagger, dev))
    found = tagger.predict_sets(TEXT, 0.95)
    plain = tagger.predict(TEXT)
    assert (found.text, found.spans, found.sentences) == (plain.text, plain.spans, plain.sentences)
    assert (len(found.tag_sets), found.coverage, found.class_set) == (2, 0.95, ())
    for tokens, each in zip(found.sentences, found.tag_sets, strict=True):
        assert tuple(token.tag for token in tokens) == each.taggings[0].tags
        for tagging in each.taggings:
            assert tagging.tagged is not None
            for span in tagging.tagged.spans:
                assert TEXT[span.start : span.end] == span.text
                assert tokens[0].start <= span.start < span.end <= tokens[-1].end
    several = tagger.predict_sets((text for text in [TEXT, "Ben leaves Oslo ."]), 0.95)
    assert several[0] == found
    words = [token.text for token in found.sentences[0]]
    assert tagger.predict_sets([iter(words)], 0.95) == tagger.predict_sets([words], 0.95)
    assert several[1].tag_sets[0].taggings[0].tags == found.tag_sets[1].taggings[0].tags


def test_a_report_on_sets_counts_the_gold_tags_in_them(tagger: Predictor, dev: Split) -> None:
    calibrated(tagger, fit_sets(tagger, dev))
    report = report_on_sets(tagger, dev, 0.8)["tags"]
    sets = [each.tag_sets[0].taggings for each in tagger.predict_sets(dev.sentences, 0.8)]
    holds = [
        any(each.tags == sentence.tags for each in found)
        for sentence, found in zip(dev.sentences, sets, strict=True)
    ]
    assert report.covered == np.mean(holds)
    assert report.mean_size == np.mean([len(found) for found in sets])
    assert report.covered >= 0.8  # on the very corpus of the calibration


def test_a_classifier_has_sets_of_classes(classifier: Predictor) -> None:
    assert classifier.answers.sets == ("classes",)
    data = classifier.config.data
    split = gold_split(classifier, str(data.dev_file), DataConfig())
    calibrated(classifier, fit_sets(classifier, split))
    assert classifier.calibration is not None
    assert classifier.calibration.sets["classes"].limit == 3
    report = report_on_sets(classifier, split, 0.9)["classes"]
    sets = [each.class_set for each in classifier.predict_sets(split.sentences, 0.9)]
    assert report.mean_size == np.mean([len(each) for each in sets])
    assert report.covered >= 0.9
    for each in sets:
        assert sorted(each, key=lambda score: -score.probability) == [*each]
    assert report.at_limit == np.mean([len(each) == 3 for each in sets])
    calibrated(classifier, {"classes": fixed(9.0, 3)})
    assert report_on_sets(classifier, split, 0.9)["classes"].at_limit == 1.0
    assert len(classifier.predict_sets("bring me tea", 0.9).class_set) == 3
    assert classifier.predict_sets("", 0.9).class_set == ()


def test_an_uncalibrated_model_is_refused(tagger: Predictor) -> None:
    tagger.calibration = None
    with pytest.raises(DataError) as error:
        tagger.predict_sets(TEXT, 0.9)
    assert str(error.value) == (
        "coverage=0.9: this model is not calibrated for sets: calibrate it (tagkit calibrate) "
        "with labelled text that it was not trained on"
    )


def test_a_model_without_sets_is_refused(
    tagger: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = tuple(ColumnLabels(name, "tags", "labels", "labels", {}) for name in ("A", "B"))
    assert answers_of(BOTH).sets == ("tags", "classes")
    assert answers_of(BOTH, several=True).sets == ("tags",)
    monkeypatch.setattr(tagger, "answers", answers_of(TAGS, columns=columns))
    with pytest.raises(DataError) as error:
        require_sets(tagger, 0.9)
    assert str(error.value) == (Says("coverage=0.9"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [("head.label_consistency=0.5",), ("encoder.context=document", "encoder.context_words=60")],
)
def test_later_looks_read_a_sentence_with_its_document_too(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    train(tiny.config(tmp_path, "train.max_epochs=2", "train.lr=0.005", *options))
    found = tagkit.load(tmp_path / "model", device="cpu")
    rows = [[line.split("\t")[0] for line in lines] for lines in tiny.lines(30, 9)]
    given = [Sentence(tuple(words), document=1 + n // 5) for n, words in enumerate(rows)]
    expected = found._alternatives(given, 8, batch_size=32)
    ranked = taggings_of(found, given, 8, lambda number, _: number % 3 != 0, 32)
    for number in range(0, 30, 3):  # those that needed a second look
        assert len(ranked[number]) > 2
        probs, wanted = probs_of(ranked[number]), probs_of(expected[number])
        assert probs == pytest.approx(wanted, abs=1e-6)
