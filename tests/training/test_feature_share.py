"""The share of the CRF of word features in the product: the best on dev, and what is said of it."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import tiny
import torch
from runs import StopAt
from safetensors.torch import load_file
from small_runs import of_task

import tagkit
from tagkit.config import DataConfig
from tagkit.errors import Interrupted
from tagkit.inference.score.score import gold_split
from tagkit.models.tagging import feature_crf
from tagkit.nn.feature_crf.feature_crf import SHARES
from tagkit.nn.heads.bag_of_words import BagOfWords
from tagkit.training import feature_share
from tagkit.training.feature_share import score_dev
from tagkit.training.loop.run import Run
from tagkit.training.loop.state import RunState
from tagkit.training.processes.distributed import Processes
from tagkit.training.setup.setup import prepare
from tagkit.training.trainer import train


def run_of(
    scores: dict[float, float], monkeypatch: pytest.MonkeyPatch, *, is_loss: bool = False
) -> tuple[Run, list[str], torch.Tensor]:
    """A run whose model scores so on dev with each share; its notes, and the share."""
    crf, notes = SimpleNamespace(share=torch.zeros(()), is_fitted=True, transitions=[0, 0]), []
    corpus = SimpleNamespace(dev=SimpleNamespace(sentences=[None] * 900))  # a margin of 0.01
    criterion = SimpleNamespace(is_loss=is_loss, key="f1", of_report=lambda report: report)
    run = SimpleNamespace(
        prepared=SimpleNamespace(model=SimpleNamespace(feature_crf=crf), corpus=corpus),
        criterion=criterion,
        processes=SimpleNamespace(from_first_rank=lambda number: number),
        listener=SimpleNamespace(on_note=notes.append),
    )  # fmt: skip

    def scored(_: Any) -> SimpleNamespace:
        share = round(float(crf.share), 3)
        return SimpleNamespace(report=scores[share], share=share)

    monkeypatch.setattr(feature_share, "_annotated", scored)
    return cast(Run, run), notes, crf.share


@pytest.mark.parametrize(
    ("scores", "share", "note"),
    [
        ((0.62, 0.61, 0.61, 0.6), 0.5,
         "a CRF of word features counts 50 % beside the network: on dev 62.00, and 60.00 without "
         "it"),
        ((0.61, 0.62, 0.6, 0.6), 0.7,
         "a CRF of word features counts 70 % beside the network: on dev 62.00, and 60.00 without "
         "it"),
        ((0.61, 0.6, 0.62, 0.6), 0.3,
         "a CRF of word features counts 30 % beside the network: on dev 62.00, and 60.00 without "
         "it"),
        ((0.2, 0.1, 0.3, 0.311), 0.0,
         "a CRF of word features counts nothing: on dev the network alone has 31.10, and 30.00 "
         "with it"),
        # The best epoch was chosen by the network's scores, so that more is asked of these.
        ((0.2, 0.1, 0.3, 0.309), 0.3,
         "a CRF of word features counts 30 % beside the network: on dev 30.00, and 30.90 without "
         "it, which dev is too small to tell from chance"),
        # Equal: nothing speaks against it.
        ((0.6, 0.6, 0.6, 0.6), 0.5,
         "a CRF of word features counts 50 % beside the network: on dev 60.00 with it and without "
         "it"),
        ((0.0, 0.0, 0.0, 0.0), 0.5,
         "a CRF of word features counts 50 % beside the network: on dev 0.00 with it and without "
         "it"),
    ],
)  # fmt: skip
def test_the_share_that_is_best_on_dev_stays_and_the_note_says_what_it_brought(
    monkeypatch: pytest.MonkeyPatch, scores: tuple[float, ...], share: float, note: str
) -> None:
    run, notes, kept = run_of(dict(zip(SHARES, scores, strict=True)), monkeypatch)
    found = cast(Any, score_dev(run))
    assert (found.share, float(kept)) == (share, pytest.approx(share))
    assert notes == [note]


def test_dev_is_that_of_the_report_of_the_model_and_of_the_file_that_are_saved(
    tmp_path: Path,
) -> None:
    listener = StopAt()
    # So weak a network that the CRF is better on its own.
    weak = "train.max_epochs=1", "train.lr=0.0001"
    trained = train(tiny.config(tmp_path, *weak), listener)
    crf = trained.predictor.model.feature_crf
    assert crf is not None
    assert float(crf.share) == 0.5
    assert trained.best.score == trained.dev.headline > trained.epochs[0].score
    assert trained.best.scores == trained.dev.parts()
    assert "50 % beside the network" in listener.notes[-1]
    loaded = tagkit.load(tmp_path / "model", device="cpu")
    dev = gold_split(loaded, str(tmp_path / "dev.conll"), DataConfig())
    assert loaded.score(dev).to_dict()["micro"] == trained.dev.to_dict()["micro"]
    metadata = json.loads((tmp_path / "model" / "best" / "metadata.json").read_text())
    assert metadata["dev_score"] == pytest.approx(trained.dev.headline)
    last = tagkit.load(tmp_path / "model" / "last", device="cpu")
    assert last.model.feature_crf is not None
    assert float(last.model.feature_crf.share) == 0  # `last` is the network alone, as its score


def test_where_the_loss_ranks_epochs_it_stays_the_score_of_the_best(tmp_path: Path) -> None:
    config = tiny.config(tmp_path, "train.max_epochs=2", "train.lr=0.0001", "train.metric=loss")
    trained = train(config)
    assert trained.best in trained.epochs
    crf = trained.predictor.model.feature_crf
    assert crf is not None
    assert float(crf.share) == 0.5  # chosen by F1


@pytest.mark.parametrize(
    ("limited", "note"),
    [
        (False, "it has no weights"),
        (True, "it has no weights, for the time limit was too short to find them"),
    ],
)
def test_a_crf_without_weights_counts_nothing(
    monkeypatch: pytest.MonkeyPatch, limited: bool, note: str
) -> None:
    run, notes, share = run_of({0.0: 0.4}, monkeypatch)
    cast(Any, run.prepared.model.feature_crf).is_fitted = False
    cast(Any, run).budget = SimpleNamespace(is_limited=limited)
    assert cast(Any, score_dev(run)).report == 0.4
    assert float(share) == 0
    assert notes == [f"a CRF of word features counts nothing: {note}"]


@pytest.mark.parametrize("minutes", [0.0, 0.0001, 5.0])
def test_a_finished_run_that_is_resumed_with_another_time_limit_keeps_its_model(
    tmp_path: Path, minutes: float
) -> None:
    options = "train.max_epochs=1", "train.lr=0.0001"
    first = train(tiny.config(tmp_path, *options))
    file = tmp_path / "model" / "best" / "model.safetensors"
    saved = file.read_bytes()
    again = train(tiny.config(tmp_path, *options, f"train.max_minutes={minutes}"), resume=True)
    assert file.read_bytes() == saved
    assert again.dev.to_dict() == first.dev.to_dict()


@pytest.mark.slow
def test_a_stopped_run_goes_on_with_the_crf_that_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A clock may end the search at any other point; and it may take half a minute.
    def again(*_: Any) -> None:
        pytest.fail("the CRF was fitted again")

    options = "train.max_epochs=2", "train.max_minutes=5"
    for name in ("whole", "stopped"):
        (tmp_path / name).mkdir()
    whole, stopped = train(tiny.config(tmp_path / "whole", *options)), tmp_path / "stopped"
    with pytest.raises(Interrupted):
        train(tiny.config(stopped, *options), listener := StopAt(3), stop=listener.stop)
    monkeypatch.setattr(feature_crf, "fit", again)
    resumed = train(tiny.config(stopped, *options), resume=True)
    for name, tensor in whole.predictor.model.state_dict().items():
        if name.startswith("feature_crf"):
            assert torch.equal(tensor, resumed.predictor.model.state_dict()[name]), name


def test_processes_take_what_the_first_one_has_fitted(tmp_path: Path) -> None:
    prepared = prepare(tiny.config(tmp_path, "train.max_minutes=5"), torch.device("cpu"))
    crf = prepared.model.feature_crf
    assert crf is not None
    first = {name: tensor + 1 for name, tensor in crf.state_dict().items()}
    names = iter(first)

    def gather(tensor: torch.Tensor) -> torch.Tensor:
        return torch.stack((first[next(names)], tensor))

    processes = SimpleNamespace(count=2, rank=1, gather=gather)
    RunState(prepared, cast(Processes, processes), print).broadcast_fitted()
    for name, tensor in crf.state_dict().items():
        assert torch.equal(tensor, first[name]), name


@pytest.mark.slow
def test_a_search_that_time_has_ended_at_once_is_made_up_for_where_there_is_more(
    tmp_path: Path,
) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for folder in (whole, cut):
        folder.mkdir()
    train(tiny.config(whole, "train.max_epochs=2"))
    first = train(tiny.config(cut, "train.max_epochs=2", "train.max_minutes=0.0001"))
    assert first.predictor.model.feature_crf is not None
    assert not first.predictor.model.feature_crf.is_fitted
    train(tiny.config(cut, "train.max_epochs=2"), resume=True)
    files = [each / "model" / "best" / "model.safetensors" for each in (whole, cut)]
    weights = [load_file(file) for file in files]
    for name in weights[0]:
        if name.startswith("feature_crf") and not name.endswith("share"):
            assert torch.equal(weights[0][name], weights[1][name]), name


@pytest.mark.slow
@pytest.mark.parametrize("task", ["classify", "both"])
def test_a_stopped_run_goes_on_with_the_linear_model_that_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    def again(*_: Any) -> None:
        pytest.fail("it was fitted again")

    configs = [
        of_task(tmp_path / name, task, "train.max_epochs=2", "head.bag_of_words=64")
        for name in ("whole", "stopped")
    ]
    whole = train(configs[0])
    with pytest.raises(Interrupted):
        train(configs[1], listener := StopAt(3), stop=listener.stop)
    monkeypatch.setattr(BagOfWords, "fit", again)
    resumed = train(configs[1], resume=True)
    weights = [each.predictor.model.state_dict() for each in (whole, resumed)]
    names = [name for name in weights[0] if ".bag." in name]
    assert len(names) == 3
    assert weights[0]["class_head.bag.weight"].any()
    for name in weights[0]:
        assert torch.equal(weights[0][name], weights[1][name]), name
