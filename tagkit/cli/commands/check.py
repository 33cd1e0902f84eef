"""`tagkit check`."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagkit.cli.program.messages import show_lines, with_flags
from tagkit.cli.program.option_fields import flags_of, takes_options
from tagkit.cli.program.options import AsJson, Overrides, Reading, load_settings
from tagkit.corpus.lint.findings import (
    CheckReport,
    CorpusFinding,
    FileFacts,
    labels_text,
    shown_lines,
)
from tagkit.errors import ConfigError
from tagkit.text.json_text import to_json
from tagkit.text.scheme_names import PLAIN
from tagkit.wording import plural

if TYPE_CHECKING:  # its module imports pydantic
    from tagkit.corpus.lint.repair import Repaired

EXAMPLES = """\
Examples:
  tagkit check train.conll dev.conll test.conll
  tagkit check train.conll --fix repaired.conll
"""


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """The options of `tagkit check`."""

    files: Annotated[
        list[str],
        typer.Argument(help="Corpora: train first, then dev and test.", metavar="FILE"),
    ]
    fix: Annotated[
        str | None,
        typer.Option(help="Write a repaired copy: a file, or a folder for several.", metavar="OUT"),
    ] = None
    force: Annotated[bool, typer.Option(help="Replace files that exist in OUT.")] = False
    as_json: AsJson = False
    reading: Reading
    overrides: Overrides = None


@takes_options
def check_command(options: CheckOptions) -> None:
    """Check corpora for errors, and describe what they contain.

    --fix writes repaired copies, and never to a file that is read. The exit status is 1 if there
    are errors, and 0 if there are only warnings.
    """
    if options.force and not options.fix:
        raise typer.BadParameter("--force needs --fix: without it nothing is written")
    # Late, as in every command: rich and pydantic would double the time that --help takes.
    from tagkit.cli.program.console import note
    from tagkit.config.option import LABELS, Needs
    from tagkit.corpus.lint.check import check_files
    from tagkit.corpus.lint.repair import write_repaired

    settings = load_settings(None, options.overrides, flags_of(options))
    if not Needs("task", LABELS).are_met_by(settings.task):
        raise ConfigError(
            f"task={settings.task}",
            ["labels are checked, which plain text lacks; tagkit train describes the text"],
        )
    data = settings.data
    copies = _copies(options)
    report = check_files(options.files, data, note)
    if not options.as_json:
        # Before any repair: it says why a file cannot be repaired.
        show_lines(check_lines(report))
    repaired = write_repaired(copies, data, force=options.force)
    # One object for both, as a program reads one.
    if options.as_json:
        facts: dict[str, Any] = report.to_dict()
        if copies:
            facts["repairs"] = {file: done.to_dict() for file, done in repaired.items()}
        typer.echo(to_json(facts))
    else:
        for file, done in repaired.items():
            show_lines(repair_lines(file, done))
    if report.errors:
        # So that a script or a hook can refuse the corpus.
        raise typer.Exit(1)


def _copies(options: CheckOptions) -> dict[str, Path]:
    """The place of each file's repaired copy; none without --fix.

    Before the reading, which may take minutes: a place that cannot be written is reported at once.
    """
    from tagkit.corpus.lint.repair import copies_of
    from tagkit.storage.places import require_file_name, require_name

    if options.fix is None:
        return {}
    require_name(options.fix, "--fix")
    if len(options.files) == 1:
        require_file_name(options.fix)
    return copies_of(options.files, Path(options.fix), force=options.force)


# The report of a check, and what was repaired, as lines of plain text.

# What `FileFacts.scheme` is where the file has no spans: plain labels, classes, text alone.
_NO_TYPES = (PLAIN, "classes", None)
_MAX_REPAIRS = 20  # that are shown
_MAX_OF_A_KIND = 10  # findings of one kind in one file that are shown


def check_lines(report: CheckReport) -> Iterator[str]:
    """Facts of each file, findings with the worst first, and the verdict."""
    from tagkit.corpus.source.source import source_name

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


def repair_lines(file: str, done: "Repaired") -> Iterator[str]:
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
    from tagkit.corpus.source.source import source_name

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
            yield f"  {plural(len(counts), what)}: {labels_text(counts)}"


def _what(facts: FileFacts) -> str:
    return "label" if facts.scheme in _NO_TYPES else "span"


def _finding_line(finding: CorpusFinding) -> str:
    """A finding with its lines: file:line where there is but one, else at the end."""
    from tagkit.corpus.source.source import source_name

    if len(finding.lines) == 1:
        return f"{source_name(finding.file)}:{finding.lines[0]}: {with_flags(finding.message)}"
    where = f"; {shown_lines(finding.lines)}" if finding.lines else ""
    return f"{source_name(finding.file)}: {with_flags(finding.message)}{where}"
