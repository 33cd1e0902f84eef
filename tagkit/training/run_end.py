"""How a run ends: it is finished, with scores and reports, or stopped, to be resumed.

Besides the best model a run keeps predictions and reports on dev and test:

    dev.pred test.pred    the corpora with the predictions (`inference.score.prediction_files`)
    dev.gold              the gold labels of a dev corpus that was split off, if dev.pred lacks them
    report.txt            the reports as `tagkit eval` prints them
    report.json           the same as JSON, by split
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tagkit.errors import Interrupted
from tagkit.evaluation.reports.criterion import Criterion, score_text
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.reports.report_text import confusion_lines, report_lines
from tagkit.inference.predict.predictor import Predictor
from tagkit.inference.score.prediction_files import gold_text, predicted_text
from tagkit.inference.score.score import Annotated, annotated
from tagkit.limits import BATCH_SIZE
from tagkit.nn.feature_crf.feature_crf import SHARES
from tagkit.storage import encoded
from tagkit.text.json_text import notebook_html, plain, to_json
from tagkit.training.diagnosis.run_checks import Outcome, diagnose_run, loss_of_guessing
from tagkit.training.events.callbacks import CURVES, Epoch
from tagkit.training.events.finding import Finding
from tagkit.training.events.plots import drawn_curves
from tagkit.training.folder.run_files import GOLD, PREDICTED, REPORT_JSON, REPORT_TEXT
from tagkit.training.folder.run_folder import is_finished
from tagkit.training.loop.run import Ending, Run
from tagkit.wording import visible

_WIDTH = 80  # of a confusion matrix in a file
# By more than this, divided by the root of the sentences of dev, a network has to be better alone
# than with a CRF of word features, as the standard error of a difference of two scores is: for
# names of CoNLL-2003 and CoNLL-2002 0.17 to 0.28, for chunks 0.06.
_MARGIN = 0.3


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

    def _repr_html_(self) -> str:
        curves = drawn_curves(self.epochs, self.criterion).decode().partition("\n")[2]
        return curves + (notebook_html(self.dev) or "")

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
    curves = {CURVES: drawn_curves(state.epochs, run.criterion)}
    run.folder.write_results(curves, run.listener.on_note)
    examples = prepared.task.size(corpus.train)
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


def score_dev(run: Run) -> Annotated:
    """The dev corpus as the best model tags it, with the share of word features that is best there.

    Most corpora gain by a CRF of word features, but in a corpus of few and rare names it finds next
    to none, and would take away what the network finds. So its share is chosen once, with the best
    epoch's weights. That epoch is the best one by the network's scores on the same dev, which
    flatters the network alone: it has to be better than the product by more than a margin.

    The share is the model's from then on, and a note of the run says what it brought.
    """
    crf, criterion = run.prepared.model.feature_crf, run.criterion
    if crf is None:
        return _annotated_by(run)
    if not crf.is_fitted:
        # With a single tag there is nothing to weigh, however long the search is.
        was_cut = run.budget.is_limited and len(crf.transitions) > 1
        why = ", for the time limit was too short to find them" if was_cut else ""
        run.listener.on_note(f"a CRF of word features counts nothing: it has no weights{why}")
        return _annotated_by(run)
    found = []
    for share in SHARES:
        crf.share.fill_(share)
        found.append(_annotated_by(run))
    # A report has no loss: there the usual score decides.
    *products, alone = (criterion.of_report(each.report) for each in found)
    together = max(products)
    margin = _MARGIN / math.sqrt(len(run.prepared.corpus.dev.sentences))
    # Of equal scores the first. Rounding may differ between processes, which have to agree.
    chosen = SHARES.index(0.0) if alone > together + margin else products.index(together)
    best = int(run.processes.from_first_rank(float(chosen)))
    crf.share.fill_(SHARES[best])
    run.listener.on_note(_share_note(criterion, SHARES[best], together, alone))
    return found[best]


def _share_note(criterion: Criterion, share: float, together: float, alone: float) -> str:
    key = "auto" if criterion.is_loss else criterion.key
    with_it, without = score_text(key, together), score_text(key, alone)
    if not share:
        return (
            f"a CRF of word features counts nothing: on dev the network alone has {without}, and "
            f"{with_it} with it"
        )
    note = f"a CRF of word features counts {100 * share:.0f} % beside the network: on dev {with_it}"
    if with_it == without:
        return f"{note} with it and without it"
    if alone > together:
        return f"{note}, and {without} without it, which dev is too small to tell from chance"
    return f"{note}, and {without} without it"


def _annotated_by(run: Run) -> Annotated:
    return annotated(run.predictor, run.prepared.corpus.dev, batch_size=BATCH_SIZE)


def scores_of(dev: Annotated, test: Annotated | None) -> dict[str, Any]:
    """The reports as plain values, by split; None of a test corpus that is not there."""
    return {"dev": dev.report.to_dict(), "test": test.report.to_dict() if test else None}


def results(predictor: Predictor, dev: Annotated, test: Annotated | None) -> dict[str, bytes]:
    """Contents of the files, by name.

    Args:
        predictor: the best model.
        dev: scored with it.
        test: likewise; None without a test corpus.
    """
    data = predictor.config.data
    # Dev may be a part of the training file, in whose format its predictions then are.
    files = {"dev": data.dev_file or data.train_file, "test": data.test_file}
    splits: dict[str, Annotated | None] = {"dev": dev, "test": test}
    found: dict[str, str] = {}
    if predictor.task.to_predict(dev.split):
        found |= _predicted_files(predictor, splits, files)
    found[REPORT_TEXT] = "".join(f"{line}\n" for line in _text_lines(splits))
    found[REPORT_JSON] = to_json(scores_of(dev, test)) + "\n"
    return {name: encoded(text, first=True) for name, text in found.items()}


def _predicted_files(
    predictor: Predictor, splits: Mapping[str, Annotated | None], files: Mapping[str, str]
) -> dict[str, str]:
    """The corpora with the predictions, and the gold labels that are in no file."""
    data = predictor.config.data
    found = {
        PREDICTED[name]: predicted_text(predictor, each.split, each.predictions, files[name])
        for name, each in splits.items()
        if each
    }
    dev = splits["dev"]
    if dev and not data.dev_file:
        gold = gold_text(predictor, dev.split, data.train_file)
        if gold is not None:
            found[GOLD] = gold
    return found


def _text_lines(splits: dict[str, Annotated | None]) -> Iterator[str]:
    for number, (name, each) in enumerate(splits.items()):
        if each:
            yield from ("",) if number else ()
            yield visible(f"{name}: {each.split.path}")
            yield ""
            yield from map(visible, report_lines(each.report))
            yield from map(visible, confusion_lines(each.report, _WIDTH))
