"""Texts that would break a page if they could, and reports on them."""

import tagkit
from tagkit.evaluation.analysis.label_errors import Audit, Doubt
from tagkit.evaluation.analysis.power_law import Point, fit
from tagkit.evaluation.compare.systems import compare_systems
from tagkit.evaluation.html_report.page import Part, report_parts, whole_analysis
from tagkit.evaluation.html_report.sections import SetsSection
from tagkit.evaluation.scores.calibration import Bin, Calibration, Threshold
from tagkit.evaluation.scores.conformal import report_sets

SCRIPT = "<script>window.broken=1;alert(1)</script>"
IMAGE = '"><img src=x onerror="window.broken=2">'
LONG = "Donaudampfschifffahrt" * 40
HEBREW = "ירושלים"
COMBINING = "Z" + "\u0301\u0323\u0336" * 60
CONTROL = "a\x00\x1b[31mb\u202ec"
WORDS = (SCRIPT, IMAGE, LONG, HEBREW, COMBINING, CONTROL)
LABEL = "<b>&LOC"


def sentences(predicted: bool) -> list[tagkit.Sentence]:
    """Gold or predicted tags of hostile words: errors of several kinds, with hostile labels."""
    found = []
    for word in WORDS:
        words = ("From", word, "Oslo", "to", "Rome")
        tags = ("O", f"B-{LABEL}", f"I-{LABEL}", "O", "B-GPE")
        if predicted:
            tags = ("O", f"B-{LABEL}", "O", "O", "B-PER")
        found.append(tagkit.Sentence(words, tags))
    missed = ("O", "O", "O", "O", "O") if predicted else ("B-PER", "O", "O", "O", "O")
    return [*found, tagkit.Sentence(("Ada", "left", HEBREW, "in", "1840"), missed)]


def all_parts() -> list[Part]:
    """A record for each section, of spans."""
    gold, found = sentences(predicted=False), sentences(predicted=True)
    report = tagkit.evaluate(gold, found)
    systems = compare_systems(
        [
            (SCRIPT, [(SCRIPT, report), ("again", report)]),
            ("better", [("better", tagkit.evaluate(gold, gold))]),
        ]
    )
    bins = tuple(Bin(n / 10, (n + 1) / 10, n, n / 10 + 0.05, n / 12) for n in range(10))
    thresholds = (Threshold(0.0, 45, 0.8, 0.7, 0.75), Threshold(0.5, 40, 0.9, 0.6, 0.72))
    calibration = Calibration("spans", 45, 0.05, 0.1, bins, thresholds, 0.04, 0.3)
    points = [Point(size, 1, 1 - 2 * size**-0.3) for size in (500, 1000, 2000, 4000)]
    words = ("From", SCRIPT, "to", LONG)
    doubt = Doubt("span", 7, 0, ((1, 2, LABEL),), ((1, 3, "PER"),), 0.01, 0.98, 2, 3, 0.91, words)
    audit = Audit("train.conll", 5, 3, "sentence", 1, "F1", 0.9, (doubt,) * 60, (2,), ())
    return [
        *report_parts(report, whole_analysis(report, None)),
        Part("", systems),
        Part("", calibration),
        Part(
            "",
            SetsSection(
                "tags", report_sets(0.9, [1, 1, 3, 100], [True, False, True, True], 100, 1)
            ),
        ),
        Part("", fit("F1", points, "sentence")),
        Part("", audit),
    ]
