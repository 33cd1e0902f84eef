"""A training run on standard error: the corpora, the model, a row for each epoch, the report."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tagkit.cli.program.console import ProgressBar, StepColumn, note, show_line
from tagkit.cli.program.messages import DEFAULT_WIDTH, short_paths, width_of, with_flags
from tagkit.cli.shown.reports import columns_text
from tagkit.corpus.records.dataset import Split
from tagkit.corpus.splits.counts import column_counts
from tagkit.evaluation.reports.criterion import AUTO, LOSS, scaled, score_text
from tagkit.evaluation.reports.report_text import label_cell, report_lines, table
from tagkit.models.base.description import Description
from tagkit.text.schemes import has_spans
from tagkit.text.unit_kinds import UNIT_KINDS
from tagkit.training.diagnosis.corpus_checks import (
    UnknownUnits,
    unknown_units,
    words_without_blanks,
)
from tagkit.training.events.callbacks import Epoch, Finding, Listener, Step
from tagkit.training.run_end import Trained
from tagkit.training.setup.setup import Prepared
from tagkit.training.several.seeds import TrainedSeeds, label_spreads, mean_and_deviation
from tagkit.wording import (
    as_path_argument,
    cells,
    label_of,
    listed,
    padded,
    plural,
    plural_of,
    shown_name,
    visible,
)

# Eighths of a line's height.
_BARS = "▁▂▃▄▅▆▇█"
_MOST_BARS = 50  # with its label and values, a line of 80 columns


class Progress(ProgressBar, Listener):
    """Shows a training run on standard error."""

    def __init__(self) -> None:
        """A progress bar where there is a terminal."""
        self._steps = StepColumn()
        super().__init__("reading", None, self._steps)
        self._measure, self._metric = "F1", AUTO
        self._columns: dict[str, str] = {}  # heads, by names in `Epoch.scores`
        self._factor = 100  # of the scores in these columns
        self._findings: list[Finding] = []  # not yet shown
        self._seeds = 1

    def on_seed(self, seed: int, number: int, count: int) -> None:
        """End the output of the seed before, and show which one follows."""
        self._show_findings()
        self._seeds = count
        if number > 1:
            show_line("")
        show_line(f"seed {seed} ({number} of {count})")

    def on_fit(self, number: int) -> None:
        """Say what takes the time before the first step: minutes, with hundreds of tags."""
        self._bar.update(self._task, description=f"fitting word features, pass {number}")

    def on_start(self, prepared: Prepared, threads: int) -> None:
        """Show the splits, the model, and the head of the table."""
        description = prepared.task.describe(prepared.config)
        for line in start_lines(prepared, description, threads, self._seeds):
            show_line(line)
        self._show_findings()
        # Of several seeds each is a run of its own.
        self._steps.restart("seed" if self._seeds > 1 else "run")
        criterion = prepared.criterion
        self._measure, self._metric = criterion.name, criterion.key
        columns = {**criterion.beside, **description.columns}
        if criterion.part is not None:
            columns.pop(criterion.part, None)  # it has the column of the criterion
        self._columns = columns
        self._factor = 100 if description.shares else 1
        show_line("")
        show_line(table_head(self._measure, self._columns))

    def on_step(self, step: Step) -> None:
        """Move the bar."""
        self._steps.add(step)

    def on_epoch(self, epoch: Epoch) -> None:
        """Show a row of the table."""
        row = table_row(epoch, self._measure, self._metric, self._columns, self._factor)
        show_line(row, is_best=epoch.is_best)

    def on_note(self, text: str) -> None:
        """Show it on a line."""
        note(text)

    def on_finding(self, finding: Finding) -> None:
        """Keep it, to be shown below the lines of the corpora, or below the report."""
        self._findings.append(finding)

    def _show_findings(self) -> None:
        if self._findings:
            show_line("")
        for finding in self._findings:
            note(f"warning: {finding.text}")
        self._findings.clear()

    def on_seeds(self, trained: TrainedSeeds) -> None:
        """Show a row for each seed, mean and deviation, the best one's report, the next command."""
        self._bar.stop()
        best = trained.best.predictor.config.train.seed
        for line in seed_lines(trained, self._measure):
            show_line(line, is_best=line.endswith("  *"))
        for line in label_lines(trained, width_of(sys.stderr) or DEFAULT_WIDTH):
            show_line(line)
        show_line("")
        show_line(f"best on dev: seed {best}{'; test:' if trained.best.test else ''}")
        self._report(trained.best, trained.folder)

    def on_end(self, trained: Trained) -> None:
        """Show the best epoch, the report on test, and the next command."""
        self._bar.stop()  # before the next line, which would be written into the bar
        stopped = ""
        if trained.ended == "patience":
            stopped = f" (stopped: not better for {plural(_waited(trained), 'epoch')})"
        if trained.ended == "time":
            stopped = " (time limit reached; --resume continues)"
        best = trained.best
        ending = "; test:" if trained.test else ""
        # After a resume, of all epochs of the run and not only of those since.
        for line in curves(trained.epochs, f"dev {self._measure}", self._metric):
            show_line(line)
        show_line(
            f"best epoch {best.number}, dev {self._measure} "
            f"{score_text(self._metric, best.score)}{stopped}{ending}"
        )
        self._report(trained, trained.folder)

    def _report(self, trained: Trained, folder: Path) -> None:
        """Show the report on test, and the next command."""
        if trained.test:
            show_line("")
            for line in report_lines(trained.test, width_of(sys.stderr)):
                show_line(line)
        # best/ is the model; the rest of the folder is for resuming and for the record.
        size = sum(file.stat().st_size for file in (folder / "best").iterdir())
        self._show_findings()
        show_line("")
        show_line(f"saved {folder} ({size_text(size)})")
        if any(finding.useless for finding in trained.findings):
            show_line("Before you use it, see the warning above")
        else:
            predictor = trained.predictor
            use = predictor.task.describe(predictor.config).use
            file = "" if use == "generate" else " FILE"
            show_line(f"Next: tagkit {use} {as_path_argument(folder)}{file}")


def table_head(measure: str, columns: Mapping[str, str]) -> str:
    """Head of the table of epochs.

    Args:
        measure: name of the number that selects the best epoch.
        columns: heads of further metrics, by their names in `Epoch.scores`.
    """
    added = "".join(f"  {padded(f'dev {head}', 8)}" for head in columns.values())
    loss = "" if measure == LOSS else "  dev loss"
    score = padded(f"dev {measure}", 8)
    return f"epoch      loss{loss}  {score}{added}        lr  tokens/s"


def table_row(
    epoch: Epoch, measure: str, metric: str, columns: Mapping[str, str], factor: int = 100
) -> str:
    """An epoch; * where it is the best so far.

    Args:
        epoch: to be shown.
        measure: as in the head of the table.
        metric: value of `train.metric`.
        columns: as in the head of the table.
        factor: of the scores in these columns, 100 for percent.
    """
    star = "  *" if epoch.is_best else ""
    # A run that is resumed may have epochs of a version without the metric.
    added = "".join(
        f"  {factor * epoch.scores.get(key, 0.0):>{max(8, cells(head) + 4)}.2f}"
        for key, head in columns.items()
    )
    # Chosen by its loss, an epoch has the loss on dev as its score.
    loss = "-" if epoch.dev_loss is None else f"{epoch.dev_loss:z.4f}"
    loss = "" if measure == LOSS else f"  {loss:>8}"
    score = f"{score_text(metric, epoch.score):>{max(8, cells(measure) + 4)}}"
    return (
        f"{epoch.number:>5}  {epoch.loss:>z8.4f}{loss}  {score}{added}  "
        f"{epoch.lr:>8.6f}  {epoch.tokens_per_s:>8,.0f}{star}"
    )


def seed_lines(trained: TrainedSeeds, measure: str) -> Iterator[str]:
    """A row for each seed, then mean and standard deviation."""
    scores = trained.scores
    # Either all seeds have a test score or none: they share the configuration.
    metric = trained.best.criterion.key
    columns = {f"dev {measure}": [scaled(metric, score.dev) for score in scores]}
    digits = [4 if metric == LOSS else 2]
    if scores[0].test is not None:
        predictor = trained.best.predictor
        # The headline of a language model is its loss; that of labels is a share in any case.
        is_share = predictor.task.describe(predictor.config).shares
        name = "test" if is_share else f"test {measure}"
        columns[name] = [(100 if is_share else 1) * (score.test or 0.0) for score in scores]
        digits.append(2 if is_share else 4)
    rows = []
    for row, score in enumerate(scores):
        star = "*" if score.seed == trained.best.predictor.config.train.seed else ""
        figures = [values[row] for values in columns.values()]
        rows.append([str(score.seed), str(score.epoch), *_figures(figures, digits), star])
    for number, name in enumerate(("mean", "standard deviation")):
        figures = [mean_and_deviation(values)[number] for values in columns.values()]
        rows.append([name, "", *_figures(figures, digits), ""])
    yield ""
    yield from table("seed", ["epoch", *columns, ""], rows, DEFAULT_WIDTH)


def _figures(figures: Sequence[float], digits: Sequence[int]) -> list[str]:
    return [f"{figure:.{after}f}" for figure, after in zip(figures, digits, strict=True)]


def label_lines(trained: TrainedSeeds, width: int = DEFAULT_WIDTH) -> Iterator[str]:
    """Mean and standard deviation of each label's scores over the seeds, in percent."""
    split = "test" if trained.best.test else "dev"
    for kind, spreads in label_spreads(trained.scores).items():
        if not spreads:
            continue
        what = {"types": "type", "classes": "class"}.get(kind) or label_of(kind)
        yield ""
        yield f"each {what} on {split}, mean ± standard deviation of {len(trained.scores)} seeds:"
        yield ""
        rows = []
        for each in spreads:
            figures = [
                f"{100 * mean:.2f} ± {100 * deviation:>5.2f}"
                for mean, deviation in (each.precision, each.recall, each.f1)
            ]
            rows.append([label_cell(each.label), *figures, f"{each.support:,}"])
        yield from table("", ["precision", "recall", "f1", "support"], rows, width)


def curves(epochs: Sequence[Epoch], measure: str, metric: str) -> Iterator[str]:
    """Loss and dev score from the first epoch to the last, each on a line; none of one epoch."""
    if len(epochs) > 1:
        losses = [epoch.loss for epoch in epochs]
        scores = [scaled(metric, epoch.score) for epoch in epochs]
        first, last = (score_text(metric, epoch.score) for epoch in (epochs[0], epochs[-1]))
        width = max(8, cells(measure))
        yield ""
        yield f"{'loss':<{width}}  {sparkline(losses)}  {losses[0]:z.4f} to {losses[-1]:z.4f}"
        yield f"{padded(measure, width)}  {sparkline(scores)}  {first} to {last}"


def size_text(size: int) -> str:
    """Bytes as '2.4 MB', or as '97 kB' where that would be 0.0."""
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.0f} kB"


def sparkline(values: Sequence[float]) -> str:
    """A bar for each value, the highest for the largest; of many the last of each few."""
    if len(values) > _MOST_BARS:  # of as many values each, but for one, up to the last value
        ends = [(bar + 1) * len(values) // _MOST_BARS for bar in range(_MOST_BARS)]
        values = [values[end - 1] for end in ends]
    low, high = min(values), max(values)
    step = (high - low) / (len(_BARS) - 1) or 1  # equal values: a flat line, no division by 0
    return "".join(_BARS[round((value - low) / step)] for value in values)


def _waited(trained: Trained) -> int:
    return len(trained.epochs) - trained.best.number


# What a training run shows before its first epoch: the corpora and the model.

# Share of units that a language model does not know, above which the perplexity misleads.
_MANY_UNKNOWN = 0.2
# Units of which fewer are unknown.
_FEWER_UNKNOWN = {"word": "characters or byte pairs", "character": "byte pairs"}


def start_lines(
    prepared: Prepared, description: Description, threads: int, seeds: int
) -> Iterator[str]:
    """The splits, what was decided from them, and the model.

    Args:
        prepared: what is trained.
        description: of the model.
        threads: of the CPU.
        seeds: number of models that are trained one after another.
    """
    corpus = prepared.corpus
    splits: dict[str, Split | None] = {
        "train": corpus.train,
        "dev": corpus.dev,
        "test": corpus.test,
    }
    unknown = unknown_units(prepared)
    yield from _split_lines(splits, prepared.task.needs.classes, description.unit, unknown)
    yield from _unit_lines(prepared, unknown)
    # A model that only memorised train would miss this share of dev.
    unseen = corpus.unseen_share()
    if unseen is not None:
        yield f"       dev: {100 * unseen:.0f} % of its entities never seen in train"
    for text, names in _notes(splits).items():
        yield f"       {', '.join(names)}: {text}" if names else f"       {text}"
    if prepared.started:
        yield f"       {prepared.started}"
    if prepared.by_size:  # its number of epochs is that of one seed
        yield f"       {'each seed: ' if seeds > 1 else ''}{prepared.by_size}"
    if prepared.cut:
        yield (
            f"       {plural(prepared.cut, 'training sentence')} over "
            f"{prepared.config.data.max_length:,} tokens: cut into windows that overlap"
        )
    if prepared.vocabulary.columns:
        yield f"       {columns_text(prepared.vocabulary.columns)}"
    yield from _model_lines(prepared, description, threads)


def _split_lines(
    splits: Mapping[str, Split | None],
    with_classes: bool,
    unit: str,
    unknown: Mapping[str, UnknownUnits],
) -> Iterator[str]:
    """A row for each split, in columns."""
    found = {name: split for name, split in splits.items() if split}  # there need be no test corpus
    # The log has the whole paths.
    short = short_paths([split.path for split in found.values()])
    rows = [
        (
            name,
            visible(short[split.path]),
            *_split_facts(split, with_classes, unit, unknown.get(name)),
        )
        for name, split in found.items()
    ]
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    for name, path, sentences, tokens, kinds in rows:
        counts = f"{sentences:>{widths[2]}}  {tokens:>{widths[3]}}"
        yield f"{name:<6} {padded(path, widths[1])}  {counts}  {kinds}".rstrip()


def _model_lines(prepared: Prepared, description: Description, threads: int) -> Iterator[str]:
    """The model, and what other models and vectors it begins with."""
    config, parameters = prepared.config, prepared.model.saved_weights
    device = str(prepared.device)
    if device == "cpu":
        device += f" ({plural(threads, 'thread')})"
    yield f"model  {description.architecture}, {plural(parameters, 'parameter')}, on {device}"
    if read := prepared.model.contextual:
        paths = listed([shown_name(part.path) for part in read.parts])
        yield f"       {read.weights:,} of them are those of {paths}, which are not trained"
    if prepared.vectors:
        covered, total = prepared.vectors
        name = Path(config.embeddings.vectors).name
        yield f"       {covered:,} of {plural(total, 'training word')} with a vector in {name}"


def _unit_lines(prepared: Prepared, unknown: Mapping[str, UnknownUnits]) -> Iterator[str]:
    """What a language model knows; nothing of another task."""
    if not unknown:
        return
    config = prepared.config
    unit = UNIT_KINDS[config.data.unit].name
    known = plural(len(prepared.vocabulary.words), unit)
    yield f"       {known} known, the end of a line among them"
    if stretches := words_without_blanks(prepared):
        text = (
            f"warning: {share_text(stretches)} of the words are stretches of scripts without "
            "blanks between words, such as whole lines of Chinese. Let units be characters "
            "(data.unit=character)."
        )
        yield with_flags(text)
        return
    many = [
        f"{share_text(found.share)} of {name}'s"
        for name, found in unknown.items()
        if name != "train" and found.share >= _MANY_UNKNOWN
    ]
    if not many:
        return
    text = f"warning: {' and '.join(many)} {plural_of(unit)} are unknown, and all of them count as "
    text += (
        f"one: {'its' if len(many) == 1 else 'their'} perplexity says little. Train on more text"
    )
    # A model that another one begins has the other's units.
    finer = "" if config.train.init_from else _FEWER_UNKNOWN.get(config.data.unit, "")
    yield with_flags(f"{text}{f', or let units be {finer} (data.unit)' if finer else ''}.")


def share_text(share: float) -> str:
    """A share in percent; more digits where it is small."""
    return f"{100 * share:.0f} %" if share >= 0.1 or not share else f"{100 * share:.2g} %"


def _notes(splits: Mapping[str, Split | None]) -> dict[str, list[str]]:
    """Notes on the corpora, each with the names of the splits that it applies to."""
    # The same note on train, dev and test is shown once; the path is in the line above.
    notes: dict[str, list[str]] = {}
    for name, split in splits.items():
        for note_of_split in split.notes if split else ():
            path, colon, text = note_of_split.partition(": ")  # a note begins with its file's path
            if colon and split and path == split.path:
                notes.setdefault(with_flags(text), []).append(name)
            else:  # of another file, such as the one that dev was split off
                notes.setdefault(with_flags(note_of_split), [])
    return notes


def _split_facts(
    split: Split, with_classes: bool, unit: str, unknown: UnknownUnits | None
) -> tuple[str, str, str]:
    """Sentences, or what else `unit` calls them, tokens, and what there is to be learnt."""
    kinds = [] if unknown is None else [f"{share_text(unknown.share)} unknown"]
    of_columns = column_counts(split)
    if of_columns:
        kinds.append(of_columns)
    elif split.detection:
        plain = not has_spans(split.scheme)
        kinds.append(
            f"plain, {plural(len(split.labels()), 'label')}"
            if plain
            else f"{split.detection}, {plural(len(split.labels()), 'type')}"
        )
    if with_classes:
        kinds.append(plural(len(split.classes()), "class"))
    count = len(split.sentences)
    # As wide for one as for many, so that the columns stay below each other.
    sentences = f"{count:,} {unit if count == 1 else plural_of(unit):<{len(unit) + 1}}"
    tokens = f"{split.tokens:,} {'token ' if split.tokens == 1 else 'tokens'}"
    return sentences, tokens, ", ".join(kinds)
