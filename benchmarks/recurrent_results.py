"""Results of benchmarks/recurrent.py as tables and as a plot."""

import json
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from corpora import CORPORA
from curves import save
from long_range import PROBLEMS
from memory_tasks import MEMORY_TASKS, name_of

Row = dict[str, Any]


def read_rows(paths: Iterable[Path]) -> list[Row]:
    """The lines of several files of results."""
    return [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]


def tables(rows: Sequence[Row]) -> str:
    """Markdown tables of all kinds of runs that are there."""
    found = []
    tasks = [row for row in rows if row["kind"] == "task"]
    # By how much was trained on: (sentences, epochs).
    budgets = dict.fromkeys((row["sentences"], row["epochs"]) for row in tasks)
    for sentences, epochs in budgets:
        own = [row for row in tasks if (row["sentences"], row["epochs"]) == (sentences, epochs)]
        training = "default epochs" if epochs is None else f"{epochs} epochs"
        amount = "All" if sentences == "all" else "The first " + sentences
        found.append(f"{amount} sentences of train, {training}:\n\n{task_table(own)}")
    speeds = [row for row in rows if row["kind"] == "speed"]
    if speeds:
        found.append(speed_table(speeds))
    for problem in PROBLEMS:
        of_problem = [
            row for row in rows if row["kind"] == "synthetic" and row["problem"] == problem
        ]
        if of_problem:
            found.append(problem_table(problem, of_problem))
    for task in MEMORY_TASKS:
        of_task = [row for row in rows if row["kind"] == "memory" and row["problem"] == task]
        if of_task:
            found.append(memory_table(task, of_task))
    return "\n\n".join(found)


def task_table(rows: Sequence[Row]) -> str:
    """Scores in per cent, mean and sample deviation over seeds, of each setting and corpus."""
    corpora = [name for name in CORPORA if any(row["corpus"] == name for row in rows)]
    columns = [f"{CORPORA[name].title}, {part}" for name in corpora for part in ("dev", "test")]
    lines = _head(["cell", "units", "weights of the encoder", "seeds", *columns, "best epoch"])
    for setting in _settings(rows):
        own = [row for row in rows if row["setting"] == setting]
        scores = (
            [row[part] for row in own if row["corpus"] == name]
            for name in corpora
            for part in ("dev", "test")
        )
        lines.append(
            _line(
                setting,
                _span([row["units"] for row in own]),
                _span([row["weights"] for row in own]),
                str(len({row["seed"] for row in own})),
                *(_percent(values) for values in scores),
                f"{statistics.mean(row['best_epoch'] for row in own):.0f}",
            )
        )
    return "\n".join(lines)


def speed_table(rows: Sequence[Row]) -> str:
    """Median tokens a second of each setting and corpus, and beside the LSTM's."""
    lines = _head(["cell", "corpus", "units", "training", "beside lstm", "decoding", "beside lstm"])
    medians = {
        (row["setting"], row["corpus"]): [
            statistics.median(
                other[what]
                for other in rows
                if (other["setting"], other["corpus"]) == (row["setting"], row["corpus"])
            )
            for what in ("training", "decoding")
        ]
        for row in rows
    }
    units = {(row["setting"], row["corpus"]): row["units"] for row in rows}
    for (setting, corpus), own in medians.items():
        lstm = medians.get(("lstm", corpus))
        cells = []
        for number, speed in enumerate(own):
            ratio = f"{speed / lstm[number]:.2f}" if lstm else ""
            cells += [f"{speed:,.0f}", ratio]
        lines.append(_line(setting, CORPORA[corpus].title, str(units[setting, corpus]), *cells))
    return "\n".join(lines)


def problem_table(problem: str, rows: Sequence[Row]) -> str:
    """Steps of training until a problem was solved, by number of steps T.

    Of several learning rates the best. Where no seed solved it: the figure that was reached. Empty
    where it was not tried, as a shorter one was not solved.
    """
    chosen = PROBLEMS[problem]
    lengths = sorted({row["length"] for row in rows})
    lines = _head([f"{chosen.title}: T =", *(str(length) for length in lengths)])
    for setting in _settings(rows):
        own = [row for row in rows if row["setting"] == setting]
        cells = (_solved([row for row in own if row["length"] == length]) for length in lengths)
        lines.append(_line(setting, *cells))
    return "\n".join(lines)


def memory_table(task: str, rows: Sequence[Row]) -> str:
    """Wrong answers in per cent of each run, by the size of its test."""
    sizes = [name_of(size) for size in MEMORY_TASKS[task].tested]
    lines = _head([MEMORY_TASKS[task].title, "weights", "seed", "steps", "seconds", *sizes])
    for row in rows:
        shares = (f"{100 * row['wrong'][size]:.2f}" for size in sizes)
        counts = (f"{row[name]:,.0f}" for name in ("weights", "seed", "steps", "seconds"))
        lines.append(_line(row["setting"], *counts, *shares))
    return "\n".join(lines)


def solved_steps(rows: Sequence[Row]) -> tuple[int, float | None]:
    """Seeds that solved a problem, and their median steps, at the best learning rate and sizes.

    The steps are None where no seed solved it. Of two runs that differ in limits alone, the one
    that solved it counts.
    """
    best: tuple[int, float | None] = (0, None)
    for variant in {(row["lr"], row["hidden"], row["batch"]) for row in rows}:
        steps = {
            row["seed"]: row["steps"]
            for row in rows
            if (row["lr"], row["hidden"], row["batch"]) == variant and row["ended"] == "solved"
        }
        if steps:
            found = len(steps), float(statistics.median(steps.values()))
            if best[1] is None or (-found[0], found[1]) < (-best[0], best[1]):
                best = found
    return best


def _solved(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    solved, steps = solved_steps(rows)
    seeds = len({row["seed"] for row in rows})
    if steps is None:
        # Of losses before they became infinite a mean says nothing.
        figures = [row["figure"] for row in rows if row["ended"] != "diverged"]
        if not figures:
            return "diverged"
        larger_is_better = rows[0]["problem"] == "remember"
        best = max(figures) if larger_is_better else min(figures)
        return f"no ({best:.3f})"
    return f"{steps:,.0f}" + (f" ({solved} of {seeds})" if solved < seeds else "")


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw for each problem the longest T that each setting solves, and steps to solve over T."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    rows = [row for row in rows if row["kind"] == "synthetic"]
    everywhere = _settings(rows)
    problems = {
        name: of_problem
        for name in PROBLEMS
        if (of_problem := [row for row in rows if row["problem"] == name])
    }
    # In inches: a line of text for each setting, and the axes.
    heights = [max(2.2, 0.17 * len(_settings(own)) + 0.6) for own in problems.values()]
    figure = Figure(figsize=(9, sum(heights)), layout="constrained")
    panels = figure.subplots(len(problems), 2, squeeze=False, height_ratios=heights)
    for (problem, of_problem), (longest, effort) in zip(problems.items(), panels, strict=True):
        settings = _settings(of_problem)
        reached = []
        for setting in settings:
            points = _solved_lengths([row for row in of_problem if row["setting"] == setting])
            reached.append(points[-1][0] if points else 0)
            number = everywhere.index(setting)
            if points:
                effort.plot(
                    *zip(*points, strict=True), color=f"C{number % 10}", linewidth=1, markersize=3,
                    marker=_MARKERS[number // 10 % len(_MARKERS)], label=setting,
                )  # fmt: skip
        bars = longest.barh(
            settings, reached, color=[f"C{everywhere.index(name) % 10}" for name in settings]
        )
        labels = [str(length) if length else "none" for length in reached]
        longest.bar_label(bars, labels, padding=2, fontsize=7)
        longest.invert_yaxis()  # the first setting on top, as in tables
        longest.set_title(f"{PROBLEMS[problem].title}: longest T solved", fontsize=9)
        longest.set_xlim(0, 1.2 * max(1, *reached))
        effort.set_title("steps of training until solved, by T", fontsize=9)
        effort.set(xscale="log", yscale="log")
        every = sorted({row["length"] for row in of_problem})
        effort.set_xticks(every, [str(length) for length in every])
        effort.set_xticks([], minor=True)
        effort.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        effort.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        effort.yaxis.set_minor_formatter(NullFormatter())
        effort.grid(visible=True, linewidth=0.3)
        if any(reached):
            effort.legend(fontsize=6, loc="upper left", bbox_to_anchor=(1.01, 1.02))
        for panel in (longest, effort):
            panel.tick_params(labelsize=7, length=0)
    save(figure, path)


def _solved_lengths(rows: Sequence[Row]) -> list[tuple[int, float]]:
    """Each T that a setting solved, from the shortest to the longest, and its median steps."""
    lengths = sorted({row["length"] for row in rows})
    tried = ((length, [row for row in rows if row["length"] == length]) for length in lengths)
    return [(length, steps) for length, own in tried if (steps := solved_steps(own)[1])]


_MARKERS = ("o", "s", "^", "v")


def _settings(rows: Iterable[Row]) -> list[str]:
    """Names of settings in the order of their first line."""
    return list(dict.fromkeys(row["setting"] for row in rows))


def _head(names: Sequence[str]) -> list[str]:
    aligned = ("---" if name in ("cell", "corpus") else "---:" for name in names[1:])
    return [_line(*names), _line("---", *aligned)]


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _percent(scores: Sequence[float]) -> str:
    if not scores:
        return "-"
    percents = [100 * score for score in scores]
    spread = f" ± {statistics.stdev(percents):.2f}" if len(percents) > 1 else ""
    return f"{statistics.mean(percents):.2f}{spread}"


def _span(values: Sequence[int]) -> str:
    """One number, or the least and the largest of several."""
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
