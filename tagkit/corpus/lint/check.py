"""`tagkit check`: all checks of all files of a corpus."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from tagkit.config import DataConfig
from tagkit.corpus.formats.options import silent
from tagkit.corpus.lint.labels import check_labels, check_unknown_labels
from tagkit.corpus.lint.lines import check_encoding, check_lines
from tagkit.corpus.lint.reading import ReadFile, is_at_line, read_file
from tagkit.corpus.lint.repetition import (
    check_duplicates,
    check_entities,
    check_overlap,
    check_surfaces,
)
from tagkit.corpus.lint.report import CheckReport, FileFacts, Finding, Severity
from tagkit.corpus.lint.tags import check_tags, scheme_told
from tagkit.corpus.lint.text import check_characters, check_lengths
from tagkit.text.schemes import DISPLAY
from tagkit.wording import Message, Setting

_ORDER = {"error": 0, "warning": 1, "note": 2}


def check_files(
    paths: Sequence[str], data: DataConfig, note: Callable[[str], None] = silent
) -> CheckReport:
    """What is in the files of a corpus, and what is odd there; nothing is raised.

    Args:
        paths: the training file first, then those of dev and test.
        data: how they are read.
        note: given, in a sentence, what each file was recognised as and why.
    """
    reads = [read_file(path, data) for path in paths]
    for read in reads:
        if read.recognised and (read.sentences or read.errors):
            note(read.recognised)
    findings = [
        finding
        for place, read in enumerate(reads)
        for finding in _of_one(read, place == 0, data.encoding)
    ]
    findings += _of_several(reads)
    return CheckReport(
        files=tuple(_facts(read) for read in reads if read.sentences),
        # Stable: of one severity, those of one file stay together.
        findings=tuple(sorted(findings, key=lambda finding: _ORDER[finding.severity])),
    )


def _of_one(read: ReadFile, is_train: bool, encoding: str) -> Iterator[Finding]:
    for error in read.errors:
        line = is_at_line(error)
        told = str(error).removeprefix(f"{read.path}:{line}: ")
        yield Finding("error", "unreadable", read.path, told, 1, (line,) if line else ())
    if read.refusal is not None:
        line = is_at_line(read.refusal)
        told = str(read.refusal).removeprefix(f"{read.path}:{line}: ")
        told = told.removeprefix(f"{read.path}: ")
        yield Finding("error", "unreadable", read.path, told, 1, (line,) if line else ())
    elif not read.sentences and not read.errors:
        yield Finding("error", "empty", read.path, "holds no sentence")
    for note in read.notes:
        yield Finding("note", "reader", read.path, note.removeprefix(f"{read.path}: "))
    if read.sentences:
        if read.scheme is None:
            message = Message(
                f"holds no tags, spans or classes: it is read as {read.format.name} (",
                Setting("data.format"),
                " says otherwise)",
            )
            yield Finding("error", "no-labels", read.path, message)
        yield from check_tags(read)
        yield from check_labels(read, is_train)
        yield from check_lengths(read)
        yield from check_characters(read)
        yield from check_duplicates(read)
        yield from check_surfaces(read)
    yield from check_lines(read, encoding)
    yield from check_encoding(read, encoding)


def _of_several(reads: Sequence[ReadFile]) -> Iterator[Finding]:
    full = [read for read in reads if read.sentences]
    for one, other in combinations(full, 2):
        # Where the training file cannot be read, nothing is known of what it holds.
        if one is reads[0]:
            yield from _other_scheme(one, other)
            yield from check_unknown_labels(one, other)
            yield from check_entities(one, other)
        yield from check_overlap(one, other, is_train=one is reads[0])


def _other_scheme(train: ReadFile, other: ReadFile) -> Iterator[Finding]:
    if None in (train.scheme, other.scheme) or train.scheme == other.scheme:
        return
    if train.has_spans and other.has_spans and _fits_too(train, other):
        return
    # Span schemes are converted; plain labels, classes and spans are not the same task.
    severity: Severity = "note" if train.has_spans and other.has_spans else "error"
    message = f"it holds {_held(other)}, and {train.path} holds {_held(train)}"
    yield Finding(severity, "other-scheme", other.path, message)


def _fits_too(train: ReadFile, other: ReadFile) -> bool:
    """Whether the scheme of train allows as much: of few tags several schemes may be."""
    judged = other.judged
    if judged is None or train.scheme is None:
        return False
    return judged.fits(other.steps, train.scheme) <= judged.detection.illegal


def _held(read: ReadFile) -> str:
    if read.scheme == "classes":
        return "classes of texts"
    return f"spans in {DISPLAY[str(read.scheme)]}" if read.has_spans else "plain labels"


def _facts(read: ReadFile) -> FileFacts:
    lengths = sorted(len(sentence) for sentence in read.sentences)
    quantiles = {
        name: lengths[round(share * (len(lengths) - 1))]
        for name, share in (("min", 0), ("50%", 0.5), ("90%", 0.9), ("99%", 0.99), ("max", 1))
    }
    return FileFacts(
        file=read.path,
        format=read.format.name,
        scheme=read.scheme,
        scheme_told=scheme_told(read),
        sentences=len(read.sentences),
        tokens=sum(lengths),
        labels=dict(Counter(label for label, _ in read.labelled()).most_common()),
        classes=dict(Counter(label for label, _ in read.classes()).most_common())
        if read.has_tags
        else {},
        lengths=quantiles,
    )
