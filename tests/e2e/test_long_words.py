"""Words of any length: bounded memory, the same answers up to the bound; models keep their rule."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from peaks import peak_mb
from redigesting import redigest
from runs import StopAt
from vocabularies import NO_FEATURES

import tagkit
from tagkit.errors import Interrupted
from tagkit.features.batching import encoding
from tagkit.features.batching.encoding import encode, encode_words
from tagkit.features.vocabulary import CHARS_AT_EACH_END
from tagkit.inference.predict import sentence_batches
from tagkit.inference.predict.predictor import Predictor
from tagkit.inference.predict.sentence_batches import WordCache
from tagkit.text.records import Sentence
from tagkit.training.folder import run_folder as runfolder
from tagkit.training.trainer import train

END = CHARS_AT_EACH_END


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tiny.config(tmp_path_factory.mktemp("long"), "train.max_epochs=1")).folder


@pytest.fixture(scope="module")
def predictor(folder: Path) -> Predictor:
    return tagkit.load(folder, device="cpu")


def test_of_a_long_word_the_characters_at_its_ends_are_read() -> None:
    vocabulary = replace(NO_FEATURES, chars=("a", "b", "c"))
    whole = "a" * END + "b" * END
    assert vocabulary.char_ids(whole) == [2] * END + [3] * END
    assert vocabulary.char_ids("a" * END + "c" + "b" * END) == vocabulary.char_ids(whole)
    assert vocabulary.char_ids("a" * END + "c" * 10_000 + "b" * END) == vocabulary.char_ids(whole)
    assert vocabulary.char_ids("c" + whole) != vocabulary.char_ids(whole)


def test_what_is_in_the_middle_of_a_long_word_changes_nothing(predictor: Predictor) -> None:
    ends = "Ada" * END, "Rome" * END
    one, two = (f"{ends[0]}{middle}{ends[1]}" for middle in ("x", "yz" * 5000))
    found = [predictor.predict([["Ada", word, "."]], confidence=True)[0] for word in (one, two)]
    assert [t.tag for t in found[0].tokens] == [t.tag for t in found[1].tokens]
    one_s, two_s = ([token.probability for token in text.tokens] for text in found)
    assert one_s == pytest.approx(two_s, abs=1e-6)
    assert found[1].tokens[1].text == two  # the word itself is whole


def test_many_long_words_are_read_in_groups_of_bounded_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = [f"{n:0250}" for n in range(40)] + ["a"]
    whole = encode([Sentence(tuple(words))], NO_FEATURES, {}, chars=True).batch([0]).words
    monkeypatch.setattr(encoding, "_GROUP_CHARS", 1000)
    cut = encode([Sentence(tuple(words))], NO_FEATURES, {}, chars=True).batch([0]).words
    assert all(group.size <= 1000 for group in cut.char_ids)
    assert (len(whole.char_ids), len(cut.char_ids)) == (1, 11)
    assert np.array_equal(np.concatenate(cut.char_ids), whole.char_ids[0])


def test_groups_of_usual_words_are_as_they_were() -> None:
    words = [f"w{n}" for n in range(4000)]
    found = encode_words(words, NO_FEATURES, chars=True).words(np.arange(4000))[0]
    assert [len(group) for group in found.char_ids] == [1000, 3000]


def test_the_words_that_are_kept_have_a_bounded_number_of_characters(
    predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentence_batches, "_MAX_CHARS", 1000)
    table = WordCache(predictor.model, predictor.vocabulary, torch.device("cpu"), "fp32")
    for number in range(30):
        word = f"{number:0300}"
        assert table.rows(["Ada", word]).tolist()[0] == 0
        assert sum(map(len, table._rows)) <= 1000
    assert table.rows(["Ada", f"{29:0300}"]).tolist() == table.rows(["Ada", f"{29:0300}"]).tolist()


def test_a_model_keeps_the_tokenizer_that_it_was_trained_with(folder: Path, tmp_path: Path) -> None:
    new = tagkit.load(folder)
    assert new.config.data.tokenizer == "multilingual"
    assert [token.text for token in new.predict("我是Ada。").tokens] == ["我", "是", "Ada", "。"]
    for saved in ('tokenizer = "syntok"\n', ""):  # the latter before it could be chosen
        model = tmp_path / f"old{len(saved)}"
        shutil.copytree(folder / "best", model)
        config = (model / "config.toml").read_text(encoding="utf-8")
        assert 'tokenizer = "multilingual"\n' in config
        config = config.replace('tokenizer = "multilingual"\n', saved)
        (model / "config.toml").write_text(config, encoding="utf-8")
        redigest(model)
        old = tagkit.load(model)
        assert old.config.data.tokenizer == "syntok"
        assert [token.text for token in old.predict("我是Ada。").tokens] == ["我是Ada", "。"]


def test_a_run_that_began_with_another_default_goes_on_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny.config(tmp_path, "train.max_epochs=2", "data.tokenizer=syntok")
    stop = StopAt(3)
    with pytest.raises(Interrupted):
        train(config, stop, stop=stop.stop)
    resumed = train(tiny.small(tmp_path, "train.max_epochs=2"), resume=True)
    assert resumed.predictor.config.data.tokenizer == "syntok"
    asked = tiny.small(tmp_path, "train.max_epochs=2", "data.tokenizer=blanks")
    found = runfolder.RunFolder(resumed.folder, writes=True).resumed_config(asked)
    assert found.data.tokenizer == "blanks"


def peak_of(folder: Path, path: Path, kind: str) -> float:
    return peak_mb("predict", str(folder), str(path), "-o", f"{path}.out", "--input-format", kind,
                   "--threads=1")  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["text", "columns"])
def test_memory_of_prediction_does_not_grow_with_a_words_length(
    folder: Path, tmp_path: Path, kind: str
) -> None:
    peaks = {}
    for length in (10, 3_000_000):
        path = tmp_path / f"{length}.{kind}"
        word = "a" * length
        lines = f"Fly\nto\n{word}\n\n" if kind == "columns" else f"Fly to {word}.\n"
        path.write_text(lines, encoding="utf-8")
        peaks[length] = peak_of(folder, path, kind)
        assert word in Path(f"{path}.out").read_text(encoding="utf-8")
    assert peaks[3_000_000] - peaks[10] < 60  # a few copies of the text; the network had 6,000
