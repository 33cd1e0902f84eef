"""Results of benchmarks/sizes.py and benchmarks/crfsuite.py as a table and as a plot."""

import io
import json
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from corpora import CORPORA, SIZES

PARTS = ("dev", "rest", "test")
Row = Mapping[str, Any]
# By (corpus, system), then by size: the rows of all seeds.
Grouped = dict[tuple[str, str], dict[str, list[Row]]]


def read_rows(paths: Iterable[Path]) -> list[Row]:
    """The lines of several files of results; of runs that are there twice the later one."""
    found: dict[tuple[Any, ...], Row] = {}
    for path in paths:
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            for each in (row, *_network_alone(row)):
                found[row["corpus"], row["size"], system(each), row.get("seed")] = each
    return list(found.values())


def _network_alone(row: Row) -> list[Row]:
    """A tagger without its CRF of word features as a run of its own, where that was scored."""
    if row.get("setting") != "default" or "by_share" not in row:
        return []
    return [{**row, "setting": "network alone", **row["by_share"]["0"]}]


def system(row: Row) -> str:
    """What was trained, as tables and legends name it."""
    if row["model"] == "crfsuite":
        return "CRFsuite" if row["features"] == "full" else f"CRFsuite, {row['features']}"
    name = "tagkit, GloVe" if row["vectors"] == "glove" else "tagkit"
    return name if row["setting"] == "default" else f"{name}, {row['setting']}"


def grouped(rows: Iterable[Row], part: str) -> Grouped:
    """The rows that have a score of this part, by corpus and system in the order of tables."""
    groups: Grouped = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.get(part) is not None:
            groups[row["corpus"], system(row)][row["size"]].append(row)
    corpora = list(CORPORA)
    return dict(sorted(groups.items(), key=lambda item: (corpora.index(item[0][0]), item[0][1])))


def make_table(rows: Iterable[Row], part: str) -> str:
    """A Markdown table in per cent: mean and sample deviation over seeds, by size."""
    groups = grouped(rows, part)
    sizes = [size for size in SIZES if any(size in by_size for by_size in groups.values())]
    lines = [
        f"| {part} | | {' | '.join(sizes)} |",
        f"| --- | --- |{' ---: |' * len(sizes)}",
    ]
    shown = ""
    for (corpus, name), by_size in groups.items():
        cells = [_cell([row[part] for row in by_size.get(size, [])]) for size in sizes]
        title = CORPORA[corpus].title if corpus != shown else ""
        shown = corpus
        lines.append(f"| {title} | {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(scores: Sequence[float]) -> str:
    if not scores:
        return "-"
    percents = [100 * score for score in scores]
    spread = f" ± {statistics.stdev(percents):.1f}" if len(percents) > 1 else ""
    return f"{statistics.mean(percents):.1f}{spread}"


def draw(rows: Iterable[Row], part: str, path: Path) -> None:
    """Draw a panel a corpus: score by number of training sentences, a line a system."""
    from matplotlib.figure import Figure

    groups = grouped(rows, part)
    corpora = [name for name in CORPORA if any(corpus == name for corpus, _ in groups)]
    # tagkit first, so that its lines have the same looks whatever they are compared with.
    systems = sorted({name for _, name in groups}, key=lambda n: (not n.startswith("tagkit"), n))
    wide = min(3, len(corpora))
    high = -(-len(corpora) // wide)
    figure = Figure(figsize=(2.6 * wide, 1.9 * high + 0.5), layout="constrained")
    panels = figure.subplots(high, wide, squeeze=False).flatten()
    for panel in panels[len(corpora) :]:
        panel.remove()  # the last row need not be full
    lines = {}
    for corpus, panel in zip(corpora, panels, strict=False):
        for number, name in enumerate(systems):
            by_size = groups.get((corpus, name), {})
            points = sorted((runs[0]["sentences"], _mean(runs, part)) for runs in by_size.values())
            if points:
                (lines[name],) = panel.plot(
                    *zip(*points, strict=True), color=f"C{number}", linewidth=1, markersize=3,
                    marker=_MARKERS[number % len(_MARKERS)],
                    linestyle="--" if name.startswith("CRFsuite") else "-",
                )  # fmt: skip
        panel.set_title(CORPORA[corpus].title, fontsize=8)
        panel.tick_params(labelsize=8, length=0)  # the grid shows where they are
        panel.set(xscale="log", xlim=(40, 20_000))
        panel.set_xticks([50, 400, 4000], ["50", "400", "4,000"])
        panel.set_xticks([], minor=True)
        panel.grid(visible=True, linewidth=0.3)
    names = [name for name in systems if name in lines]
    figure.legend([lines[n] for n in names], names, loc="outside upper center", ncols=4, fontsize=8)
    figure.supxlabel("training sentences", fontsize=8)
    figure.supylabel(f"{part}: F1 of spans, accuracy of UPOS and of classes", fontsize=8)
    save(figure, path)


def save(figure: Any, path: Path) -> None:
    """Write a figure of matplotlib as a small SVG, the same one for the same numbers."""
    from matplotlib import rc_context

    picture = io.StringIO()
    with rc_context(_SVG):
        figure.savefig(picture, format="svg", metadata={"Date": None})
    path.write_text(_smaller(picture.getvalue()), encoding="utf-8")


# Letters as text; the same file for the same numbers.
_SVG = {"svg.fonttype": "none", "svg.hashsalt": "tagkit"}
_MARKERS = ("o", "s", "^", "v", "D", "x")


def _smaller(svg: str) -> str:
    """The picture with fewer digits, without indents, and with the font named once."""
    svg = re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.1f}", svg)
    svg = re.sub(r"font-family: [^;\"]+(; )?", "", svg)
    svg = svg.replace("</style>", " text{font-family: sans-serif}</style>", 1)
    svg = re.sub(r' transform="rotate\(-0 [^"]+"', "", svg)
    return re.sub(r"\n\s*", "\n", svg)


def _mean(rows: Sequence[Row], part: str) -> float:
    return 100 * statistics.mean(row[part] for row in rows)
