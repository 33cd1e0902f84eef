"""`tagkit eval --html`: the page of a report, written beside its place and renamed."""

import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tagkit.cli.program.console import show_line
from tagkit.corpus.source.source import STDIN, source_name
from tagkit.errors import DataError
from tagkit.evaluation.html_report.page import (
    Part,
    read_audit,
    read_curve,
    report_page,
    report_parts,
    whole_analysis,
)
from tagkit.evaluation.html_report.sections import SetsSection
from tagkit.html.page import BEGINNING
from tagkit.storage import PACKED, open_output
from tagkit.storage.places import (
    refuse_input,
    refuse_inside,
    require_file_name,
    require_name,
    require_place,
)

if TYPE_CHECKING:
    from tagkit.corpus.records.dataset import Split
    from tagkit.evaluation.compare.systems import Systems
    from tagkit.evaluation.reports.report import Report
    from tagkit.evaluation.scores.conformal import SetReport


class ReportPage:
    """A page that is to be written.

    Args:
        path: of the page.
        curve: file of a learning curve; None for none.
        audit: file of an audit; None for none.
        scored: the model, or the file of predictions, for the title.
        corpus: file with gold labels.
        models: folders of models.
        files: others that are read.

    Raises:
        DataError: it would take the place of an input or of a file that is no page, it cannot be
            written, or a curve or an audit cannot be read.
    """

    def __init__(
        self,
        path: str,
        curve: Path | None,
        audit: Path | None,
        scored: str,
        corpus: str,
        models: Sequence[Path],
        files: Sequence[str],
    ) -> None:
        """All that can be wrong is found before anything is scored."""
        records = [str(each) for each in (curve, audit) if each is not None]
        check_page(path, [corpus, *files, *records], models)
        self.path = Path(path)
        self.corpus = source_name(corpus)
        self.scored = source_name(scored)
        self.others = [Part("", read_curve(curve))] if curve is not None else []
        if audit is not None:
            self.others.append(Part("", read_audit(audit)))

    def write_report(
        self, report: "Report", train: "Split | None", sets: "Mapping[str, SetReport]"
    ) -> None:
        """The report of one system, with its analyses, and with its sets where there are some."""
        parts = report_parts(report, whole_analysis(report, train))
        for kind, each in sets.items():
            parts.append(Part(kind if len(sets) > 1 else "", SetsSection(kind, each)))
        self._write(f"Evaluation of {self.scored}", parts)

    def write_systems(self, systems: "Systems") -> None:
        """A comparison of several systems."""
        (first, *_) = systems.parts.values()
        self._write(f"Comparison of {len(first)} systems", [Part("", systems)])

    def _write(self, title: str, parts: Sequence[Part]) -> None:
        page = report_page(title, f"Gold labels: {self.corpus}", [*parts, *self.others])
        with open_output(self.path) as write:
            write(page)
        show_line(f"page: {self.path}")


def check_page(output: str, inputs: Sequence[str], models: Sequence[Path]) -> None:
    """Refuse a page that would take the place of an input, or of a file that is no page.

    Raises:
        DataError: it would, or it cannot be written.
    """
    require_name(output, "--html")
    require_file_name(output)
    path = Path(output)
    refuse_input(path, [Path(each) for each in inputs if each != STDIN])
    for model in models:
        refuse_inside(path, model)
    require_place(path, replace=True)
    # The name of a corpus behind --html is a mistake that would cost the corpus.
    if path.is_file() and (beginning := _beginning(path)) and not _is_page(beginning):
        raise DataError(
            f"{path}: holds no page of HTML, and would be lost; name another file, or remove it"
        )


def _beginning(path: Path) -> bytes:
    opened = gzip.open if path.suffix == PACKED else open
    try:
        with opened(path, "rb") as file:
            return bytes(file.read(len(BEGINNING)))
    except (OSError, EOFError):  # no gzip: no page either
        return b"?"


def _is_page(beginning: bytes) -> bool:
    return beginning.lower() == BEGINNING.lower().encode()
