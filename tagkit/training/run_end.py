"""How a run ends: it is finished, with scores and reports, or stopped, to be resumed.

Besides the best model a run keeps predictions and reports on dev and test:

    dev.pred test.pred    the corpora with the predictions (`inference.score.prediction_files`)
    dev.gold              the gold labels of a dev corpus that was split off, if dev.pred lacks them
    report.txt            the reports as `tagkit eval` prints them
    report.json           the same as JSON, by split
    curves.svg            loss and dev score of the epochs
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tagkit.errors import Interrupted
from tagkit.evaluation.reports.criterion import Criterion, scaled, score_text
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.reports.report_text import confusion_lines, report_lines
from tagkit.html.chart import FILE, FILE_TICKS, Axis, Chart, label, picture, round_ticks, straight
from tagkit.html.elements import Child, element
from tagkit.inference.predict.predictor import Predictor
from tagkit.inference.score.prediction_files import gold_text, predicted_text
from tagkit.inference.score.score import Annotated, annotated
from tagkit.limits import BATCH_SIZE
from tagkit.nn.feature_crf.feature_crf import SHARES
from tagkit.storage import encoded
from tagkit.text.json_text import notebook_html, plain, to_json
from tagkit.training.diagnosis.run_checks import Outcome, diagnose_run, loss_of_guessing
from tagkit.training.events.callbacks import CURVES, Epoch, Finding
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
    scores = {"dev": dev.report.to_dict(), "test": test.report.to_dict() if test else None}
    run.save_model("best", best, scores=scores)
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


def results(predictor: Predictor, dev: Annotated, test: Annotated | None) -> dict[str, bytes]:
    """Contents of the files, by name.

    Args:
        predictor: the best model.
        dev: scored with it.
        test: likewise; None without a test corpus.
    """
    data, found = predictor.config.data, dict[str, str]()
    # Dev may be a part of the training file, in whose format its predictions then are.
    files = {"dev": data.dev_file or data.train_file, "test": data.test_file}
    splits = {name: each for name, each in (("dev", dev), ("test", test)) if each}
    if predictor.task.to_predict(dev.split):
        for name, each in splits.items():
            predicted = predicted_text(predictor, each.split, each.predictions, files[name])
            found[PREDICTED[name]] = predicted
        gold = None if data.dev_file else gold_text(predictor, dev.split, data.train_file)
        if gold is not None:
            found[GOLD] = gold
    found[REPORT_TEXT] = "".join(f"{line}\n" for line in _text_lines(splits))
    reports = {"dev": dev.report.to_dict(), "test": test.report.to_dict() if test else None}
    found[REPORT_JSON] = to_json(reports) + "\n"
    return {name: encoded(text, first=True) for name, text in found.items()}


def _text_lines(splits: Mapping[str, Annotated]) -> Iterator[str]:
    for number, (name, each) in enumerate(splits.items()):
        yield from ("",) if number else ()
        yield visible(f"{name}: {each.split.path}")
        yield ""
        yield from map(visible, report_lines(each.report))
        yield from map(visible, confusion_lines(each.report, _WIDTH))


# Curves of a run's loss and dev score as a picture, curves.svg: two plots side by side.
_PLOT_WIDTH, _PLOT_HEIGHT = 400, 300  # pixels of a plot with its labels
_SPACE = 0.05  # of an axis, free at both ends
_COLOURS = ("#1f77b4", "#ff7f0e")


def drawn_curves(epochs: Sequence[Epoch], criterion: Criterion) -> bytes:
    """The content of curves.svg: all epochs, in order, whose scores are of `criterion`."""
    losses = {"train": [epoch.loss for epoch in epochs]}
    dev_losses = [epoch.dev_loss for epoch in epochs if epoch.dev_loss is not None]
    if len(dev_losses) == len(epochs):
        losses["dev"] = dev_losses
    scores = {"dev": [scaled(criterion.key, epoch.score) for epoch in epochs]}
    numbers = [epoch.number for epoch in epochs]
    best = max(epoch.number for epoch in epochs if epoch.is_best)
    plots = (
        _plot(numbers, losses, "loss (nats)", "loss", None),
        _plot(numbers, scores, "dev score", f"dev {criterion.name}", best),
    )
    beside = (
        element("g", *parts, transform=f"translate({_PLOT_WIDTH * place} 0)")
        for place, parts in enumerate(plots)
    )
    return encoded(picture(_PLOT_WIDTH * len(plots), _PLOT_HEIGHT, beside), first=True)


def _plot(
    epochs: Sequence[int],
    curves: Mapping[str, Sequence[float]],
    name: str,
    title: str,
    marked: int | None,
) -> Iterator[Child]:
    """Elements of SVG of curves over epochs, in an area whose corner is at (0, 0).

    Args:
        epochs: their numbers, the same for all curves.
        curves: a value for each epoch, by the name of the curve.
        name: of the vertical axis.
        title: of the plot.
        marked: number of an epoch that gets a vertical line; None for no line.
    """
    values = [value for curve in curves.values() for value in curve]
    chart = Chart(
        # There is no epoch 2.5.
        _axis(epochs[0], epochs[-1], "epoch", least_step=1),
        _axis(min(values), max(values), name),
        _PLOT_WIDTH, _PLOT_HEIGHT, FILE,
    )  # fmt: skip
    yield from chart.framed(title)
    top = chart.margins.top
    if marked is not None:
        x, _ = chart.place((marked, values[0]))
        yield straight(x, top, x, chart.bottom, f"best epoch: {marked}", stroke="#888",
                       stroke_dasharray="2 3")  # fmt: skip
    for (curve, points), colour in zip(curves.items(), _COLOURS, strict=False):
        places = list(zip(epochs, points, strict=True))
        yield chart.line(places, fill="none", stroke=colour, stroke_width="1.5")
        for epoch, value in places:
            yield chart.dot((epoch, value), 2.5, f"epoch {epoch}, {curve}: {value:.6g}",
                            fill=colour)  # fmt: skip
    for number, (curve, colour) in enumerate(zip(curves, _COLOURS, strict=False)):
        if len(curves) > 1:
            place = chart.right - 8, top + 18 + 16 * number
            yield label(*place, curve, text_anchor="end", fill=colour)


def _axis(low: float, high: float, name: str, *, least_step: float = 0.0) -> Axis:
    ticks = round_ticks(low, high, FILE_TICKS, least=least_step)
    return Axis(low, high, [(tick, f"{tick:g}") for tick in ticks], name, space=_SPACE)
