"""Training and prediction on a GPU, or on a pretended one, beside the CPU."""

from collections.abc import Callable
from pathlib import Path

import pytest
import tiny
from runs import StopAt, settings
from small_runs import TASKS, of_task
from typer.testing import CliRunner

from tagkit.cli.main import app
from tagkit.config import Config, load_config
from tagkit.errors import Interrupted
from tagkit.inference.predict.predictor import load
from tagkit.nn.layers.encoder import LAYERS
from tagkit.training.run_end import Trained
from tagkit.training.trainer import train

pytestmark = pytest.mark.cuda
DEVICES = ("cpu", "cuda")
ON_GPU = "train.device=cuda"
# Of a tagger: each has computing of its own. Without dropout the order of the corpus is all that is
# random, and it is drawn on the CPU.
WAYS = [
    *(f"encoder.cell={cell}" for cell in sorted(LAYERS) if cell not in ("echo-state", "lstm")),
    "head.kind=softmax", "head.kind=viterbi", "head.kind=feedback head.beam=3",
    "head.constrain=train", "head.label_consistency=0.5", 'head.label_weights={PER = 3.0}',
    "train.lm_loss=0.1", "encoder.context=document", "encoder.merge=product",
    "encoder.layers=2 encoder.connection=highway", "encoder.output_layers=[6]",
    "encoder.ensemble_size=2", "train.optimizer=nadam", "train.bptt=3",
    "train.flow_strength=0.1", "train.averaging=triggered train.average_patience=1",
    "data.unit=bpe data.bpe_size=300", "embeddings.affix_dim=5", "embeddings.char_cell=gru",
]  # fmt: skip
POOLINGS = ["last", "mean+max", "concat", "attention", "scaled-attention", "memory"]


def short(folder: Path, task: str, *options: str) -> Config:
    """A run of a task, of few steps: each operator on a pretended GPU is one of Python."""
    return of_task(folder, task, "data.train_sentences=32", *options)


def same_losses(settings_of: Callable[[str], Config]) -> list[Trained]:
    """Runs on both devices, whose losses are the same."""
    runs = [train(settings_of(device)) for device in DEVICES]
    on_cpu, on_gpu = ([epoch.loss for epoch in run.epochs] for run in runs)
    assert on_gpu == pytest.approx(on_cpu, rel=1e-3)
    return runs


@pytest.mark.parametrize("task", list(TASKS))
def test_a_gpu_learns_what_a_cpu_learns(tmp_path: Path, task: str) -> None:
    same_losses(lambda device: short(tmp_path / device, task, f"train.device={device}"))


@pytest.mark.parametrize("way", WAYS)
def test_all_that_taggers_can_have_is_learnt_and_read_on_a_gpu(tmp_path: Path, way: str) -> None:
    options = way.split(" ") if "{" not in way else [way]
    if not way.startswith("head"):  # the CRF of word features is beside each head, and none else
        options.append("head.feature_crf=0")
    _, on_gpu = same_losses(
        lambda device: short(tmp_path / device, "tag", f"train.device={device}", *options)
    )
    assert on_gpu.predictor.device.type == "cuda"
    # The same weights on both.
    here, there = load(on_gpu.folder, device="cpu"), load(on_gpu.folder, device="cuda")
    for text in ("Ada met Bob .", "Oslo"):
        found, expected = (loaded.predict(text, confidence=True) for loaded in (there, here))
        assert [token.tag for token in found.tokens] == [token.tag for token in expected.tokens]
        assert [span.probability for span in found.spans] == pytest.approx(
            [span.probability for span in expected.spans], abs=1e-3
        )
        assert [path.probability for path in there.n_best(text, 2)] == pytest.approx(
            [path.probability for path in here.n_best(text, 2)], abs=1e-3
        )


@pytest.mark.parametrize("pooling", POOLINGS)
def test_texts_are_pooled_on_a_gpu_as_on_a_cpu(tmp_path: Path, pooling: str) -> None:
    options = [f"head.pooling={pooling}", "head.bag_of_words=64"]
    _, on_gpu = same_losses(
        lambda device: short(tmp_path / device, "classify", f"train.device={device}", *options)
    )
    found, expected = (
        load(on_gpu.folder, device=device).predict("hello there , Ada .").scores
        for device in DEVICES
    )
    assert [each.label for each in found] == [each.label for each in expected]
    assert [each.probability for each in found] == pytest.approx(
        [each.probability for each in expected], abs=1e-3
    )


def language_model(folder: Path, *options: str) -> Config:
    """A small language model of four lines, without chance."""
    folder.mkdir()
    lines = "the cat sat on the mat\nthe dog sat\na cat ran off\nthe dog ran far away\n"
    files = {"train": 6 * lines, "dev": 2 * lines}
    for name, text in files.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    small = ["task=language-model", "embeddings.word_dim=8", "encoder.hidden=8", "train.bptt=7",
             "encoder.locked_dropout=0", "encoder.word_dropout=0", "train.max_epochs=2",
             "train.batch_size=4", f"output.dir={folder / 'model'}"]  # fmt: skip
    flags = {f"data.{name}_file": str(folder / f"{name}.txt") for name in files}
    return load_config(overrides=[*small, *options], flags=flags)


@pytest.mark.parametrize(
    "way",
    ["", "data.unit=character data.context=line head.halt=true", "head.softmax=adaptive",
     "data.unit=bpe data.bpe_size=280 encoder.cell=transformer"],
)  # fmt: skip
def test_language_models_are_learnt_scored_and_continued_on_a_gpu(tmp_path: Path, way: str) -> None:
    same_losses(
        lambda device: language_model(tmp_path / device, f"train.device={device}", *way.split())
    )
    model, text = str(tmp_path / "cuda/model"), str(tmp_path / "cuda/dev.txt")
    commands = [
        ["generate", model, "--prompt", "the cat", "--greedy"],
        ["generate", model, "--prompt", "the", "--beam", "3"],
        ["generate", model, "--prompt", "the cat", "--greedy", "--repetition-penalty", "1.3"],
        ["eval", model, text],
    ]
    commands += [] if "context=line" in way else [["eval", model, text, "--cache"]]
    for command in commands:
        found, expected = (CliRunner().invoke(app, [*command, "--device", d]) for d in DEVICES)
        assert (found.exit_code, found.stdout) == (0, expected.stdout)


def test_states_of_language_models_are_the_same_on_a_gpu(tmp_path: Path) -> None:
    reader = train(language_model(tmp_path / "lm", "data.unit=character", ON_GPU)).folder
    named = f'embeddings.contextual=["{reader}"]'
    same_losses(lambda d: short(tmp_path / d, "tag", f"train.device={d}", named))


@pytest.mark.parametrize("task", list(TASKS))
def test_mixed_precision_trains_on_a_gpu(tmp_path: Path, task: str) -> None:
    full, *mixed = (
        [
            epoch.loss
            for epoch in train(
                short(tmp_path / name, task, ON_GPU, f"train.precision={name}")
            ).epochs
        ]
        for name in ("fp32", "bf16", "fp16")
    )
    for losses in mixed:
        assert losses == pytest.approx(full, rel=0.05)
        assert losses[-1] < losses[0]


def test_a_run_on_a_gpu_that_is_stopped_ends_as_one_that_was_not(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir(), parts.mkdir()
    train(settings(whole, ON_GPU))
    listener = StopAt(7)
    with pytest.raises(Interrupted):
        train(settings(parts, ON_GPU), listener, stop=listener.stop)
    train(settings(parts, ON_GPU), resume=True)
    # Not weights: cuDNN's sums have no fixed order, so their last bits may differ.
    words = [[line.split("\t")[0] for line in sentence] for sentence in tiny.lines(30, 5)]
    expected, found = (
        [
            [token.tag for token in tagged.tokens]
            for tagged in load(home / "model/best").predict(words)
        ]
        for home in (whole, parts)
    )
    assert found == expected
