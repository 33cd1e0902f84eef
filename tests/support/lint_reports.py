"""What `check_files` finds in files of some content."""

from pathlib import Path

from tagkit.config import DataConfig
from tagkit.corpus.lint.check import check_files
from tagkit.corpus.lint.findings import CheckReport

Files = dict[str, str]


def written(folder: Path, files: Files | str) -> list[str]:
    """The paths of files with this content, in this order."""
    contents = files if isinstance(files, dict) else {"train.conll": files}
    for name, content in contents.items():
        (folder / name).write_text(content, encoding="utf-8", newline="")
    return [str(folder / name) for name in contents]


def check(folder: Path, files: Files | str, **data: object) -> CheckReport:
    """The report of files with this content."""
    return check_files(written(folder, files), DataConfig(**data))


def told(report: CheckReport, kind: str, folder: Path) -> list[tuple[str, str, tuple[int, ...]]]:
    """Severity, message and lines of the findings of one kind."""
    return [
        (f.severity, f.message.replace(f"{folder}/", ""), f.lines)
        for f in report.findings
        if f.kind == kind
    ]
