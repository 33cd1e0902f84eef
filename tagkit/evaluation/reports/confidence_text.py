"""Calibrations, and how conformal sets do on a corpus, as lines of plain text."""

from collections.abc import Iterator, Mapping

from tagkit.evaluation.scores.calibration import Calibration
from tagkit.evaluation.scores.conformal import SetReport
from tagkit.evaluation.scores.outcomes import CLASSES
from tagkit.wording import plural, shown_name

# What a set of each kind of label has, and what it belongs to.
MEMBERS = {"tags": ("tagging", "sentence"), "classes": ("class", "text")}
_BAR = 20  # characters of a bar for a share of 1


def calibration_lines(parts: Mapping[str, Calibration]) -> Iterator[str]:
    """The calibration of each head, each after a blank line.

    Args:
        parts: by the name of the head, "" where there is one.
    """
    for head, found in parts.items():
        yield ""
        yield from _lines(head, found)


def numbers_of(found: Calibration) -> Mapping[str, float]:
    """The four numbers of a calibration by their names for people."""
    return {
        "ECE": found.ece,
        "ECE, bins of equal mass": found.ece_equal_mass,
        "Brier score": found.brier,
        "log loss": found.log_loss,
    }


def _lines(head: str, found: Calibration) -> Iterator[str]:
    what = f"{found.count:,} {found.name}"
    yield f"calibration of {shown_name(head) + ': ' if head else ''}{what}"
    for name, value in numbers_of(found).items():
        yield f"{name:<23}  {value:.4f}"
    yield ""
    # Of each class of each text the table says how often the text has it.
    right = "present" if found.name == CLASSES else "right"
    yield f"{'probability':<12} {found.name:>9} {'mean':>8} {right:>8}"
    for each in found.bins:
        edges = f"{each.low:.1f} to {each.high:.1f}"
        if not each.count:
            yield f"{edges:<12} {0:>9} {'-':>8} {'-':>8}"
            continue
        bar = "#" * round(_BAR * each.accuracy)
        line = f"{edges:<12} {each.count:>9,} {each.confidence:>8.4f} {each.accuracy:>8.4f}  {bar}"
        yield line.rstrip()
    yield ""
    yield f"{'kept from':<12} {found.name:>9} {'precision':>10} {'recall':>8} {'f1':>8}"
    for row in found.thresholds:
        yield (
            f"{row.threshold:<12g} {row.count:>9,} {row.precision:>10.4f} {row.recall:>8.4f} "
            f"{row.f1:>8.4f}"
        )


def set_lines(reports: Mapping[str, SetReport]) -> Iterator[str]:
    """The reports on the sets of "tags", "classes" or both, after a blank line each."""
    for kind, each in reports.items():
        member, unit = MEMBERS[kind]
        yield ""
        yield (
            f"sets of {kind} at coverage {each.coverage:g}: {each.covered:.4f} of "
            f"{plural(each.count, 'set')} hold the gold {kind}, one of each {unit}; standard error "
            f"{each.standard_error:.4f}"
        )
        yield (
            f"size: median {each.median_size:g}, mean {each.mean_size:.2f}, 90th percentile "
            f"{each.p90_size:g}; {_largest(kind, each)}"
        )
        if each.single_correct is None:
            yield f"no set has one {member} alone"
        else:
            yield (
                f"{each.single:.4f} of sets have one {member} alone, which is right in "
                f"{each.single_correct:.4f} of them"
            )


def _largest(kind: str, each: SetReport) -> str:
    some = f"{each.at_limit:.4f} of sets" if each.at_limit else "no set"
    limit = plural(each.limit, MEMBERS[kind][0])
    if kind == "tags":  # there are more taggings, so that some may be missing
        return f"{some} reached the limit of {limit}"
    return f"{some} {'hold' if each.at_limit else 'holds'} all {limit}"
