"""A trained mix of a language model's layers: training, prediction, save and load."""

import json
from pathlib import Path

import pytest
import torch
from language_parts import save_parts
from says import refuses
from small_runs import of_task

from tagkit.config import Config
from tagkit.errors import ConfigError
from tagkit.features.batching.batch import Batch
from tagkit.features.batching.encoding import Encoded
from tagkit.inference.predict.predictor import Predictor, load
from tagkit.models.base.device import to_tensors
from tagkit.nn.layers.embedding import ContextualInput
from tagkit.text.records import Sentence
from tagkit.training.setup.setup import Prepared, prepare
from tagkit.training.trainer import train

CPU = torch.device("cpu")
WIDE = ("encoder.hidden=5", "encoder.layers=2")  # embeddings and two layers, of 5 values each


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGKIT_CACHE", str(tmp_path / "cache"))


def settings(folder: Path, *options: str, parts: tuple[str, ...] = WIDE) -> Config:
    names = [f"character-{each}" for each in ("forward", "backward")]
    if not (folder / names[0]).exists():
        save_parts(folder, "character", *parts)
    paths = json.dumps([str(folder / name) for name in names])
    mixed = ["embeddings.contextual_layers=mix", *options]
    return of_task(folder, "tag", f"embeddings.contextual={paths}", *mixed)


def prepared(config: Config) -> Prepared:
    torch.manual_seed(1)
    return prepare(config, CPU)


def batch_of(run: Prepared, count: int) -> Batch[torch.Tensor]:
    assert isinstance(run.encoded, Encoded)
    return to_tensors(run.encoded.batch(range(count)))


def mix_of(model: torch.nn.Module) -> ContextualInput:
    return next(each for each in model.modules() if isinstance(each, ContextualInput))


def test_every_scalar_is_trained(tmp_path: Path) -> None:
    run = prepared(settings(tmp_path))
    mix = mix_of(run.model)
    assert (mix.mixes, mix.outputs) == (((3, 5), (3, 5)), 10)
    run.model(batch_of(run, 20))[0].backward()
    for name, each in mix.named_parameters():
        assert each.grad is not None, name
        assert bool((each.grad != 0).all()), name


def test_alone_in_a_batch_and_after_save_and_load_answers_are_the_same(tmp_path: Path) -> None:
    trained = train(settings(tmp_path))
    weights = mix_of(trained.predictor.model).weights
    assert all(bool(each.any()) for each in weights)  # they began at 0
    loaded = load(trained.folder, device="cpu")
    sentences = [Sentence(each.words) for each in prepared(settings(tmp_path)).corpus.dev.sentences]
    together = trained.predictor.annotate(sentences, confidence=True)
    for sentence, expected in zip(sentences, together, strict=True):
        (found,) = loaded.annotate([sentence], confidence=True)
        assert found.tags == expected.tags
        assert found.probabilities == pytest.approx(expected.probabilities, abs=1e-4)


def test_cached_inference_equals_the_plain_network(tmp_path: Path) -> None:
    run = prepared(settings(tmp_path))
    with torch.no_grad():
        for each in mix_of(run.model).parameters():
            each.normal_()
    sentences = run.corpus.train.sentences[:6]
    plain, _ = run.model.eval().read_batch(batch_of(run, 6))
    predictor = Predictor(run.model, run.vocabulary, run.config, CPU, keep_words=True)
    for places, batch in predictor._batches.read(sentences, 6):
        with torch.inference_mode():
            states, _ = batch.read(run.model)
        for row, place in enumerate(places):
            length = len(sentences[place])
            torch.testing.assert_close(
                states[row, :length], plain[place, :length], atol=1e-5, rtol=1e-4
            )


def test_of_one_layer_the_mix_is_this_layer_scaled(tmp_path: Path) -> None:
    run = prepared(settings(tmp_path, parts=()))  # embeddings of 5 values, one layer of 7
    mix = mix_of(run.model)
    assert mix.mixes == ((1, 7), (1, 7))
    states = torch.randn(2, 3, 14)
    torch.testing.assert_close(mix(states), states)
    with torch.no_grad():
        mix.scales.fill_(2)
    torch.testing.assert_close(mix(states), 2 * states)


def test_the_topmost_layer_and_the_mix_share_no_cache(tmp_path: Path) -> None:
    for layers, values in (("mix", 30), ("top", 10), ("mix", 30)):
        run = prepared(settings(tmp_path, f"embeddings.contextual_layers={layers}"))
        states = batch_of(run, 1).tokens.contextual
        assert states is not None
        assert states.shape[2] == values


def test_without_language_models_there_is_nothing_to_mix(tmp_path: Path) -> None:
    config = of_task(tmp_path, "tag", "embeddings.contextual_layers=mix")
    with refuses(ConfigError, "embeddings.contextual_layers", "embeddings.contextual = []"):
        train(config)
