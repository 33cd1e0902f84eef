"""Sets of answers: how often they hold the right one, and how large they are."""

from dataclasses import dataclass

from markupsafe import Markup

from tagkit.evaluation.html_report.tables import cards
from tagkit.evaluation.reports.conformal_text import MEMBERS
from tagkit.evaluation.scores.conformal import SetReport
from tagkit.html.colours import Palette
from tagkit.html.elements import percent
from tagkit.wording import plural


@dataclass(frozen=True, slots=True)
class Sets:
    """A report on sets of "tags" or of "classes"."""

    kind: str
    report: SetReport


def draw_sets(found: Sets, palette: Palette) -> Markup:
    """Single numbers, of which the share that holds the gold answer is the main one."""
    each, (member, unit) = found.report, MEMBERS[found.kind]
    asked = f"of {100 * each.coverage:g} asked for; standard error {percent(each.standard_error)}"
    right = "" if each.single_correct is None else f"right in {percent(each.single_correct)} %"
    limit = plural(each.limit, member)
    return cards(
        (f"hold the gold {found.kind}, %", percent(each.covered), asked),
        ("sets", f"{each.count:,}", f"one of each {unit}"),
        ("mean size", f"{each.mean_size:.2f}",
         f"median {each.median_size:g}, 90th percentile {each.p90_size:g}"),
        (f"have one {member} alone, %", percent(each.single), right),
        (f"hold all {limit}, %" if found.kind == "classes" else f"reached the limit of {limit}, %",
         percent(each.at_limit), ""),
    )  # fmt: skip
