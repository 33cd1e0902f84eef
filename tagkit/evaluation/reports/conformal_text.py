"""How conformal sets do on a corpus, as lines of plain text."""

from collections.abc import Iterator, Mapping

from tagkit.evaluation.scores.conformal import SetReport
from tagkit.wording import plural

# What a set of each kind of label has, and what it belongs to.
MEMBERS = {"tags": ("tagging", "sentence"), "classes": ("class", "text")}


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
