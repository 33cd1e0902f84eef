"""How a run ends: it is finished, with scores and reports, or stopped, to be resumed."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tagkit.errors import Interrupted
from tagkit.evaluation.reports.criterion import Criterion
from tagkit.evaluation.reports.report import Report
from tagkit.inference.predict.predictor import Predictor
from tagkit.inference.score.score import Annotated, annotated
from tagkit.limits import BATCH_SIZE
from tagkit.text.json_text import plain
from tagkit.training.diagnosis.guessing import loss_of_guessing
from tagkit.training.diagnosis.run_checks import Outcome, diagnose_run
from tagkit.training.events.callbacks import Epoch
from tagkit.training.events.finding import Finding
from tagkit.training.feature_share import score_dev
from tagkit.training.folder.run_cleanup import is_finished
from tagkit.training.loop.run import Ending, Run
from tagkit.training.results import results, scores_of


@dataclass(frozen=True, slots=True)
class Trained:
    """The result of a run.

    Attributes:
        predictor: the best epoch's model.
        epochs: all of them.
        best: the one whose model was kept.
        dev: report of the best model on dev.
        test: report on test; None without a test corpus.
        folder: where the model is.
        criterion: what the best epoch was chosen by.
        results: contents of the files with predictions and reports, by name; none of a process
            that writes nothing.
        ended: why there was no further epoch: all were done, dev did not get better for
            `patience` epochs, or `max_minutes` were over.
        skipped: steps whose loss or gradients were not finite.
        findings: what is wrong with the corpora, and with how training went.
    """

    predictor: Predictor
    epochs: tuple[Epoch, ...]
    best: Epoch
    dev: Report
    test: Report | None
    folder: Path
    criterion: Criterion
    results: Mapping[str, bytes] = field(repr=False)
    ended: Ending
    skipped: int
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """What the run was and found, as values that JSON has; without model and predictions."""
        return {
            "folder": str(self.folder),
            "ended": self.ended,
            "skipped": self.skipped,
            "metric": self.criterion.key,
            "best": plain(self.best),
            "epochs": plain(self.epochs),
            "dev": plain(self.dev),
            "test": plain(self.test),
            "findings": plain(self.findings),
        }


def finish(run: Run, ended: Ending, findings: tuple[Finding, ...]) -> Trained:
    """Save the last epoch's model, score the best one, and save that again with its scores."""
    state, predictor, prepared = run.state, run.predictor, run.prepared
    if ended == "time" and (note := state.schedule.end_note()):
        run.listener.on_note(note)
    with state.optimizer.averaged():
        run.save_model("last", state.epochs[-1])
    corpus = prepared.corpus
    dev, best = _best_on_dev(run)
    test = annotated(predictor, corpus.test, batch_size=BATCH_SIZE) if corpus.test else None
    run.save_model("best", best, scores=scores_of(dev, test))
    kept = results(predictor, dev, test) if run.folder.writes else {}
    run.folder.write_results(kept, run.listener.on_note)
    run.processes.barrier()  # no process returns before the first has written the model
    run.folder.write_curves(state.epochs, run.criterion, run.listener.on_note)
    examples = len(corpus.train.sentences) if prepared.task.annotates else corpus.train.tokens
    outcome = Outcome(
        tuple(state.epochs), run.criterion.key, dev.report, state.skipped, state.rollbacks,
        examples, loss_of_guessing(prepared), prepared.config, ended,
    )  # fmt: skip
    found = diagnose_run(outcome)
    for finding in found:
        run.listener.on_finding(finding)
    return Trained(
        predictor=predictor,
        epochs=tuple(state.epochs),
        best=best,
        dev=dev.report,
        test=test.report if test else None,
        folder=run.folder.path,
        criterion=run.criterion,
        results=kept,
        ended=ended,
        skipped=state.skipped,
        findings=findings + found,
    )


def interrupt(run: Run) -> None:
    """Save a checkpoint to resume from, and the models of the last and of the best epoch.

    Raises:
        Interrupted: always.
    """
    state, prepared = run.state, run.prepared
    run.checkpoint()  # before all that takes longer: a second signal ends at once
    epoch, step = len(state.epochs) + 1, state.step
    with state.optimizer.averaged():
        run.folder.save_model("last", prepared, {**run.facts, "epoch": epoch, "step": step})
    # After its epoch the best model was saved as the network alone. One that has its scores is that
    # of a finished run, which the epochs since then have not replaced.
    is_scored = run.processes.from_first_rank(float(is_finished(run.folder.path)))
    if state.epochs and prepared.model.feature_crf is not None and not is_scored:
        _, best = _best_on_dev(run)
        run.save_model("best", best)
    run.processes.barrier()  # none ends while the first one is still writing
    raise Interrupted(
        f"stopped after step {step}, in epoch {epoch}; a checkpoint to resume from is in "
        f"{run.folder.path}"
    )


def _best_on_dev(run: Run) -> tuple[Annotated, Epoch]:
    """Dev as the best epoch's model tags it, with what its word features add; and the epoch.

    The model has those weights from then on.
    """
    state = run.state
    state.load_best()
    dev, best = score_dev(run), state.best
    if run.prepared.model.feature_crf is not None and not run.criterion.is_loss:
        # Of the model that is saved: those of an epoch are of the network alone.
        score, parts = run.criterion.of_report(dev.report), dict(dev.report.parts())
        best = replace(best, score=score, scores=parts)
    return dev, best
