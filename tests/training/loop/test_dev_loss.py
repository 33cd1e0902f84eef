"""The loss on dev, against a loop over sentences; and epochs that are chosen by it."""

import json
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from marks import mostly_slow
from runs import StopAt, digests
from says import refuses
from small_runs import of_task
from torchcrf import CRF

from tagkit.errors import DataError, Interrupted
from tagkit.features import Ids
from tagkit.features.batching.encoding import Encoded, encode
from tagkit.features.batching.targets import tag_target
from tagkit.inference.score.score import DevScores
from tagkit.models.base.device import to_tensors
from tagkit.models.tagging.tagger import Tagger
from tagkit.text.schemes import convert
from tagkit.training.loop.dev_loss import NO_LOSS, DevLoss
from tagkit.training.setup.setup import Prepared, prepare
from tagkit.training.trainer import train

CPU = torch.device("cpu")


def by_hand(prepared: Prepared, known: set[str]) -> float:
    """pytorch-crf, one sentence at a time; sentences with other labels are left out."""
    model = prepared.model
    assert isinstance(model, Tagger)
    model.eval()
    crf = CRF(len(prepared.vocabulary.tags), batch_first=True)
    crf.load_state_dict(model.head.crf.state_dict())
    total, tokens = 0.0, 0
    for sentence in prepared.corpus.dev.sentences:
        tags = convert(sentence.tags or (), prepared.config.data.train_scheme)
        if not {tag.partition("-")[2] for tag in tags} - {""} <= known:
            continue
        one = [type(sentence)(sentence.words, tags)]
        targets = {"tags": tag_target(one, prepared.vocabulary)}
        batch = to_tensors(encode(one, prepared.vocabulary, targets, chars=True).batch([0]))
        with torch.no_grad():
            emissions = model.head.emissions(model.states(batch))
            total -= float(crf(emissions, batch.target("tags"), batch.tokens.mask))
        tokens += len(sentence)
    return total / tokens


@pytest.fixture
def prepared(tmp_path: Path) -> Prepared:
    torch.manual_seed(1)
    config = tiny.config(tmp_path, "encoder.dropout=0.5", "train.batch_size=3")
    dev = [["Ada\tB-PER", "left\tO"], ["Oslo\tB-LOC"], ["Acme\tB-ORG", "left\tO"],
           ["New\tB-LOC", "York\tI-LOC", "likes\tO", "Eve\tB-PER"]]  # fmt: skip
    tiny.write(tmp_path / "dev.conll", dev)
    return prepare(config, CPU)


def test_it_is_that_of_a_loop_without_sentences_whose_labels_train_lacks(
    prepared: Prepared,
) -> None:
    before = torch.get_rng_state()
    found = DevLoss(prepared).compute()
    assert torch.equal(torch.get_rng_state(), before)  # nothing random was drawn
    assert found == pytest.approx(by_hand(prepared, {"PER", "LOC"}), rel=1e-5)
    assert DevLoss(prepared).compute() == found


def test_one_that_is_not_finite_or_not_defined_is_none(prepared: Prepared, tmp_path: Path) -> None:
    with torch.no_grad():
        next(prepared.model.parameters()).fill_(float("nan"))
    assert DevLoss(prepared).compute() is None
    tiny.write(tmp_path / "dev.conll", [["Acme\tB-ORG"]])
    config = tiny.small(tmp_path, "train.metric=loss")
    assert DevLoss(prepare(config, CPU)).compute() is None
    files = f"{tmp_path}/dev.conll", f"{tmp_path}/train.conll"
    with refuses(DataError, "train.metric=loss: ", *files):
        train(config)
    assert not (tmp_path / "model" / "best").exists()


@pytest.mark.parametrize("task", ["classify", "both"])
def test_of_other_tasks_it_is_their_loss_of_all_dev_in_one_batch(tmp_path: Path, task: str) -> None:
    prepared = prepare(of_task(tmp_path, task, "train.batch_size=3"), CPU)
    sentences = prepared.task.examples(prepared.config, prepared.corpus.dev)
    targets = prepared.task.targets(sentences, prepared.vocabulary)
    whole = encode(sentences, prepared.vocabulary, targets, chars=True)
    prepared.model.eval()
    with torch.no_grad():
        total, count = prepared.model(to_tensors(whole.batch(range(len(whole)))))
    assert DevLoss(prepared).compute() == pytest.approx(float(total / count), rel=1e-5)


def test_it_is_computed_in_32_bits_whatever_the_precision_of_training(tmp_path: Path) -> None:
    # Without gradients the characters are read from cached rows, which autocast would not fit.
    found = []
    for precision in ("fp32", "bf16"):
        torch.manual_seed(1)
        config = tiny.config(tmp_path, f"train.precision={precision}")
        found.append(DevLoss(prepare(config, CPU)).compute())
    assert found[0] is not None
    assert found[0] == found[1]


def test_its_duration_is_estimated_from_the_tokens_of_a_sample(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, batch = [0.0], Encoded.batch

    def timed(self: Encoded, indices: Ids) -> Any:
        now[0] += 0.5 * int(self.lengths[indices].sum())
        return batch(self, indices)

    monkeypatch.setattr(Encoded, "batch", timed)
    monkeypatch.setattr("tagkit.training.loop.dev_loss.time.perf_counter", lambda: now[0])
    dev_loss = DevLoss(prepared)  # of 2, 1 and 4 tokens; the sentence with ORG has no loss
    assert dev_loss.estimate_s(3) == 0.5 * 7
    before = now[0]
    assert dev_loss.estimate_s(1) == pytest.approx(0.5 * 7)  # of the first and the third
    assert now[0] - before < 0.5 * 7


LOSSES = [0.9, 0.4, 0.4, 0.7, 0.3]
SCORES = [0.5, 0.6, 0.9, 0.7, 0.8]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "best", "marks"),
    [("auto", 3, [1, 1, 1, 0, 0]), ("loss", 5, [1, 1, 0, 0, 1])],
)
def test_of_one_history_each_metric_selects_its_own_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metric: str, best: int, marks: list[int]
) -> None:
    losses, scores = iter(LOSSES), iter(SCORES)
    monkeypatch.setattr(
        "tagkit.training.loop.run.dev_scores", lambda *_: DevScores(next(scores), {})
    )
    monkeypatch.setattr(DevLoss, "compute", lambda _: next(losses))
    config = of_task(
        tmp_path, "tag", "train.max_epochs=5", "train.patience=0", f"train.metric={metric}"
    )
    trained = train(config)
    assert trained.best.number == best
    assert [epoch.is_best for epoch in trained.epochs] == [bool(mark) for mark in marks]
    lines = (trained.folder / "history.jsonl").read_text("utf-8").splitlines()
    history = [json.loads(line) for line in lines]
    assert [line["dev_loss"] for line in history] == LOSSES
    assert [line["dev"] for line in history] == (LOSSES if metric == "loss" else SCORES)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "scores", "epochs"),
    # Learning has begun with the first score above 0; a loss of 0 cannot be improved on.
    [("auto", [0, 0, 0, 0.1, 0.1, 0.1, 0.2], 6), ("auto", [0] * 7, 7), ("loss", [0] * 7, 3)],
)
def test_patience_counts_from_the_first_score_above_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metric: str, scores: list[float], epochs: int
) -> None:
    left = iter(scores)
    monkeypatch.setattr("tagkit.training.loop.run.dev_scores", lambda *_: DevScores(next(left), {}))
    monkeypatch.setattr(DevLoss, "compute", lambda _: 0.0)
    config = of_task(
        tmp_path, "tag", "train.max_epochs=7", "train.patience=2", f"train.metric={metric}"
    )
    trained = train(config)
    assert len(trained.epochs) == epochs
    assert trained.ended == ("patience" if epochs < 7 else "epochs")


def test_a_loss_that_is_not_finite_is_the_worst(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = iter([None, 2.0, None])
    monkeypatch.setattr(DevLoss, "compute", lambda _: next(losses))
    trained = train(of_task(tmp_path, "tag", "train.max_epochs=3", "train.metric=loss"))
    assert [epoch.score for epoch in trained.epochs] == [NO_LOSS, 2.0, NO_LOSS]
    assert trained.best.number == 2


@pytest.mark.slow
def test_a_plateau_of_the_loss_lowers_the_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = iter([3.0, 2.0, 2.5, 2.5, 2.5, 1.0])
    monkeypatch.setattr(DevLoss, "compute", lambda _: next(losses))
    config = of_task(
        tmp_path, "tag", "train.schedule=plateau", "train.lr=0.02",
        "train.max_epochs=6", "train.metric=loss",
    )  # fmt: skip
    assert [epoch.lr for epoch in train(config).epochs] == [*[0.02] * 5, 0.01]


@pytest.mark.slow
@pytest.mark.parametrize("metric", mostly_slow(["loss", "f1:PER"], always=1))
def test_a_run_that_was_stopped_ends_with_the_same_best_model(tmp_path: Path, metric: str) -> None:
    options = [f"train.metric={metric}", "encoder.dropout=0.2", "train.max_epochs=3"]
    whole = train(tiny.config(tmp_path, *options))
    expected = digests(tmp_path)
    config = tiny.small(tmp_path, *options, f"output.dir={tmp_path / 'again' / 'model'}")
    listener = StopAt(14)
    with pytest.raises(Interrupted):
        train(config, listener, stop=listener.stop)
    resumed = train(config, resume=True)
    assert digests(tmp_path / "again") == expected
    assert [e.score for e in resumed.epochs] == [e.score for e in whole.epochs]
    assert [e.dev_loss for e in resumed.epochs] == [e.dev_loss for e in whole.epochs]
    ordered = sorted(whole.epochs, key=lambda e: e.score, reverse=metric != "loss")
    assert whole.best.score == ordered[0].score
