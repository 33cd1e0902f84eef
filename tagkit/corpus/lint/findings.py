"""The results of a check: facts of each file, findings, a verdict."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from tagkit.wording import first_of, plural, shown_name

Severity = Literal["error", "warning", "note"]
_SHOWN_LINES = 5  # numbers of lines that a message names
_SHOWN_LABELS = 12


@dataclass(frozen=True, slots=True)
class CorpusFinding:
    """One kind of problem in one file, with all lines that have it.

    Attributes:
        severity: an error makes a corpus unfit as it is, a warning may make it worse, a note is
            good to know.
        kind: a name for programs.
        file: where it is.
        message: a sentence about it.
        count: how often it is there.
        lines: numbers of lines where it is; empty where it has no line.
    """

    severity: Severity
    kind: str
    file: str
    message: str
    count: int = 1
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What is in a file.

    Attributes:
        file: its path.
        format: what it is read as.
        scheme: of its tags, `PLAIN` for plain labels, or "classes"; None without any.
        scheme_told: how sure that is, for people.
        sentences: how many, or how many texts.
        tokens: how many; of texts with classes, words between blanks.
        labels: how often each type of span, plain label or class of a text occurs.
        classes: of sentences that have tags too, how often each class occurs.
        lengths: tokens of the shortest sentence, of quantiles 0.5, 0.9, 0.99, of the longest one.
    """

    file: str
    format: str
    scheme: str | None
    scheme_told: str  # a key of the report as JSON: its name stays
    sentences: int
    tokens: int
    labels: dict[str, int]
    classes: dict[str, int]
    lengths: dict[str, int]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All that a check has found.

    Attributes:
        files: facts of each file that could be read.
        findings: of all files; errors first.
    """

    files: tuple[FileFacts, ...]
    findings: tuple[CorpusFinding, ...]

    @property
    def errors(self) -> int:
        """How many findings are errors."""
        return sum(finding.severity == "error" for finding in self.findings)

    @property
    def verdict(self) -> str:
        """What it comes to, in a line."""
        counts = Counter(finding.severity for finding in self.findings)
        # Notes do not make a corpus unfit, so they change the words and not the exit status.
        if not counts:
            return "nothing odd found"
        counted = ", ".join(
            plural(counts[severity], severity)
            for severity in ("error", "warning", "note")
            if counts[severity]
        )
        if counts["error"]:
            return f"{counted}: correct the errors before training on this"
        return f"{counted}: fit to train on"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "verdict": self.verdict,
            "files": [asdict(facts) for facts in self.files],
            "findings": [
                {**asdict(finding), "lines": [*finding.lines]} for finding in self.findings
            ],
        }


def shown_lines(lines: tuple[int, ...] | list[int]) -> str:
    """'line 7' or 'lines 7, 9, 12 and 30 more'."""
    lines = tuple(dict.fromkeys(lines))  # one line may have several odd characters
    numbers = first_of([f"{line:,}" for line in lines[:_SHOWN_LINES]], len(lines))
    return f"line{'s' if len(lines) > 1 else ''} {numbers}"


def labels_text(counts: Mapping[str, int]) -> str:
    """'LOC (1,207), PER (82)': labels with their numbers, in this order; the first dozen."""
    shown = [f"{shown_name(label) or repr('')} ({count:,})" for label, count in counts.items()]
    return first_of(shown[:_SHOWN_LABELS], len(shown))
