"""A language model from text to report, by commands."""

import gzip
import json
import math
import random
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from program import Program
from runs import StopAt, digests, whole_and_stopped
from says import Says, refuses

from tagkit.config import Config, load_config
from tagkit.errors import CheckpointError, ConfigError, DataError, Interrupted, TrainingError
from tagkit.inference.generate.line_scores import score_lines
from tagkit.inference.generate.text_generator import load_reader
from tagkit.inference.predict.predictor import load
from tagkit.inference.score.score import DevScores
from tagkit.models.bundle.bundle import load_bundle
from tagkit.nn.softmax.sampled import SampledSoftmax
from tagkit.training.events.callbacks import Epoch
from tagkit.training.loop.state import RunState
from tagkit.training.setup.setup import prepare
from tagkit.training.trainer import train

pytestmark = pytest.mark.slow


def sentences(count: int, seed: int) -> str:
    """A grammar with a memory: what is eaten follows from who eats."""
    dice = random.Random(seed)
    food = {"cats": "fish", "cows": "grass", "bees": "nectar"}
    lines = []
    for _ in range(count):
        who = dice.choice(sorted(food))
        lines.append(f"the {dice.choice(['old', 'young', 'wild'])} {who} often eat {food[who]}")
    return "".join(f"{line}\n" for line in lines)


def settings(folder: Path, *options: str) -> Config:
    for name, count, seed in (("train", 300, 1), ("dev", 40, 2), ("test", 40, 3)):
        (folder / f"{name}.txt").write_text(sentences(count, seed))
    given = {f"data.{name}_file": str(folder / f"{name}.txt") for name in ("train", "dev", "test")}
    small = [
        "embeddings.word_dim=12", "encoder.hidden=16", "encoder.locked_dropout=0.1",
        "train.max_epochs=3", "train.batch_size=4", "train.bptt=9", "train.lr=0.02",
        "train.checkpoint_every=4", f"output.dir={folder / 'model'}",
    ]  # fmt: skip
    named = {option.partition("=")[0] for option in options}  # which count less than flags
    flags = {name: value for name, value in given.items() if name not in named}
    return load_config(None, [*small, *options], {"task": "language-model", **flags})


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Program:
    return Program(monkeypatch, capfdbinary)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("language")
    train(settings(folder))
    return folder


def test_a_model_learns_the_grammar_and_the_scores_of_training_are_those_of_eval(
    folder: Path, program: Program
) -> None:
    model, test = folder / "model", folder / "test.txt"
    found = json.loads(program("eval", model, test, "--json").out)
    # Three choices of three words each leave log 9 nats a line of seven units; the rest is known.
    assert 9 ** (1 / 7) < found["perplexity"] < 1.5
    assert (found["units"], found["unknown"], found["lines"]) == (280, 0, 40)
    assert found["characters"] == len(test.read_text())
    kept = json.loads((model / "report.json").read_text())
    assert kept["test"] == found
    history = [json.loads(line) for line in (model / "history.jsonl").read_text().splitlines()]
    best = min(each["dev"] for each in history)
    assert kept["dev"]["cross_entropy"] == pytest.approx(best, rel=1e-6)
    assert not (model / "dev.pred").exists()


class StopAtSecondEpoch(StopAt):
    def on_epoch(self, epoch: Epoch) -> None:
        super().on_epoch(epoch)
        if epoch.number == 2:
            self.stop.set()


@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_an_epoch_whose_loss_on_dev_is_no_number_is_the_worst_and_a_run_goes_on_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: float
) -> None:
    losses = iter([broken, 1.5, broken, 1.2])

    def scores(*_: object) -> DevScores:
        loss = next(losses)
        return DevScores(loss, {"perplexity": 1.0}, loss)

    monkeypatch.setattr("tagkit.training.loop.run.dev_scores", scores)
    config = settings(tmp_path, "train.max_epochs=4", "train.patience=0")
    listener = StopAtSecondEpoch()
    with pytest.raises(Interrupted):
        train(config, listener, stop=listener.stop)
    trained = train(config, resume=True)
    assert [epoch.is_best for epoch in trained.epochs] == [True, True, False, True]
    assert [epoch.dev_loss for epoch in trained.epochs] == [None, 1.5, None, 1.2]


def test_info_and_predict_say_what_it_is(folder: Path, program: Program) -> None:
    lines = program("info", folder / "model").out
    assert "LSTM with tied softmax" in lines
    assert "300 lines, 1,800 tokens, text" in lines
    assert "vocabulary  13 words" in lines
    assert "dev perplexity 1." in lines
    assert "(per word)" in lines
    refused = program("predict", folder / "model", folder / "test.txt")
    assert refused.code == 1
    assert refused.err == Says("tagkit generate", "tagkit eval", "tagkit.load_language_model")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tag-column", "1"], Says("--tag-column", "language")),
        (["--input-format", "tsv"], Says("--input-format", "language")),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else "",
)
def test_eval_refuses_what_is_for_labels_without_output(
    folder: Path, program: Program, options: list[str], message: str
) -> None:
    found = program("eval", folder / "model", folder / "test.txt", *options)
    assert (found.code, found.out) == (1, "")
    assert message.within(found.err)


@pytest.mark.parametrize(
    "option",
    ["--errors", "--interval", "--slices", "--measures", "--verify", "--calibration",
     "--coverage 0.9", "--html page.html"],
)  # fmt: skip
def test_an_analysis_of_labels_is_refused_by_its_name(
    folder: Path, program: Program, option: str
) -> None:
    found = program("eval", folder / "model", folder / "test.txt", *option.split())
    assert (found.code, found.out) == (1, "")
    flag = option.split()[0]
    assert found.err == Says(flag, "language")


def test_several_language_models_and_a_benchmark_are_refused(
    folder: Path, program: Program
) -> None:
    model, text = folder / "model", folder / "test.txt"
    assert program("eval", model, model, text).err == (Says(model, "MODEL", "FILE"))
    # A second text is taken for a model.
    assert program("eval", model, text, text).err == (Says(text, "folder"))
    found = program("benchmark", model, text)
    assert "this is a language model, which annotates nothing" in found.err
    assert "fp32 ..." not in found.err


def test_a_search_keeps_the_trial_with_the_smallest_loss(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    from tagkit.config.search_space import parse_spaces
    from tagkit.training.several.tune import tune

    config = settings(tmp_path, "train.max_epochs=1", f"output.dir={tmp_path / 'search'}")
    found = tune(config, parse_spaces(["train.lr=0.00001,0.02"]), trials=3)
    assert found.best.dev == min(trial.dev for trial in found.trials if trial.dev is not None)
    kept = load_reader(found.folder, "cpu")
    assert kept.vocabulary_size
    report = json.loads((found.folder / "best" / "metadata.json").read_text())["scores"]["dev"]
    assert report["cross_entropy"] == pytest.approx(found.best.dev, rel=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["encoder.cell=clockwork", "encoder.layers=2"],
        ["data.context=line", "data.unit=character"],
        ["encoder.cell=transformer", "encoder.layers=2"],
        ["encoder.cell=window", "encoder.widths=[5]"],
        ["head.halt=true", "data.context=line", "train.batch_size=7"],
        ["head.end=length", "data.context=line", "head.free_running=2"],
        ["head.sampling=linear", "head.sampling_steps=20"],
        ["data.direction=backward", "head.softmax=sampled"],
        ["embeddings.tied=false", "train.flow_strength=0.5", "encoder.cell=gru"],
        ["data.unit=bpe", "data.bpe_size=300"],
    ],
    ids="+".join,
)
def test_a_run_that_is_stopped_goes_on_with_the_states_that_it_carried(
    tmp_path: Path, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SampledSoftmax, "samples", 4)  # fewer than there are units
    whole_and_stopped(
        tmp_path, 11, lambda output: settings(tmp_path, *options, f"output.dir={output}")
    )


def test_a_backward_model_is_a_forward_one_of_the_reversed_text(tmp_path: Path) -> None:
    scores = {}
    for direction in ("forward", "backward"):
        place = tmp_path / direction
        place.mkdir()
        config = settings(place, f"data.direction={direction}")
        if direction == "forward":  # of the text from its end
            for name in ("train", "dev", "test"):
                path = place / f"{name}.txt"
                lines = path.read_text().splitlines()[::-1]
                path.write_text("".join(" ".join(each.split()[::-1]) + "\n" for each in lines))
        scores[direction] = train(config).test
    assert scores["forward"] == scores["backward"]


@pytest.mark.parametrize(
    "options",
    [
        ["encoder.positions=rotary", "train.batch_size=4"],
        ["encoder.positions=learned", "data.context=line", "head.halt=true"],
        ["encoder.positions=sinusoidal", "data.context=line", "encoder.norm=after",
         "train.lr=0.01", "train.warmup_steps=60"],
    ],
    ids="+".join,
)  # fmt: skip
def test_a_causal_transformer_learns_the_grammar(tmp_path: Path, options: list[str]) -> None:
    config = settings(
        tmp_path, "encoder.cell=transformer", "encoder.layers=2", "train.max_epochs=6", *options
    )
    trained = train(config)
    assert trained.test is not None
    # As a recurrent network: what is eaten follows from who eats, two words before.
    assert 9 ** (1 / 7) < trained.test.to_dict()["perplexity"] < 1.5
    found = score_file(config.output.dir, tmp_path / "test.txt")
    if "data.context=line" in options:  # then lines are scored as the report scores the text
        assert sum(found) == pytest.approx(-280 * trained.test.to_dict()["cross_entropy"], rel=1e-5)


def score_file(model: str, path: Path) -> list[float]:
    """The log probability of each line."""
    lines = path.read_text().splitlines()
    return [each.log_probability for each in next(score_lines(load_reader(model), [lines]))]


def test_a_model_that_halts_has_no_unit_for_the_end_and_ends_lines_where_they_end(
    tmp_path: Path, program: Program
) -> None:
    config = settings(tmp_path, "head.halt=true", "data.context=line", "train.max_epochs=6")
    trained = train(config)
    assert trained.test is not None
    scores = trained.test.to_dict()
    assert 9 ** (1 / 7) < scores["perplexity"] < 1.5
    assert scores["units"] == 280  # the end of each line is one
    assert json.loads(program("eval", config.output.dir, tmp_path / "test.txt", "--json").out) == (
        scores
    )
    assert "softmax and Bernoulli halt" in program("info", config.output.dir).out
    # Each line by itself, as the report has them.
    found = score_file(config.output.dir, tmp_path / "test.txt")
    assert -sum(found) / 280 == pytest.approx(scores["cross_entropy"], rel=1e-5)
    # What is generated ends by halting, and has the probability that its line has.
    given = ("generate", config.output.dir, "--samples", 20, "--json")
    texts = [json.loads(line) for line in program(*given).out.splitlines()]
    assert {each["ended"] for each in texts} == {"halt"}
    assert sum(each["units"] == 6 for each in texts) > 15
    path = tmp_path / "texts.txt"
    path.write_text("".join(f"{each['text']}\n" for each in texts))
    assert score_file(config.output.dir, path) == (
        pytest.approx([each["log_probability"] for each in texts], rel=1e-5)
    )
    best = program("generate", config.output.dir, "--beam", 4, "--json").out
    assert json.loads(best)["ended"] == "halt"
    refused = program("generate", config.output.dir, "--end", "symbol")
    assert refused.code == 1
    assert Says("--end", "symbol").within(refused.err)


def test_without_a_dev_file_the_last_lines_are_dev(tmp_path: Path) -> None:
    config = settings(tmp_path, "data.dev_file=", "train.max_epochs=1")
    trained = train(config)
    assert trained.dev.to_dict()["lines"] == 30
    assert trained.dev.to_dict()["characters"] == len(
        "".join(f"{line}\n" for line in (tmp_path / "train.txt").read_text().splitlines()[-30:])
    )


def test_a_folder_is_a_corpus_of_texts_in_training_and_in_eval(
    tmp_path: Path, program: Program
) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "b.gz").write_bytes(gzip.compress(sentences(60, 4).encode()))
    (tmp_path / "texts" / "c.txt").write_text(sentences(9, 5))
    (tmp_path / "texts" / "a.txt").write_text(sentences(120, 6))
    texts = str(tmp_path / "texts")
    config = settings(tmp_path, f"data.train_file={texts}", f"data.test_file={texts}")
    inside = settings(
        tmp_path, f"data.train_file={texts}", f"output.dir={tmp_path / 'texts' / 'model'}"
    )
    with pytest.raises(ConfigError) as caught:
        train(inside)
    assert str(caught.value) == (Says("output.dir", texts))
    trained = train(config)
    assert trained.test is not None
    # The scores of the whole are those of its files, weighted by their units.
    whole = json.loads(program("eval", config.output.dir, texts, "--json").out)
    assert trained.test.to_dict() == whole
    assert whole["files"] == 3
    for options in ([], ["--cache"]):
        found = [
            json.loads(program("eval", config.output.dir, file, "--json", *options).out)
            for file in (texts, *sorted((tmp_path / "texts").iterdir()))
        ]
        nats = [each["cross_entropy"] * each["units"] for each in found]
        assert nats[0] == pytest.approx(sum(nats[1:]), rel=1e-6)
        assert found[0]["lines"] == sum(each["lines"] for each in found[1:]) == 189
    # As one text the same lines are learnt, in the order of the names of their files.
    joined = sentences(120, 6) + sentences(60, 4) + sentences(9, 5)
    (tmp_path / "one.txt").write_text(joined)
    place = tmp_path / "one"
    place.mkdir()
    one = settings(place, f"data.train_file={tmp_path / 'one.txt'}", f"data.test_file={texts}")
    train(one)
    assert digests(place) == digests(tmp_path)
    # A file more is another corpus.
    (tmp_path / "texts" / "d.txt").write_text("the old cats\n")
    with refuses(CheckpointError, "another"):
        train(config.model_copy(), resume=True)


def test_what_does_not_fit_a_language_model_is_refused(folder: Path, tmp_path: Path) -> None:
    with refuses(ConfigError, "language"):
        train(settings(tmp_path, "encoder.bidirectional=true"))
    with refuses(ConfigError, "embeddings.lowercase"):
        train(settings(tmp_path, "embeddings.lowercase=false"))
    with pytest.raises(ConfigError) as caught:
        train(settings(tmp_path, "encoder.cell=transformer", "encoder.positions=learned"))
    assert str(caught.value) == (Says("encoder.positions=learned", "data.context", "'line'"))
    with refuses(ConfigError, "head.end", "data.context"):
        train(settings(tmp_path, "head.halt=true"))
    with refuses(DataError, "train.metric=f1"):
        train(settings(tmp_path, "train.metric=f1"))
    model = load(folder / "model")
    for annotate in (model.predict, model.n_best):
        with refuses(DataError, "annotates"):
            annotate("the old cats")
    # The configuration that a run has written trains the same model again.
    saved = folder / "model" / "best" / "config.toml"
    train(load_config(saved, [f"output.dir={tmp_path / 'model'}"]))
    assert digests(tmp_path) == digests(folder)


def test_several_processes_cannot_carry_one_text_on(tmp_path: Path) -> None:
    prepared = prepare(settings(tmp_path), torch.device("cpu"))
    several = SimpleNamespace(count=2, rank=0)
    with refuses(TrainingError, "2", "data.context=line", "streams"):
        RunState(prepared, several, print)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["full", "adaptive"])
def test_a_model_begins_with_the_head_of_another_of_its_kind_and_with_no_other(
    tmp_path: Path, kind: str
) -> None:
    for name in ("base", "same", "other"):
        (tmp_path / name).mkdir()
    old = train(settings(tmp_path / "base", f"head.softmax={kind}", "train.max_epochs=1"))
    start = f"train.init_from={old.folder}"
    same = prepare(settings(tmp_path / "same", start), torch.device("cpu"))
    assert same.config.head.softmax == kind
    assert "head" in same.started.partition("; new: ")[0]
    weights = dict(load_bundle(old.folder).model.named_parameters())
    for name, tensor in same.model.named_parameters():
        assert torch.equal(tensor, weights[name]), name
    # An adaptive softmax has scores of clusters, without which those of units are none.
    other = {"full": "adaptive", "adaptive": "full"}[kind]
    options = start, f"head.softmax={other}"
    fresh = prepare(settings(tmp_path / "other", *options), torch.device("cpu"))
    copied, _, new = fresh.started.partition("; new: ")
    assert "head" not in copied
    assert "head" in new
