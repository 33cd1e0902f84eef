"""The report of a check, and what was repaired, as lines of plain text."""

from collections import Counter
from collections.abc import Iterator

from tagkit.cli.program.messages import with_flags
from tagkit.corpus.lint.findings import CheckReport, FileFacts, Finding, shown_lines
from tagkit.corpus.lint.labels import shown
from tagkit.corpus.lint.repair import Repaired
from tagkit.corpus.source.source import source_name
from tagkit.text.schemes import PLAIN
from tagkit.wording import plural

# What `FileFacts.scheme` is where the file has no spans: plain labels, classes, text alone.
_NO_TYPES = (PLAIN, "classes", None)
_MAX_REPAIRS = 20  # that are shown
_MAX_OF_A_KIND = 10  # findings of one kind in one file that are shown


def check_lines(report: CheckReport) -> Iterator[str]:
    """Facts of each file, findings with the worst first, and the verdict."""
    for facts in report.files:
        yield from _facts_lines(facts)
        yield ""
    # The JSON has every finding; here a thousand of one kind must not hide the others.
    shown_of: Counter[tuple[str, str]] = Counter()
    for finding in report.findings:
        key = (finding.file, finding.kind)
        shown_of[key] += 1
        if shown_of[key] <= _MAX_OF_A_KIND:
            yield f"{finding.severity + ':':<8} {_finding_line(finding)}"
    for (file, kind), count in shown_of.items():
        if (more := count - _MAX_OF_A_KIND) > 0:
            yield f"         {source_name(file)}: {more:,} more of the kind {kind} (--json)"
    if report.findings:
        yield ""
    yield f"verdict: {report.verdict}"


def repair_lines(file: str, done: Repaired) -> Iterator[str]:
    """The repairs that were made in a file, and the errors that were left in it."""
    yield ""
    yield f"wrote {file}{'; repairs:' if done.repairs else '; there was nothing to repair'}"
    for repair in done.repairs[:_MAX_REPAIRS]:
        # A repair of the whole file, such as its encoding, has no lines.
        where = f": {shown_lines(repair.lines)}" if repair.lines else ""
        yield f"  {repair.message}{where}"
    if len(done.repairs) > _MAX_REPAIRS:
        yield f"  {len(done.repairs) - _MAX_REPAIRS:,} more (--json)"
    # What no program can decide, such as a line with a column too few.
    for error in done.left[:_MAX_REPAIRS]:
        yield f"  left for you to correct: {with_flags(str(error))}"
    if len(done.left) > _MAX_REPAIRS:
        yield f"  left for you to correct: {len(done.left) - _MAX_REPAIRS:,} more (--json)"


def _facts_lines(facts: FileFacts) -> Iterator[str]:
    texts = facts.scheme in ("classes", None)  # an example is a text there, not a sentence
    labels = Counter(facts.labels)
    yield source_name(facts.file)
    yield f"  format   {facts.format}"
    yield f"  labels   {facts.scheme_told}"
    yield (
        f"  counts   {plural(facts.sentences, 'text' if texts else 'sentence')}, "
        f"{plural(facts.tokens, 'token')}, {plural(labels.total(), _what(facts))}"
    )
    yield f"  tokens   {', '.join(f'{name} {n:,}' for name, n in facts.lengths.items())}"
    for counts, what in ((labels, "type" if facts.scheme not in _NO_TYPES else "label"),
                         (Counter(facts.classes), "class")):  # fmt: skip
        if counts:
            yield f"  {plural(len(counts), what)}: {shown([*counts], counts)}"


def _what(facts: FileFacts) -> str:
    return "label" if facts.scheme in _NO_TYPES else "span"


def _finding_line(finding: Finding) -> str:
    """A finding with its lines: file:line where there is but one, else at the end."""
    if len(finding.lines) == 1:
        return f"{source_name(finding.file)}:{finding.lines[0]}: {with_flags(finding.message)}"
    where = f"; {shown_lines(finding.lines)}" if finding.lines else ""
    return f"{source_name(finding.file)}: {with_flags(finding.message)}{where}"
