"""A classifier, a tagger or another language model that starts from a language model."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from says import Says, refuses
from torch import Tensor

from tagkit.config import Config, load_config
from tagkit.errors import ConfigError
from tagkit.inference.predict.predictor import load
from tagkit.models.bundle.bundle import Bundle, load_bundle
from tagkit.training.events.callbacks import Epoch, Listener
from tagkit.training.setup.setup import Prepared, prepare
from tagkit.training.trainer import train

pytestmark = pytest.mark.slow

TEXT = "".join(
    f"{who} {often} eat {food} at {hour} o'clock .\n"
    for hour in ("7", "12")
    for often in ("often", "never")
    for who, food in (("Cats", "fish"), ("Cows", "Grass"), ("Bees", "nectar"), ("Owls", "mice"))
)
CLASSES = "".join(
    f"{label}\t{who} eat {food} in Oslo .\n"
    for label, who, food in (("animal", "Cats", "mice"), ("plant", "Cows", "Grass")) * 6
)
TAGS = "".join(
    f"{who}\tNN\tB-WHO\neat\tVB\tO\n{food}\tNN\tO\n\n"
    for who, food in (("Cats", "fish"), ("Dogs", "mice"), ("Bees", "Nectar")) * 4
)
SIZES = (
    "embeddings.word_dim=6", "encoder.hidden=5", "encoder.layers=2", "train.max_epochs=1",
    "train.threads=1",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Corpora, and language models of each unit."""
    folder = tmp_path_factory.mktemp("base")
    for name, content in (("text.txt", TEXT), ("classes.tsv", CLASSES), ("tags.conll", TAGS)):
        (folder / name).write_text(content, encoding="utf-8")
    for name, options in (
        ("word", ()),
        ("character", ("data.unit=character",)),
        ("bpe", ("data.unit=bpe", "data.bpe_size=280")),
        ("backward", ("data.direction=backward",)),
        ("untied", ("embeddings.tied=false",)),
        ("weight-drop", ("encoder.weight_drop=0.5",)),
    ):
        flags = {"task": "language-model", "data.train_file": str(folder / "text.txt")}
        train(load_config(None, (*SIZES, *options), {**flags, "output.dir": str(folder / name)}))
    return folder


def config_from(folder: Path, base: str, task: str, output: Path, *options: str) -> Config:
    file = {"classify": "classes.tsv", "tag": "tags.conll", "language-model": "tags.conll"}[task]
    flags = {
        "task": task, "data.train_file": str(folder / file), "output.dir": str(output / "new"),
        "train.init_from": str(folder / base),
    }  # fmt: skip
    return load_config(None, ("train.max_epochs=1", "train.threads=1", *options), flags)


def prepared(config: Config) -> Prepared:
    torch.manual_seed(3)
    return prepare(config, torch.device("cpu"))


def weights(found: Prepared | Bundle) -> Mapping[str, Tensor]:
    return {name: each.detach().clone() for name, each in found.model.named_parameters()}


@pytest.mark.parametrize("base", ["word", "character", "bpe", "weight-drop"])
def test_a_classifier_has_the_vectors_of_all_known_units_and_the_encoder(
    base: str, folder: Path, tmp_path: Path
) -> None:
    found, old = (
        prepared(config_from(folder, base, "classify", tmp_path)),
        load_bundle(folder / base),
    )
    mine, theirs = weights(found), weights(old)
    table = "embed.words.trained.weight"
    known = len(old.vocabulary.words)
    assert found.vocabulary.words[:known] == old.vocabulary.words
    assert torch.equal(mine[table][: known + 2], theirs[table])
    layers = [name for name in theirs if name.startswith("encoder.")]
    assert len(layers) == 8  # two matrices and two biases a layer
    assert all(torch.equal(mine[name], theirs[name]) for name in layers)
    options = found.config
    assert (options.encoder.bidirectional, options.encoder.layers) == (False, 2)
    assert options.data.unit == old.config.data.unit
    assert (options.embeddings.lowercase, options.embeddings.normalize_digits) == (False, False)
    assert (options.embeddings.char_cell, options.embeddings.affix_dim) == ("none", 0)
    new = len(found.vocabulary.words) - known
    shown = "" if base in ("character", "bpe") else f", {new} words"
    expected = f"embeddings, encoder from {folder / base}; new: head of classes{shown}"
    assert found.started == expected


def test_a_tagger_may_add_characters_affixes_and_features_beside_the_words(
    folder: Path, tmp_path: Path
) -> None:
    more = (
        "embeddings.char_cell=gru", "embeddings.char_hidden=3", "embeddings.affix_dim=4",
        "data.feature_columns=[1]",
    )  # fmt: skip
    found = prepared(config_from(folder, "word", "tag", tmp_path, *more))
    mine, theirs = weights(found), weights(load_bundle(folder / "word"))
    first = "encoder.layers.0.forwards.weight_ih_l0"
    assert mine[first].shape == (20, 6 + 2 * 3 + 4 + 20)
    assert torch.equal(mine[first][:, :6], theirs[first])
    above = [name for name in theirs if name.startswith("encoder.") and name != first]
    assert all(torch.equal(mine[name], theirs[name]) for name in above)
    assert found.started.endswith("new: head of tags, characters, affixes, features, 2 words")
    named = [option for option in more if "feature" not in option]
    trained = train(config_from(folder, "word", "tag", tmp_path, *named))
    text = "Cats eat fish"
    again = load(tmp_path / "new").predict(text)
    assert again.tokens == trained.predictor.predict(text).tokens
    assert len(again.tokens) == 3


def test_a_language_model_goes_on_from_another_with_its_head(folder: Path, tmp_path: Path) -> None:
    (folder / "more.txt").write_text("Dogs eat fish .\nDogs never eat .\n", encoding="utf-8")
    for base in ("untied", "bpe", "character"):
        config = config_from(
            folder, base, "language-model", tmp_path, f"data.train_file={folder / 'more.txt'}"
        )
        found, old = prepared(config), load_bundle(folder / base)
        mine, theirs = weights(found), weights(old)
        assert mine.keys() == theirs.keys()
        for name, tensor in theirs.items():
            assert torch.equal(mine[name][tuple(map(slice, tensor.shape))], tensor), name
        assert found.vocabulary.units == old.vocabulary.units
        assert "encoder and head from" in found.started


class Watch(Listener):
    """Keeps the weights at the beginning and after each epoch."""

    found: list[Mapping[str, Tensor]]

    def on_start(self, prepared: Prepared, threads: int) -> None:
        """Keep the weights before the first step."""
        self.prepared, self.found = prepared, [weights(prepared)]

    def on_epoch(self, epoch: Epoch) -> None:
        """Keep those of the epoch."""
        self.found.append(weights(self.prepared))


@pytest.mark.parametrize(
    ("base", "task", "options", "message"),
    [
        ("character", "tag", (), Says("data.unit: ", "characters", "task = 'tag'")),
        ("backward", "classify", (), Says("data.direction: ", "backward", "forward")),
        ("word", "classify", ("embeddings.lowercase=true",),
         Says("embeddings.lowercase = True: ", "False")),
        ("word", "tag", ("embeddings.vectors=glove.txt",),
         Says("embeddings.vectors = 'glove.txt': ", "''")),
        ("word", "tag", ("encoder.bidirectional=true",),
         Says("encoder.bidirectional = True: ", "False")),
    ],
)  # fmt: skip
def test_what_contradicts_the_language_model_is_refused(
    base: str, task: str, options: tuple[str, ...], message: Says, folder: Path, tmp_path: Path
) -> None:
    with refuses(ConfigError, "train.init_from: ", folder / base, message):
        prepared(config_from(folder, base, task, tmp_path, *options))


def test_a_tagger_that_lowercases_cannot_begin_a_language_model(
    folder: Path, tmp_path: Path
) -> None:
    flags = {"task": "tag", "data.train_file": str(folder / "tags.conll")}
    train(load_config(None, SIZES, {**flags, "output.dir": str(folder / "tagger")}), force=True)
    with refuses(ConfigError, "embeddings.lowercase"):
        prepared(config_from(folder, "tagger", "language-model", tmp_path))
