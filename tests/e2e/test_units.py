"""Models that read byte pairs or characters, the whole road: train, save, load, predict, resume."""

import shutil
from pathlib import Path

import altering
import pytest
import tiny
from altering import Alteration
from marks import mostly_slow
from runs import StopAt, digests
from says import Says, refuses
from typer.testing import CliRunner

from tagkit.cli.main import app
from tagkit.config import Config, load_config
from tagkit.errors import BundleError, ConfigError, Interrupted
from tagkit.inference.predict.predictor import Predictor, load
from tagkit.models.bundle.bundle import load_bundle
from tagkit.text.byte_pairs import BytePairs
from tagkit.text.records import Sentence
from tagkit.training.trainer import train

BPE = ["data.unit=bpe", "data.bpe_size=300"]


def settings(folder: Path, task: str, *overrides: str) -> Config:
    files = tiny.classified(folder) if task == "classify" else tiny.corpus(folder)
    epochs = "train.max_epochs=2"
    return tiny.small(folder, epochs, f"task={task}", *overrides, **files)


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("units")
    train(settings(folder, "classify", *BPE))
    return folder / "model" / "best"


@pytest.fixture
def copied(classifier: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(classifier, tmp_path / "copy"))


TEXTS = [
    "hello there , Ada .",
    "Ğood morning\u0301 \0 👩‍👩‍👧 漢字 , Ben .",
    "x" * 300,
    "bring\u00a0me tea",
]


def test_a_classifier_of_byte_pairs_speaks_of_words(classifier: Path) -> None:
    predictor = load(classifier, device="cpu")
    sentences = [Sentence(tuple(text.split())) for text in TEXTS]
    found = predictor.annotate(sentences, batch_size=3, confidence=True)
    for sentence, prediction in zip(sentences, found, strict=True):
        assert prediction.words == sentence.words
        assert prediction.attention is not None
        assert len(prediction.attention) == len(sentence.words)
        assert sum(prediction.attention) == pytest.approx(1, abs=1e-5)
        (alone,) = predictor.annotate([sentence], batch_size=1, confidence=True)
        assert alone.labels == prediction.labels
        assert [score.probability for score in alone.scores] == pytest.approx(
            [score.probability for score in prediction.scores], abs=1e-5
        )
    for text in TEXTS:
        tagged = predictor.predict(text)
        assert tagged.tokens
        for token in tagged.tokens:
            assert text[token.start : token.end] == token.text


def test_the_model_s_folder_has_the_merges_and_a_damaged_list_is_refused(copied: Path) -> None:
    bundle = load_bundle(copied)
    assert bundle.vocabulary.units is not None
    assert isinstance(bundle.vocabulary.units.units, BytePairs)
    assert {*bundle.vocabulary.words} == {*bundle.vocabulary.units.units.names}
    assert bundle.config.embeddings.affix_dim == 0
    vocabulary = copied / "vocabulary.json"
    vocabulary.write_bytes(vocabulary.read_bytes().replace(b'"merges"', b'"Merges"'))
    with pytest.raises(BundleError) as caught:
        load_bundle(copied)
    assert Says(vocabulary, "altered") == str(caught.value)


def with_merges(merges: object) -> Alteration:
    return altering.vocabulary(units=lambda old: {**old, "merges": merges})


CONFIG = "expected units as data.unit = '{}' has them with task = 'classify', found '{}'"


@pytest.mark.parametrize(
    ("alter", "problem"),
    [
        (with_merges(["Ġ ,", "Ġ ,"]), Says("merges: ", "'Ġ ,'")),
        (with_merges(["ab c"]),
         Says("merges: ", "'ab c'")),
        (with_merges({"a": 1}), Says("merges: ", "an object")),
        (with_merges(["a \ud800"]), Says("merges: ", "surrogate")),
        (altering.vocabulary(units=3), Says("units: ", "a number")),
        (altering.config(('unit = "bpe"', 'unit = "word"')),
         Says("word", "bpe", "words")),
        (altering.vocabulary(units={"unit": "bpe", "instead_of": "characters", "merges": []}),
         Says("bpe", "characters")),
    ],
)  # fmt: skip
def test_units_that_contradict_the_rest_are_refused_in_one_sentence(
    copied: Path, alter: Alteration, problem: Says
) -> None:
    alter(copied)
    with refuses(BundleError, f"{copied / 'vocabulary.json'}: ", problem):
        load_bundle(copied)


def test_info_says_what_is_read(classifier: Path) -> None:
    result = CliRunner().invoke(app, ["info", str(classifier)])
    assert "vocabulary  300 trained units, 2" in result.stdout
    assert "units       300 byte pairs in place of words\n" in result.stdout


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["data.unit=character"], Says("data.unit", "'character'", "'tag'")),
        (["data.unit=bpe", "embeddings.char_cell=none"],
         Says("data.unit", "'bpe'", "embeddings.char_cell", "'tag'", "'none'")),
        (["task=classify", "data.unit=bpe", "embeddings.vectors=v.txt"],
         Says("data.unit", "'bpe'", "embeddings.vectors", "'classify'")),
        (["task=classify", "data.unit=character", "embeddings.affix_dim=9"],
         Says("data.unit", "'character'", "embeddings.affix_dim", "'classify'")),
    ],
)  # fmt: skip
def test_units_that_nothing_would_read_are_refused(options: list[str], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(overrides=options)
    assert caught.value.problems == (problem,)


def same(one: Predictor, other: Predictor, sentences: list[Sentence]) -> bool:
    mine, theirs = (
        each.annotate(sentences, batch_size=2, confidence=True) for each in (one, other)
    )
    return mine == theirs


@pytest.mark.parametrize(
    ("task", "options"),
    mostly_slow(
        [
            ("tag", BPE),
            ("classify", BPE),
            ("classify", ["data.unit=character"]),
            ("both", BPE),
        ],
        always=0,
    ),
)
def test_a_run_that_is_stopped_ends_with_the_weights_of_one_that_was_not(
    task: str, options: list[str], tmp_path: Path
) -> None:
    def run(folder: Path, stop_after: int | None) -> list[str]:
        folder.mkdir()
        files = tiny.joint(folder) if task == "both" else {}
        config = settings(folder, task, *options, "train.checkpoint_every=2")
        if files:
            config = tiny.small(folder, "train.max_epochs=2", "task=both", *options, **files)
        stops = 0
        while True:
            listener = StopAt(stop_after or -1)
            try:
                trained = train(config, listener, resume=stop_after is not None, stop=listener.stop)
            except Interrupted:
                stops += 1
                continue
            assert (stops > 3) == (stop_after is not None)
            sentences = [Sentence(("Ada", "likes", "Oslo"))]
            assert same(trained.predictor, load(folder / "model", device="cpu"), sentences)
            return digests(folder)

    assert run(tmp_path / "a", None) == run(tmp_path / "b", 3)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["tag", "classify"])
def test_a_model_that_begins_with_another_s_weights_has_its_units(
    task: str, tmp_path: Path
) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    first.mkdir()
    second.mkdir()
    base = train(settings(first, task, *BPE)).predictor.vocabulary
    init = f"train.init_from={first / 'model'}"
    config = settings(second, task, init)
    for file in second.glob("train.*"):  # whose own merges would be others
        text = file.read_text("utf-8")
        file.write_text(text.replace("visits", "zzqzz").replace("tea", "zzqzz"), "utf-8")
    found = train(config).predictor.vocabulary
    assert found.units == base.units
    assert found.words[: len(base.words)] == base.words
    with refuses(ConfigError, "data.bpe_size", "310", "300"):
        train(settings(second, task, init, *BPE[:1], "data.bpe_size=310"), force=True)
