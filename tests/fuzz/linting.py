"""`tagkit check` and its repair."""

import json
from pathlib import Path
from random import Random

from tagkit.cli.commands.check import check_lines, repair_lines
from tagkit.config import DataConfig
from tagkit.corpus.lint.check import check_files
from tagkit.corpus.lint.repair import Repaired, write_repaired
from tagkit.errors import DataError

from .case import Case, require
from .engine import check_message
from .readers import check_notes, corpus_case
from .samples import SAMPLES


def lint_case(rng: Random) -> Case:
    """One corpus, or the files of one that is to be compared with another."""
    format = rng.choice(("columns", "columns", "conllu", *SAMPLES))
    case = corpus_case(rng, format)
    paths = [case.options["path"]]
    files = dict(case.files)
    if rng.random() < 0.25 and len(case.files) == 1:
        other = corpus_case(rng, format)
        if len(other.files) == 1:
            files["dev.conll"] = next(iter(other.files.values()))
            paths.append("dev.conll")
    data = {**case.options["data"], "format": "auto" if rng.random() < 0.5 else format}
    return Case(files, {"paths": paths, "data": data})


def _repair(path: Path, out: Path, data: DataConfig) -> Repaired:
    """Write a repaired copy; what was done."""
    ((_, repaired),) = write_repaired({str(path): out}, data, force=True).items()
    return repaired


def run_lint(case: Case, room: Path) -> None:
    """A check raises nothing; a repaired file has its lines and needs no further repair of tags."""
    data = DataConfig(**case.options["data"])
    paths = [str(room / path) for path in case.options["paths"]]
    report = check_files(paths, data)
    json.dumps(report.to_dict(), ensure_ascii=False)
    check_notes(check_lines(report))
    try:
        repaired = _repair(Path(paths[0]), room / "out", data)
    except DataError as error:
        check_message(str(error))
        return
    check_notes(repair_lines("out", repaired))
    # In UTF-8, whatever it was; and of the kind that it was read as.
    format = report.files[0].format if report.files else data.format
    if format not in ("columns", "conllu"):
        return
    again = data.model_copy(update={"encoding": "utf-8", "format": format})
    repaired_again = _repair(room / "out", room / "again", again)
    require(
        len(repaired_again.lines) == len(repaired.lines), "a repair changes the number of lines"
    )
    require(not repaired_again.repairs, "what was repaired is repaired again",
            [(r.kind, r.message) for r in repaired_again.repairs])  # fmt: skip
