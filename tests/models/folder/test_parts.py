"""What a model's folder holds beside the weights, and whether it belongs together.

Damaged parts: `bundle/test_bundle.py`; with altered parts: `e2e`.
"""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from says import Says, refuses
from vocabularies import NO_FEATURES, VOCABULARY

from tagkit.config import Config, load_config
from tagkit.errors import BundleError
from tagkit.models.base.calibration import ModelCalibration
from tagkit.models.folder.parts import (
    FORMAT_VERSION,
    check_affixes,
    check_classes,
    check_features,
    check_no_classes,
    check_no_tags,
    check_tags,
    copy_bundle,
    read_metadata,
    read_parts,
    read_whole,
    store_calibration,
)
from tagkit.storage import WEIGHTS
from tagkit.text.records import Span
from tagkit.text.schemes import OUTSIDE, from_spans

FIXTURES = Path(__file__).parents[2] / "fixtures" / "0.2.0"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    shutil.copytree(FIXTURES / "tag-crf" / "best", tmp_path / "model")
    return tmp_path / "model"


def test_the_parts_are_read_without_the_weights(model: Path) -> None:
    parts = read_parts(model)
    assert parts.config.task == "tag"
    assert parts.metadata["format_version"] == FORMAT_VERSION
    assert "O" in parts.vocabulary.tags
    (model / WEIGHTS).write_bytes(b"none")
    assert read_parts(model) == parts


def test_a_copy_is_the_same_model_and_takes_a_calibration_of_its_own(
    model: Path, tmp_path: Path
) -> None:
    copy_bundle(model, tmp_path / "copy")
    store_calibration(tmp_path / "copy", ModelCalibration({"tags": 2.0}, {"file": "dev"}))
    found = read_parts(tmp_path / "copy").metadata.pop("calibration")
    assert found == {"temperatures": {"tags": 2.0}, "fitted_on": {"file": "dev"}}
    store_calibration(tmp_path / "copy", None)
    assert read_metadata(tmp_path / "copy") == read_metadata(model)


@pytest.mark.parametrize("replaced", [0, 1, 2])
def test_what_was_replaced_while_it_was_read_is_read_again(model: Path, replaced: int) -> None:
    readings = []

    def read(path: Path) -> str:
        readings.append(path)
        if len(readings) <= replaced:
            store_calibration(path, ModelCalibration())
        raise BundleError("damaged")

    with pytest.raises(BundleError):
        read_whole(model, read)
    assert len(readings) == replaced + 1


SETTINGS, WORDS = Path("config.toml"), Path("vocabulary.json")
LABELS = ("", "X", "a-b", "B")

spans = st.lists(st.tuples(st.sampled_from(LABELS), st.integers(1, 4)), max_size=5)


def config(*options: str) -> Config:
    return load_config(overrides=["data.scheme=iob2", *options])


@given(spans, st.sampled_from(["iob2", "iobes", "bilou"]))
def test_tags_of_any_spans_agree_with_their_scheme(
    found: list[tuple[str, int]], scheme: str
) -> None:
    tags = {OUTSIDE}
    for label, length in found:
        tags |= set(from_spans([Span(0, length, label)], length, scheme))
    check_tags(config(f"data.train_scheme={scheme}"), tuple(sorted(tags)), SETTINGS, WORDS)


@pytest.mark.parametrize(
    ("scheme", "tags", "problem"),
    [
        ("iobes", ("O", "B-X"), Says("'E-X'", "'B-X'", "iobes")),
        ("iobes", ("O", "E"), Says("'B'", "'E'", "iobes")),
        ("bilou", ("O", "B-X", "L-Y"), Says("'L-X'", "'B-X'", "bilou")),
        ("iob2", ("O", "I-X", "B-Y"), Says("'B-X'", "'I-X'", "iob2")),
        ("iob2", ("B-X",), Says("tag O", "iob2")),
        ("iob2", ("O", "S-X"), Says("iob2")),
        ("iob2", (), Says("task = 'tag'")),
    ],
)
def test_tags_that_no_spans_of_the_scheme_have_are_refused(
    scheme: str, tags: tuple[str, ...], problem: Says
) -> None:
    with refuses(BundleError, "vocabulary.json", problem):
        check_tags(config(f"data.train_scheme={scheme}"), tags, SETTINGS, WORDS)


def test_weights_may_be_given_for_types_and_for_o() -> None:
    weighted = config("head.label_weights={X = 2.0, O = 0.5}", "data.train_scheme=iob2")
    check_tags(weighted, ("O", "B-X"), SETTINGS, WORDS)
    with refuses(BundleError, "config.toml", "head.label_weights", "'X'"):
        check_tags(weighted, ("O", "B-Y"), SETTINGS, WORDS)


def test_only_a_classifier_that_started_with_another_model_may_have_tags() -> None:
    check_no_tags(config("task=classify", "train.init_from=models/old"), VOCABULARY, WORDS)
    with refuses(BundleError, "'classify'"):
        check_no_tags(config("task=classify"), VOCABULARY, WORDS)


def test_what_follows_from_the_texts_is_decided_in_a_saved_configuration() -> None:
    check_no_classes(config(), VOCABULARY, WORDS)
    single = ("task=classify", "head.multi_label=no")
    check_classes(config(*single, "head.pooling=max"), ("a",), SETTINGS, WORDS)
    with refuses(BundleError, "head.multi_label", "'auto'", "'yes'", "'no'"):
        check_classes(config("task=classify"), ("a",), SETTINGS, WORDS)
    with refuses(BundleError, "head.pooling", "'auto'"):
        check_classes(config(*single), ("a",), SETTINGS, WORDS)


def test_every_feature_column_has_values() -> None:
    check_features(config(), NO_FEATURES, WORDS)
    with refuses(BundleError, "0", "1", "feature"):
        check_features(config(), VOCABULARY, WORDS)


def test_affixes_have_an_embedding() -> None:
    some = replace(VOCABULARY, affixes=("-s",))
    check_affixes(config("embeddings.affix_dim=9"), some, SETTINGS)
    for dim, shown in (("0", "0"), ("auto", "'auto'")):
        options = config(f"embeddings.affix_dim={dim}")
        check_affixes(options, VOCABULARY, SETTINGS)
        with pytest.raises(BundleError) as caught:
            check_affixes(options, some, SETTINGS)
        assert str(caught.value) == (Says("config.toml", "embeddings.affix_dim", shown, "0"))
