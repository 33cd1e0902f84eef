"""Language models whose options are drawn by chance, and models that read their states."""

import random
from pathlib import Path

import pytest
from drawn_options import CHOICES, SENTENCES, accepted, assert_same, some_of
from runs import whole_and_stopped
from small_runs import of_task

from tagkit.config import (
    Config,
    HeadConfig,
    TrainConfig,
    allowed,
    effective,
    load_config,
    with_options,
)  # fmt: skip
from tagkit.evaluation.reports.language_report import LanguageReport
from tagkit.inference.generate.text_generator import load_language_model
from tagkit.inference.predict.predictor import load
from tagkit.inference.score.evaluate import evaluate
from tagkit.nn.layers.encoder import LAYERS
from tagkit.nn.softmax.sampled import SampledSoftmax
from tagkit.training.folder.run_identity import refuse_unfit
from tagkit.training.trainer import train

# Choices of other tasks, but for what a language model does not have.
SHARED = {
    name: values
    for name, values in CHOICES.items()
    if name.startswith(("encoder.", "train."))
    and name not in ("encoder.bidirectional", "encoder.ensemble_size", "encoder.merge",
                     "train.lm_loss", "train.workers")
}  # fmt: skip
OWN: dict[str, tuple[object, ...]] = {
    "data.unit": ("character", "bpe", "bpe"),
    "data.bpe_size": (280,),
    "data.context": ("line",),
    "embeddings.tied": (False,),
    "embeddings.min_count": (2,),
    "embeddings.dropout": (0.3,),
    "head.end": ("halt", "length"),
    "head.sampling": ("linear",),
    "head.free_running": (2,),
}
CELLS = tuple(LAYERS)
OPTIMIZERS = allowed(TrainConfig, "optimizer")
SOFTMAXES = allowed(HeadConfig, "softmax")
SEEDS = range(len(CELLS))
LINES = ["the cat sat on the mat", "a cat ran off , far away", "the dog ran 3 miles", "中文 é x"]
PAIRS = ["cat N;PL\tcats", "dog N;PL\tdogs", "ox N;PL\toxen", "run V;PST\tran"]


def drawn(seed: int) -> dict[str, object]:
    """Some of the options: a cell each, and optimizers, softmaxes, directions and pairs in turn."""
    dice = random.Random(f"language model {seed}")
    options = some_of(OWN | SHARED, dice)
    options |= {
        "encoder.cell": CELLS[seed],
        "train.optimizer": OPTIMIZERS[seed % len(OPTIMIZERS)],
        "head.softmax": SOFTMAXES[seed % len(SOFTMAXES)],
    }
    if seed % 3 == 1:
        options["data.direction"] = "backward"
    if seed % 3 == 2:
        options |= {"data.pairs": True, "data.context": "line", "data.loss_on": "continuation"}
        options.pop("head.end", None)
    if options["encoder.cell"] == "transformer" and "encoder.positions" in options:
        options["data.context"] = "line"  # positions count from the beginning of a text
    return options


def of_text(folder: Path, options: dict[str, object]) -> Config:
    """A small run that learns a text, without what does not go together."""
    dice = random.Random(1)
    flags = {"task": "language-model"}
    folder.mkdir()
    for name, count in (("train", 40), ("dev", 8), ("test", 8)):
        lines = dice.choices(PAIRS if "data.pairs" in options else LINES, k=count)
        path = folder / f"{name}.txt"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        flags[f"data.{name}_file"] = str(path)
    small = ["embeddings.word_dim=8", "encoder.hidden=8", "train.max_epochs=2",
             "train.batch_size=4", "train.device=cpu"]  # fmt: skip
    return accepted(load_config(None, small, flags), options)


def test_the_draws_have_all_softmaxes_optimizers_and_directions() -> None:
    draws = [drawn(seed) for seed in SEEDS]
    assert {each["head.softmax"] for each in draws} == {*SOFTMAXES}
    assert {each["train.optimizer"] for each in draws} == {*OPTIMIZERS}
    assert {each.get("data.direction", "forward") for each in draws} == {"forward", "backward"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_options_drawn_by_chance_keep_the_promises(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SampledSoftmax, "samples", 3)  # fewer than there are units
    config = of_text(tmp_path / "text", drawn(seed))

    def settings(place: Path) -> Config:
        return with_options(config, {"output.dir": str(place)})

    # Stopped and resumed, it ends with the same weights.
    trained, _ = whole_and_stopped(tmp_path, 2, settings)
    assert isinstance(trained.test, LanguageReport)
    # Its own configuration trains it again.
    own = trained.folder / "best" / "config.toml"
    refuse_unfit(load_config(own, flags={"output.dir": str(tmp_path / "again")}), resume=False)
    # Another run begins from it.
    further = {"train.init_from": str(trained.folder), "train.checkpoint_every": 1000,
               "output.dir": str(tmp_path / "further")}  # fmt: skip
    train(effective(with_options(config, further)))
    # Loaded, it says the same of the text, line by line too.
    found = evaluate(config.data.test_file, model=trained.folder, device="cpu")
    assert isinstance(found, LanguageReport)
    expected = pytest.approx(trained.test.cross_entropy, abs=1e-4)
    assert (found.units, found.unknown) == (trained.test.units, trained.test.unknown)
    assert found.cross_entropy == expected
    if config.data.direction == "forward":
        lines = Path(config.data.test_file).read_text("utf-8").splitlines()
        model = load_language_model(trained.folder, "cpu")
        alone, together = ([*model.score(lines, batch_size=size)] for size in (1, 5))
        for one, other in zip(alone, together, strict=True):
            assert one.log_probability == pytest.approx(other.log_probability, abs=1e-3)
        if config.data.context == "line":
            units = sum(each.units for each in alone)
            assert -sum(each.log_probability for each in alone) / units == expected
        greedy, of_beam = (
            model.generate(lines[0][:7], max_units=9, **options)
            for options in ({"greedy": True}, {"beam": 1})
        )
        # Of models that halt the two differ (`nn/search/strings.py`): to halt competes with units.
        if config.head.end != "halt":
            assert [each.text for each in greedy] == [each.text for each in of_beam]

    # A model that reads its states keeps the promises too.
    if config.head.end == "length":  # which a sentence to be annotated does not have
        return
    reader = of_task(
        tmp_path / "data", ("tag", "classify")[seed % 2],
        f'embeddings.contextual=["{trained.folder}"]',
        f"embeddings.contextual_dim={seed % 3}",
    )  # fmt: skip
    (tmp_path / "reader").mkdir()
    reads, _ = whole_and_stopped(
        tmp_path / "reader", 9, lambda place: with_options(reader, {"output.dir": str(place)})
    )
    loaded = load(reads.folder, "cpu")
    together_ = loaded.annotate(SENTENCES, batch_size=4, confidence=True)
    before = reads.predictor.annotate(SENTENCES, batch_size=4, confidence=True)
    for number, sentence in enumerate(SENTENCES):
        (alone_,) = loaded.annotate([sentence], batch_size=1, confidence=True)
        assert_same(together_[number], alone_)
        assert_same(together_[number], before[number])
