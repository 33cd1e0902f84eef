"""How a run ends: what a stopped one leaves is as good as what it has learnt, and fits together."""

import json
from pathlib import Path

import pytest
import tiny
from runs import StopAt

import tagkit
from tagkit.config import DataConfig
from tagkit.errors import Interrupted
from tagkit.inference.score.score import gold_split
from tagkit.training.events.callbacks import Listener
from tagkit.training.folder.run_files import RESULTS
from tagkit.training.trainer import train

# The network learns next to nothing, so that all is of the CRF of word features.
SLOW = "train.lr=0.0001"
STEPS = 10  # of an epoch


def stopped(folder: Path, after: int, *options: str, resume: bool = False) -> StopAt:
    """What a run tells that is stopped after some of its steps."""
    listener = StopAt(after)
    with pytest.raises(Interrupted):
        train(tiny.config(folder, SLOW, *options), listener, stop=listener.stop, resume=resume)
    assert listener.count == after
    return listener


def files_of(folder: Path) -> dict[str, bytes]:
    """The best model, and the results, of a run."""
    found = [*(folder / "model" / "best").iterdir(), *map((folder / "model").joinpath, RESULTS)]
    return {path.name: path.read_bytes() for path in found if path.exists()}


def score_of(folder: Path) -> float:
    """What the best model of a run scores on dev."""
    model = tagkit.load(folder / "model", device="cpu")
    return model.score(gold_split(model, str(folder / "dev.conll"), DataConfig())).headline


def test_the_best_model_of_a_stopped_run_has_what_its_word_features_add(tmp_path: Path) -> None:
    heard = stopped(tmp_path, STEPS + 1)
    crf = tagkit.load(tmp_path / "model", device="cpu").model.feature_crf
    assert crf is not None
    assert float(crf.share) == 0.5
    (epoch,) = heard.epochs
    assert score_of(tmp_path) > epoch.score + 0.3
    assert heard.notes[-1].startswith("a CRF of word features counts 50 % beside the network: on ")
    metadata = json.loads((tmp_path / "model" / "best" / "metadata.json").read_text())
    assert metadata["dev_score"] == pytest.approx(score_of(tmp_path))
    assert (metadata["epoch"], "scores" in metadata) == (1, False)  # the run is not finished
    resumed = train(tiny.config(tmp_path, SLOW, "train.max_epochs=2"), resume=True)
    assert resumed.epochs[0].score == epoch.score


def test_a_run_that_is_stopped_before_its_first_epoch_ends_has_no_best_model(
    tmp_path: Path,
) -> None:
    heard = stopped(tmp_path, 2)
    assert not (tmp_path / "model" / "best").exists()
    assert (tmp_path / "model" / "last").exists()
    assert heard.notes == []


def test_a_finished_run_that_goes_on_and_is_stopped_keeps_its_model_until_a_better_one(
    tmp_path: Path,
) -> None:
    train(tiny.config(tmp_path, SLOW, "train.max_epochs=1"))
    finished = files_of(tmp_path)
    assert {"dev.pred", "report.json", "report.txt"} <= finished.keys()
    stopped(tmp_path, 1, "train.max_epochs=9", resume=True)
    assert files_of(tmp_path) == finished


@pytest.mark.slow
def test_a_finished_run_that_goes_on_loses_the_reports_of_a_model_that_is_replaced(
    tmp_path: Path,
) -> None:
    train(tiny.config(tmp_path, "train.lr=0.002", "train.max_epochs=1"))
    config = tiny.config(tmp_path, "train.lr=0.002", "train.max_epochs=9")
    listener = StopAt(STEPS)
    before = score_of(tmp_path)
    with pytest.raises(Interrupted):
        train(config, listener, stop=listener.stop, resume=True)
    (epoch,) = listener.epochs
    assert epoch.is_best
    assert not {"dev.pred", "report.json", "report.txt"} & files_of(tmp_path).keys()
    assert score_of(tmp_path) > before - 0.05  # and not the few percent of the network alone
    report = train(config, resume=True).dev.to_dict()
    assert json.loads((tmp_path / "model" / "report.json").read_text())["dev"] == report


def test_the_model_of_an_epoch_that_a_time_limit_cut_is_named_before_it_is_replaced(
    tmp_path: Path,
) -> None:
    train(tiny.config(tmp_path, "train.max_minutes=0.00001"))
    heard = StopAt(10**6)
    train(tiny.config(tmp_path, "train.max_epochs=1"), heard, resume=True)
    best = tmp_path / "model" / "best"
    assert heard.notes[:2] == [
        "resuming after step 3",
        f"{best} holds the model of epoch 1, in which the time limit fell: that of the best whole "
        "epoch will replace it",
    ]
    again = StopAt(10**6)
    train(tiny.config(tmp_path, "train.max_epochs=1"), again, resume=True)
    assert not any("time limit" in note for note in again.notes)


def test_a_run_that_its_time_limit_ends_within_the_warm_up_says_so(tmp_path: Path) -> None:
    notes: list[str] = []

    class Notes(Listener):
        def on_note(self, text: str) -> None:
            notes.append(text)

    options = ["train.max_epochs=1000", "train.max_minutes=0.0001", "train.warmup_steps=5000"]
    trained = train(tiny.config(tmp_path, *options, "head.feature_crf=0"), Notes())
    assert trained.ended == "time"
    assert [note for note in notes if "within the warm-up of train.warmup_steps = 5,000" in note]
