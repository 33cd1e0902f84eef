"""A prediction's tags in any scheme."""

import pytest
from says import refuses

from tagkit.config import Config
from tagkit.errors import ConfigError
from tagkit.models.tagging.tag_scoring import tags_in
from tagkit.text.records import Prediction, Span

FOUND = Prediction(("in", "New", "York"), ("O", "B-LOC", "I-LOC"), spans=(Span(1, 3, "LOC"),))


@pytest.mark.parametrize(
    ("scheme", "tags"),
    [
        ("iob2", ("O", "B-LOC", "I-LOC")),
        ("BIO", ("O", "B-LOC", "I-LOC")),
        ("iob1", ("O", "I-LOC", "I-LOC")),
        ("iobes", ("O", "B-LOC", "E-LOC")),
        ("BILOU", ("O", "B-LOC", "L-LOC")),
        ("BMES", ("O", "B-LOC", "E-LOC")),
        ("labels", ("O", "B-LOC", "I-LOC")),
    ],
)
def test_spans_are_spelled_in_each_scheme(scheme: str, tags: tuple[str, ...]) -> None:
    assert tags_in(Config(), FOUND, scheme) == tags


@pytest.mark.parametrize("scheme", ["foo", None, 5, ""])
def test_a_scheme_that_there_is_none_of_is_refused(scheme: object) -> None:
    with refuses(ConfigError, "scheme"):
        tags_in(Config(), FOUND, scheme)  # type: ignore[arg-type]


def test_a_model_of_classes_has_no_tags_in_any_scheme() -> None:
    assert tags_in(Config(), Prediction(("a", "b"), ()), "iob2") == ()
