"""Language models that a new model reads with."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from language_parts import reader_of
from says import refuses

from tagkit.config import load_config, parse_saved, parse_toml
from tagkit.errors import DataError
from tagkit.features.batching.contextual_states import States
from tagkit.features.language_part import LanguagePart
from tagkit.models.bundle.bundle import save_bundle
from tagkit.text.records import Sentence
from tagkit.training.setup.language_models import (
    StateCache,
    cache_folder,
    load_contextual,
)

CPU = torch.device("cpu")
SENTENCES = [Sentence(("the", "cat")), Sentence(("a", "café", "sat", "on", "mats"))]


def saved(folder: Path, *options: str) -> str:
    part, _, model, vocabulary = reader_of("character", "forward", *options)
    save_bundle(folder, model, vocabulary, parse_saved(parse_toml(part.config.encode()), "x"), {})
    return str(folder)


def test_the_same_language_model_is_refused_twice_whatever_its_folder_is_called(
    tmp_path: Path,
) -> None:
    first, other = saved(tmp_path / "lm"), saved(tmp_path / "other", "encoder.hidden=8")
    copied = str(shutil.copytree(first, tmp_path / "copy"))

    def load(*paths: str) -> object:
        return load_contextual(
            load_config(None, [f"embeddings.contextual={json.dumps(paths)}"]), CPU
        )

    assert load(first, other) is not None
    for second in (first, copied):
        with refuses(DataError, "embeddings.contextual: ", f"{first} and {second}"):
            load(first, second)


PART = LanguagePart("lm", "0" * 64, 3, "task = 'language-model'", {"words": ["a"]})
ONE, TWO, THREE = Sentence(("a", "b")), Sentence(("a b",)), Sentence(("c",) * 5)


class Reader:
    """Gives numbers that tell sentences apart, and counts what it reads."""

    def __init__(self) -> None:
        self.read_sentences: list[Sentence] = []

    def __call__(self, sentences: Sequence[Sentence]) -> list[States]:
        self.read_sentences += sentences
        return [states_of(sentence) for sentence in sentences]


def states_of(sentence: Sentence) -> States:
    first = float(sum(map(ord, sentence.words[0])))
    return np.arange(3 * len(sentence), dtype=np.float32).reshape(-1, 3) + first


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TAGKIT_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


def contents(folder: Path) -> dict[str, bytes]:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_what_was_read_once_is_read_from_the_disk() -> None:
    reader = Reader()
    cache = StateCache(PART, CPU)
    assert cache.fill([ONE, TWO, ONE], reader) == 2
    assert reader.read_sentences == [ONE, TWO]  # of a repeated sentence one
    again = StateCache(PART, CPU)
    assert again.get(ONE) is None  # not before `fill` has asked for it
    assert again.fill([THREE, TWO, ONE], reader) == 1
    assert reader.read_sentences == [ONE, TWO, THREE]
    for sentence in (ONE, TWO, THREE):
        states = again.get(sentence)
        assert states is not None
        assert np.array_equal(states, states_of(sentence))
        assert not states.flags.writeable


def test_another_language_model_or_kind_of_device_has_states_of_its_own() -> None:
    reader = Reader()
    StateCache(PART, CPU).fill([ONE], reader)
    for part in (
        LanguagePart("lm", "1" * 64, 3, PART.config, PART.vocabulary),
        LanguagePart("lm", PART.sha256, 3, PART.config, {"words": ["b"]}),
        LanguagePart("lm", PART.sha256, 3, "other", PART.vocabulary),
    ):
        assert StateCache(part, CPU).fill([ONE], reader) == 1
    assert StateCache(PART, torch.device("cuda")).fill([ONE], reader) == 1
    # Where it was is not what it is.
    moved = LanguagePart("elsewhere", PART.sha256, 3, PART.config, PART.vocabulary)
    assert StateCache(moved, CPU).fill([ONE], reader) == 0


def test_a_damaged_part_is_read_again_and_stays(folder: Path) -> None:
    reader = Reader()
    StateCache(PART, CPU).fill([ONE, TWO], reader)
    (states,) = folder.rglob("states.f32")
    states.write_bytes(states.read_bytes()[:-1])
    (states.parents[1] / "notes").mkdir()
    (states.parents[1] / "letter.txt").write_text("not of the cache")
    before = contents(folder)
    cache = StateCache(PART, CPU)
    assert cache.fill([ONE, TWO], reader) == 2
    assert contents(folder).items() > before.items()
    found = cache.get(TWO)
    assert found is not None
    assert np.array_equal(found, states_of(TWO))
    assert StateCache(PART, CPU).fill([ONE, TWO], reader) == 0


def test_what_is_stopped_while_it_is_written_leaves_no_part(folder: Path) -> None:
    def stopped(sentences: Sequence[Sentence]) -> list[States]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        StateCache(PART, CPU).fill([ONE], stopped)
    assert contents(folder) == {}
    assert StateCache(PART, CPU).fill([ONE], Reader()) == 1


def test_an_error_of_the_language_model_is_not_one_of_the_disk(folder: Path) -> None:
    def failing(sentences: Sequence[Sentence]) -> list[States]:
        raise OSError("of the model")

    with refuses(OSError, "model"):
        StateCache(PART, CPU).fill([ONE], failing)
    assert contents(folder) == {}


def test_a_folder_that_cannot_be_written_is_named_with_the_remedy(folder: Path) -> None:
    folder.write_text("a file")
    with pytest.raises(DataError) as caught:
        StateCache(PART, CPU).fill([ONE], Reader())
    first, second = caught.value.lines
    assert str(folder) in first
    assert second == "States of language models are kept there; TAGKIT_CACHE names another folder"


def test_the_folder_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGKIT_CACHE", "/some/where")
    assert cache_folder() == Path("/some/where")
    monkeypatch.setenv("TAGKIT_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert cache_folder() == Path("/caches/tagkit")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "tagkit"
