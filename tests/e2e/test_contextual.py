"""Models that read the states of language models: training, prediction, streaming, resuming."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from language_parts import save_parts
from marks import mostly_slow
from program import Program
from redigesting import redigest
from runs import digests, whole_and_stopped
from says import refuses
from small_runs import TASKS, of_task

from tagkit.config import Config, load_config
from tagkit.errors import BundleError, ConfigError, DataError
from tagkit.features.batching.contextual_states import States
from tagkit.inference.predict.predictor import Predictor, load
from tagkit.models.base.device import to_tensors
from tagkit.models.bundle.language_reader import LanguageReader
from tagkit.text.records import Sentence, TaggedText
from tagkit.training.setup.language_models import CachedReader
from tagkit.training.setup.setup import Prepared, prepare
from tagkit.training.trainer import train

CPU = torch.device("cpu")
OPTIONS = [[], ["embeddings.contextual_dim=6", "encoder.layers=2"]]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TAGKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def named(paths: Sequence[str]) -> str:
    return f"embeddings.contextual={json.dumps([*paths])}"


def settings(folder: Path, *options: str, task: str = "tag", unit: str = "character") -> Config:
    parts = [] if (folder / f"{unit}-forward").exists() else save_parts(folder, unit)
    paths = parts or [str(folder / f"{unit}-{each}") for each in ("forward", "backward")]
    return of_task(folder, task, named(paths), *options)


def prepared(folder: Path, *options: str, **what: str) -> Prepared:
    torch.manual_seed(1)
    return prepare(settings(folder, *options, **what), CPU)


def predictor_of(run: Prepared) -> Predictor:
    return Predictor(run.model, run.vocabulary, run.config, CPU)


def unlabelled(run: Prepared) -> list[Sentence]:
    return [
        Sentence(sentence.words, features=sentence.features)
        for sentence in run.corpus.dev.sentences
    ]


@pytest.mark.parametrize("options", OPTIONS, ids=len)
@pytest.mark.parametrize("task", mostly_slow(TASKS, always=0))
def test_each_parameter_has_a_gradient_and_the_language_models_have_none(
    tmp_path: Path, task: str, options: list[str]
) -> None:
    run = prepared(tmp_path, *options, task=task)
    batch = to_tensors(run.encoded.batch(np.arange(8)))
    assert batch.tokens.contextual is not None
    assert batch.tokens.contextual.shape == (*batch.tokens.mask.shape, 14)
    total, _ = run.task.loss(run.model, batch)
    total.backward()
    for name, weights in run.model.named_parameters():
        assert weights.grad is not None, name
        assert not name.startswith("contextual.")
    assert isinstance(run.model.contextual, CachedReader)
    for reader in run.model.contextual.readers:
        assert all(weights.grad is None for weights in reader.model.parameters())
    # The input weights of the states in particular, and not by chance alone.
    (first, *_) = run.model.encoder.stack()
    gradients = [w.grad for n, w in first.named_parameters() if n.endswith("weight_ih_l0")]
    start = run.model.embed.contextual_start
    assert all(grad is not None and (grad[:, start:] != 0).any() for grad in gradients)


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=len)
@pytest.mark.parametrize("task", TASKS)
def test_a_saved_model_is_complete_and_answers_as_the_one_that_was_trained(
    tmp_path: Path, task: str, options: list[str]
) -> None:
    config = settings(tmp_path, *options, task=task)
    trained = train(config)
    for path in config.embeddings.contextual:
        shutil.rmtree(path)
    shutil.rmtree(tmp_path / "cache")
    model = load(tmp_path / "model")
    assert model.model.contextual is not None
    assert [part.path for part in model.model.contextual.parts] == [*config.embeddings.contextual]
    metadata = json.loads((tmp_path / "model" / "best" / "metadata.json").read_text())
    assert [each["path"] for each in metadata["contextual"]] == [*config.embeddings.contextual]
    # The report of training was made with states from the disk.
    dev = model.task.read(config).dev
    assert model.score(dev).to_dict() == trained.dev.to_dict()
    assert not (tmp_path / "cache").exists()  # prediction writes nothing


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("tag", []),
        ("tag", ["encoder.context=document"]),
        ("tag", ["encoder.layers=2", "encoder.connection=residual"]),
        ("tag", ["encoder.cell=transformer", "encoder.heads=2"]),
        ("tag", ["head.kind=softmax", "encoder.cell=gru", "embeddings.contextual_dim=5"]),
        ("both", []),
        ("classify", ["head.pooling=attention"]),
        ("columns", []),
    ],
    ids=str,
)
def test_alone_in_a_batch_and_streamed_the_answers_are_the_same(
    tmp_path: Path, task: str, options: list[str]
) -> None:
    run = prepared(tmp_path, *options, task=task)
    predictor = predictor_of(run)
    sentences = unlabelled(run)
    together = predictor.predict(sentences, confidence=True)
    alone = [predictor.predict(each, confidence=True) for each in sentences]
    streamed = [*predictor.stream(iter(sentences), confidence=True, window_words=11)]
    for one, other, third in zip(together, alone, streamed, strict=True):
        assert answer(other) == pytest.approx(answer(one), abs=1e-4)
        assert answer(third) == pytest.approx(answer(one), abs=1e-4)


def answer(tagged: TaggedText) -> dict[str, object]:
    """What was predicted, each value by its place, for a comparison up to rounding."""
    found: dict[str, object] = {}

    def walk(place: str, value: object) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                walk(f"{place}.{name}", inner)
        elif isinstance(value, list | tuple):
            walk(place, dict(enumerate(value)))
        else:
            found[place] = value

    walk("", asdict(tagged))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["encoder.context=document"]], ids=str)
def test_cached_inference_gives_the_states_of_the_encoder(
    tmp_path: Path, options: list[str]
) -> None:
    run = prepared(tmp_path, *options)
    predictor = predictor_of(run)
    for _, batch in islice(predictor._batches.read(unlabelled(run), 8), 3):
        assert batch.words.readers
        plain = replace(batch.words, readers=())
        with torch.inference_mode():
            for cached, wanted in zip(
                run.model.read(batch.tokens, batch.words),
                run.model.read(batch.tokens, plain),
                strict=True,
            ):
                torch.testing.assert_close(cached, wanted, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_long_sentences_are_read_in_windows(tmp_path: Path) -> None:
    run = prepared(tmp_path)
    words = tuple(word for each in unlabelled(run) for word in each.words)
    predictor = predictor_of(run)
    whole = predictor.predict(Sentence(words), max_length=20)
    assert [token.text for token in whole.tokens] == [*words]
    for token in whole.tokens:
        assert whole.text[token.start : token.end] == token.text


@pytest.mark.slow
def test_a_run_that_is_stopped_goes_on_bit_for_bit(tmp_path: Path) -> None:
    whole_and_stopped(
        tmp_path,
        7,
        lambda output: settings(tmp_path, "encoder.dropout=0.2", f"output.dir={output}"),
    )


@pytest.mark.slow
def test_what_the_cache_holds_changes_no_weight_and_is_not_read_again(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(settings(tmp_path), force=True)
    first = digests(tmp_path)
    shutil.rmtree(cache)
    train(
        settings(tmp_path, "data.train_sentences=13", "data.dev_file=", "data.test_file="),
        force=True,
    )
    assert digests(tmp_path) != first
    train(settings(tmp_path), force=True)
    assert digests(tmp_path) == first

    def refused(*_: object, **__: object) -> list[States]:
        raise AssertionError("read again")

    monkeypatch.setattr(LanguageReader, "read", refused)
    train(settings(tmp_path), force=True)
    assert digests(tmp_path) == first


@pytest.mark.slow
def test_workers_answer_as_one_process_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    program = Program(monkeypatch, capfdbinary)
    train(settings(tmp_path))
    model, test = tmp_path / "model", tmp_path / "test.conll"
    alone = program("predict", model, test, "--workers", "1").out
    assert alone
    assert program("predict", model, test, "--workers", "2").out == alone
    assert "\ncontextual  states of the language models /" in program("info", model).out


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["word", "bpe"])
def test_models_of_words_and_byte_pairs_serve_too(tmp_path: Path, unit: str) -> None:
    trained = train(settings(tmp_path, unit=unit))
    model = load(tmp_path / "model")
    text = "Ada Miller visits Oslo ."
    assert model.predict(text).text == text
    assert trained.dev.headline > 0


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    parts = save_parts(tmp_path)
    for options in (
        ["data.unit=bpe", "task=classify"], ["train.lm_loss=0.1"], ["task=language-model"],
    ):  # fmt: skip
        with refuses(ConfigError, "embeddings.contextual"):
            train(load_config(None, [named(parts), *options, "data.train_file=x"]))
    lost = of_task(tmp_path, "tag", named([str(tmp_path / "none")]))
    with refuses(BundleError, "none", "folder"):
        train(lost)
    inside = of_task(tmp_path, "tag", named(parts), f"output.dir={tmp_path}")
    with refuses(ConfigError, "character"):
        train(inside)


@pytest.mark.slow
def test_a_tagger_is_no_language_model_and_no_other_model_is_its_beginning(
    tmp_path: Path,
) -> None:
    train(settings(tmp_path))
    tagger = tmp_path / "model"
    plain = of_task(tmp_path, "tag", f"output.dir={tmp_path / 'other'}")
    with refuses(DataError, "'tag'", "language"):
        train(of_task(tmp_path, "tag", named([str(tagger)]), f"output.dir={tmp_path / 'other'}"))
    train(plain)
    for config, who in (
        (of_task(tmp_path, "tag", f"train.init_from={tagger}", f"output.dir={tmp_path / 'new'}"),
         tagger),
        (settings(tmp_path, f"train.init_from={tmp_path / 'other'}",
                  f"output.dir={tmp_path / 'new'}"), "this model"),
    ):  # fmt: skip
        with refuses(ConfigError, who, "language models"):
            train(config)


@pytest.mark.slow
def test_an_altered_language_model_inside_a_model_is_refused(tmp_path: Path) -> None:
    train(settings(tmp_path))
    best = tmp_path / "model" / "best"
    original = json.loads((best / "vocabulary.json").read_text())
    part = original["contextual"][0]
    tag = "task = 'tag'\n"
    for change, problem in (
        ([], "found 0"),
        ([part, {**part, "states": 8}], "found 8"),
        ([part, {**part, "states": True}], "contextual: states may not be"),
        ([part, {**part, "states": 10**9}], "contextual: "),
        ([part, {**part, "config": tag}], "found 'tag'"),
        ([part, {**part, "config": "a = = 1"}], "is not TOML"),
        ([part, {**part, "vocabulary": {}}], "lacks 'words'"),
        ([part, {"path": "x"}], "lacks"),
        ({"a": part}, "contextual: expected a list"),
    ):
        (best / "vocabulary.json").write_text(json.dumps({**original, "contextual": change}))
        redigest(best)
        with refuses(BundleError, problem, "vocabulary"):
            load(best)
