"""A training run as a person sees it: the corpora, the model, a row an epoch, the report."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tagkit.cli.console import WithBar, note
from tagkit.cli.reports import architecture, report_lines
from tagkit.corpus.split import Split
from tagkit.corpus.splits import Corpus
from tagkit.training.callbacks import Epoch, Listener
from tagkit.training.seed_scores import mean_and_deviation
from tagkit.training.seeds import TrainedSeeds
from tagkit.training.setup import Prepared
from tagkit.training.trainer import Trained
from tagkit.wording import as_argument, plural, plural_of, visible

_BARS = "▁▂▃▄▅▆▇█"


class Progress(WithBar, Listener):
    """Shows a training run on standard error."""

    def __init__(self) -> None:
        """A progress bar where there is a terminal."""
        super().__init__("reading", None)
        self._epochs = 1
        self._measure = "F1"

    def on_start(self, prepared: Prepared, threads: int) -> None:
        """The splits, the model, and the table's head."""
        for line in _start_lines(prepared, threads):
            note(line)
        self._epochs = prepared.config.train.max_epochs
        self._measure = _measure(prepared)
        note("")
        note(f"epoch      loss  dev {self._measure:<4}        lr  tokens/s")

    def on_step(self, epoch: int, done: int, total: int) -> None:
        """Move the bar."""
        description = f"epoch {epoch} of {self._epochs}"
        self._bar.update(self._task, description=description, completed=done, total=total)

    def on_epoch(self, epoch: Epoch) -> None:
        """A row of the table; * where no epoch before was as good."""
        star = "  *" if epoch.is_best else ""
        note(
            f"{epoch.number:>5}  {epoch.loss:>8.4f}  {100 * epoch.score:>8.2f}  {epoch.lr:>8.6f}  "
            f"{epoch.tokens_per_s:>8,.0f}{star}"
        )

    def on_note(self, text: str) -> None:
        """Show it on a line."""
        note(text)

    def on_seeds(self, trained: TrainedSeeds) -> None:
        """A row a seed, their mean and deviation, the report of the best, and what to type next."""
        self._bar.stop()
        for line in seed_lines(trained, self._measure):
            note(line)
        self._report(trained.best, trained.folder)

    def on_end(self, trained: Trained) -> None:
        """The best epoch, the test report, and what to type next."""
        self._bar.stop()
        stopped = ""
        if trained.ended == "patience":
            stopped = f" (stopped: dev did not get better for {plural(_waited(trained), 'epoch')})"
        if trained.ended == "time":
            stopped = " (stopped: time is over; --resume goes on)"
        best = trained.best
        ending = "; test:" if trained.test else ""
        for line in curves(trained.epochs, f"dev {self._measure}"):
            note(line)
        note(
            f"best epoch {best.number}, dev {self._measure} {100 * best.score:.2f}{stopped}{ending}"
        )
        self._report(trained, trained.folder)

    def _report(self, trained: Trained, folder: Path) -> None:
        """Scores on test, and what to type next."""
        if trained.test:
            note("")
            for line in report_lines(trained.test):
                note(line)
        size = sum(file.stat().st_size for file in (folder / "best").iterdir())
        note("")
        note(
            f"saved {folder} ({size / 1e6:.1f} MB). Next: tagkit predict {as_argument(folder)} FILE"
        )


def seed_lines(trained: TrainedSeeds, measure: str) -> Iterator[str]:
    """A row a seed, then mean and standard deviation."""
    scores = trained.scores
    columns = {f"dev {measure}": [score.dev for score in scores]}
    if scores[0].test is not None:
        columns["test"] = [score.test or 0.0 for score in scores]
    yield ""
    yield f"{'seed':>20}  epoch" + "".join(f"  {name:>9}" for name in columns)
    for row, score in enumerate(scores):
        cells = "".join(f"  {100 * values[row]:>9.2f}" for values in columns.values())
        star = "  *" if score.seed == trained.best.predictor.config.train.seed else ""
        yield f"{score.seed:>20}  {score.epoch:>5}{cells}{star}"
    for number, name in enumerate(("mean", "standard deviation")):
        figures = (mean_and_deviation(values)[number] for values in columns.values())
        yield f"{name:>20}       " + "".join(f"  {100 * figure:>9.2f}" for figure in figures)
    ending = "; test:" if trained.best.test else ""
    yield ""
    yield f"best on dev: seed {trained.best.predictor.config.train.seed}{ending}"


def curves(epochs: Sequence[Epoch], measure: str) -> Iterator[str]:
    """Loss and dev score from the first epoch to the last, each on a line; none of one epoch."""
    if len(epochs) > 1:
        losses = [epoch.loss for epoch in epochs]
        scores = [100 * epoch.score for epoch in epochs]
        yield ""
        yield f"{'loss':<8}  {sparkline(losses)}  {losses[0]:.4f} to {losses[-1]:.4f}"
        yield f"{measure:<8}  {sparkline(scores)}  {scores[0]:.2f} to {scores[-1]:.2f}"


def sparkline(values: Sequence[float]) -> str:
    """A bar for each value, the highest for the largest."""
    low, high = min(values), max(values)
    step = (high - low) / (len(_BARS) - 1) or 1
    return "".join(_BARS[round((value - low) / step)] for value in values)


def _waited(trained: Trained) -> int:
    return len(trained.epochs) - trained.best.number


def _start_lines(prepared: Prepared, threads: int) -> Iterator[str]:
    corpus, config = prepared.corpus, prepared.config
    splits: dict[str, Split | None] = {
        "train": corpus.train,
        "dev": corpus.dev,
        "test": corpus.test,
    }
    paths = {name: visible(split.path) for name, split in splits.items() if split}
    width = max(map(len, paths.values()))
    for name, split in splits.items():
        if split:
            facts = _split_facts(name, split, corpus, with_classes=config.task != "tag")
            yield f"{name:<6} {paths[name]:<{width}}  {facts}"
    for text, names in _notes(splits).items():
        yield f"       {', '.join(names)}: {text}" if names else f"       {text}"
    if prepared.cut:
        yield (
            f"       {plural(prepared.cut, 'training sentence')} over {config.data.max_length:,} "
            "tokens: cut into windows that overlap"
        )
    parameters = sum(parameter.numel() for parameter in prepared.model.parameters())
    device = str(prepared.device)
    if device == "cpu":
        device += f" ({plural(threads, 'thread')})"
    yield f"model  {architecture(config)}, {plural(parameters, 'parameter')}, on {device}"
    if prepared.vectors:
        covered, total = prepared.vectors
        name = Path(config.embeddings.vectors).name
        yield f"       {covered:,} of {plural(total, 'training word')} with a vector in {name}"


def _notes(splits: Mapping[str, Split | None]) -> dict[str, list[str]]:
    """What there is to say of the corpora, each with the names of those that it is said of."""
    notes: dict[str, list[str]] = {}
    for name, split in splits.items():
        for said in split.notes if split else ():
            path, colon, text = said.partition(": ")
            if colon and split and path == split.path:
                notes.setdefault(text, []).append(name)
            else:  # of another file, such as the one that dev was split off
                notes.setdefault(said, [])
    return notes


def _measure(prepared: Prepared) -> str:
    """What dev's score is called."""
    config = prepared.config
    if config.task == "both":
        return "mean"
    if config.task == "classify":
        return "F1" if config.head.multi_label == "yes" else "acc."
    return "acc." if prepared.corpus.scheme == "labels" else "F1"


def _split_facts(name: str, split: Split, corpus: Corpus, *, with_classes: bool) -> str:
    kinds = []
    if split.detection:
        plain = split.scheme == "labels"
        kinds.append(
            f"plain, {plural(len(split.labels()), 'label')}"
            if plain
            else f"{split.detection}, {plural(len(split.labels()), 'type')}"
        )
    if with_classes:
        kinds.append(plural(len(split.classes()), "class"))
    count, unit = len(split.sentences), "sentence" if split.detection else "text"
    # As wide for one as for many, so that the columns stay below each other.
    sentences = f"{count:>7,} {unit if count == 1 else plural_of(unit):<{len(unit) + 1}}"
    tokens = f"{split.tokens:>9,} {'token ' if split.tokens == 1 else 'tokens'}"
    facts = f"{sentences} {tokens}  {', '.join(kinds)}"
    unseen = corpus.unseen_share()
    if name == "dev" and unseen is not None:
        facts += f"; {100 * unseen:.0f} % of its entities never seen in train"
    return facts
