"""`tagkit check`: all checks of all files of a corpus."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tagkit.config import DataConfig
from tagkit.corpus.files import data_options, path_text
from tagkit.corpus.lint.checks import CHECKS, Problem
from tagkit.corpus.lint.findings import CheckReport, CorpusFinding, FileFacts
from tagkit.corpus.lint.summary import LabelSummary, Locator, Summary, summarise
from tagkit.corpus.source.notations import expecting
from tagkit.corpus.source.options import log_note
from tagkit.corpus.source.source import source_name
from tagkit.corpus.splits.expected_labels import refuse_unread_columns
from tagkit.errors import DataError
from tagkit.text.scheme_detection import Judgement
from tagkit.text.schemes import DISPLAY, SPAN_SCHEMES
from tagkit.wording import clipped, plural

_ORDER = {"error": 0, "warning": 1, "note": 2}


def check(
    paths: str | Path | Sequence[str | Path],
    *,
    note: Callable[[str], None] = log_note,
    **options: Any,
) -> CheckReport:
    """Check corpora for errors and describe them, as `tagkit check` does; nothing is written.

    Args:
        paths: of the training corpus first, then those of dev and test; or of one corpus.
        note: called with a sentence on what each file was recognised as and why.
        options: those of [data] in the configuration, such as format, encoding or tag_column.

    Returns:
        Facts of each file, and what is wrong in them: a line that cannot be read is a finding.

    Raises:
        DataError: a column is named, and no file is in a format that has such columns; or a file
            was changed between its two readings.
        ConfigError: an option is unknown or has a wrong value.
    """
    several = [paths] if isinstance(paths, str | Path) else paths
    if not several:
        raise DataError(f"paths: expected some of files or folders, found {clipped(repr(paths))}")
    data = data_options(options)
    return check_files([path_text(path, "paths") for path in several], data, note)


def check_files(
    paths: Sequence[str], data: DataConfig, note: Callable[[str], None] = log_note
) -> CheckReport:
    """As `check`, for files that are read as `data` says."""
    files: list[Summary] = []
    for path in paths:
        # Few tags may fit several schemes: as in training, that of train is preferred.
        judged = files[0].columns[0].judged if files else None
        like = expecting(data, None, files[0].notation) if files else data
        files.append(summarise(path, like, judged.scheme if judged else None))
    if whole := [file for file in files if file.number and not file.refusal]:
        formats = [file.format for file in whole]
        refuse_unread_columns(data, source_name(whole[0].path), formats)
    for file in files:
        if file.recognised and (file.number or file.errors):
            note(file.recognised)
    findings = [
        finding
        for place, file in enumerate(files)
        for finding in _with_lines(
            file, [found for check in CHECKS for found in check(file, files[:place])]
        )
    ]
    return CheckReport(
        files=tuple(_facts(file) for file in files if file.number),
        # sorted() is stable: of one severity, findings keep the order of files and checks.
        findings=tuple(sorted(findings, key=lambda finding: _ORDER[finding.severity])),
    )


def _with_lines(file: Summary, found: Sequence[Problem]) -> Iterator[CorpusFinding]:
    """Findings with their lines, for which the file is read once more, if there is any to find."""
    lines: dict[Locator, dict[Hashable, list[int]]] = {}
    for each in found:
        if each.where is not None:
            lines.setdefault(each.where, {}).update((item, []) for item in each.items)
    for sentence in file.sentences if lines else ():
        for where, wanted in lines.items():
            for item, line in where(sentence):
                if item in wanted:
                    wanted[item].append(line)
    for each in found:
        numbers: Iterable[int] = each.lines
        if each.where is not None:
            of_items = map(lines[each.where].__getitem__, each.items)
            numbers = sorted(line for some in of_items for line in some[each.skip :])
        yield CorpusFinding(
            each.severity,
            each.kind,
            each.file or file.path,
            each.message,
            each.count,
            # 0 is the line of what comes from no line of the file: from another one in a folder.
            tuple(filter(None, numbers)),
        )


def _facts(file: Summary) -> FileFacts:
    shares = {"min": 0, "50%": 0.5, "90%": 0.9, "99%": 0.99, "max": 1}
    return FileFacts(
        file=file.path,
        format=file.format.name,
        scheme=file.scheme,
        scheme_told=_scheme_text(file.columns[0], is_classes=file.scheme == "classes"),
        sentences=file.number,
        tokens=file.tokens,
        labels=dict(file.learnt[0].labels.most_common()),
        # Where texts have classes alone, `labels` has them already.
        classes=dict(file.classes.tags.most_common()) if file.has_tags else {},
        lengths={name: file.quantile(share) for name, share in shares.items()},
    )


def _scheme_text(column: LabelSummary, *, is_classes: bool) -> str:
    """The scheme of a file's tags and how sure it is, for people."""
    if not column.tags:
        return "classes" if is_classes else "no labels"
    judged = column.spans
    if judged is None:
        return "plain labels"
    if column.only_outside():
        return "every tag is O"
    found = judged.detection
    steps = plural(found.transitions, "transition")
    mine = f"{found.illegal:,} of {steps} illegal" if found.illegal else f"all {steps} legal"
    odd = f"; {plural(len(judged.odd), 'tag')} of no scheme" if judged.odd else ""
    if judged.is_named:
        return f"{DISPLAY[found.scheme]}, as data.scheme says ({mine}{odd})"
    return f"{DISPLAY[found.scheme]} ({mine}; {_rival(column, judged)}{odd})"


def _rival(column: LabelSummary, judged: Judgement) -> str:
    """The scheme that fits next best, or all that fit as well."""
    # All are compared, as a corpus without spans of two words fits nearly every scheme. IOBES and
    # BMES are one, but for the letter inside of spans of three words: no file is in doubt of it.
    others = {
        scheme: judged.fits(column.steps, scheme)
        for scheme in SPAN_SCHEMES
        if scheme != judged.scheme and {scheme, judged.scheme} != {"iobes", "bmes"}
    }
    least = min(others.values())
    names = [DISPLAY[scheme] for scheme, count in others.items() if count == least]
    if least == judged.detection.illegal:
        return f"not sure: {' and '.join(names)} fit{'s' if len(names) == 1 else ''} as well"
    return f"next best is {names[0]} with {least:,} illegal"
