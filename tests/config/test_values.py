"""Values that an option takes under several names, and those that it refuses."""

import pytest
from config_problems import problems
from says import Says

from tagkit.config import (
    load_config,
)
from tagkit.errors import ConfigError


@pytest.mark.parametrize(
    ("given", "scheme"),
    [("IOB", "iob1"), ("BIO", "iob2"), ("Bioes", "iobes"), ("BMES", "bmes"), ("BMESO", "bmes"),
     ("BILUO", "bilou"), ("IOB2", "iob2"), ("LABELS", "labels")],
)  # fmt: skip
def test_schemes_have_the_names_that_others_give_them(given: str, scheme: str) -> None:
    assert load_config(None, [f"data.scheme={given}"]).data.scheme == scheme


@pytest.mark.parametrize("name", ["auto", "cpu", "cuda", "cuda:0", "cuda:12"])
def test_devices_have_the_names_that_torch_gives_them(name: str) -> None:
    assert load_config(None, [f"train.device={name}"]).train.device == name


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:x", "cuda:-1", "cpu:0", "CUDA", ""])
def test_another_device_is_refused(name: str) -> None:
    assert problems(f"train.device={name}") == (
        Says("train.device", name, "'auto'", "'cpu'", "'cuda'", "'cuda:N'"),
    )


def test_an_encoding_must_be_one_of_text() -> None:
    for name in ("latin-1", "utf-16", "cp1252"):
        assert load_config(None, [f"data.encoding={name}"]).data.encoding == name
    for name in ("utf-9", "hex", "undefined", ""):
        assert problems(f"data.encoding={name}") == (Says("data.encoding", name, "'utf-8'"),)


def test_an_interval_of_thousands_of_digits_is_refused_in_our_words() -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(flags={"train.checkpoint_every": "9" * 5000})
    (problem,) = caught.value.problems
    assert Says("500", "'10m'") == problem
    assert len(problem) < 500
