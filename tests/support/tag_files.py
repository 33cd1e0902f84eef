"""Column files with tags, and the report of two of them or of one."""

from pathlib import Path

from tagkit.config import DataConfig, load_config
from tagkit.evaluation.compare.compare import compare_files
from tagkit.evaluation.reports.tag_report import TagReport


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def data(*overrides: str) -> DataConfig:
    return load_config(None, overrides).data


def compare(
    gold: str,
    predicted: str | None,
    *overrides: str,
    column: int | str | None = None,
    strict: bool = False,
) -> TagReport:
    return compare_files(gold, predicted, data(*overrides), column, strict)
