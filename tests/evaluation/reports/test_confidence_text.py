"""How conformal sets do, in words."""

from tagkit.evaluation.reports.confidence_text import set_lines
from tagkit.evaluation.scores.conformal import report_sets


def test_sets_that_reached_the_limit_are_named_where_there_are_some() -> None:
    some = report_sets(0.9, [1, 3, 3, 3], [True, True, True, False], 3, 3)
    none = report_sets(0.9, [1, 2], [True, True], 3, 0)
    assert [*set_lines({"tags": some, "classes": none})] == [
        "",
        "sets of tags at coverage 0.9: 0.7500 of 4 sets hold the gold tags, one of each sentence; "
        "standard error 0.2165",
        "size: median 3, mean 2.50, 90th percentile 3; 0.7500 of sets reached the limit of 3 "
        "taggings",
        "0.2500 of sets have one tagging alone, which is right in 1.0000 of them",
        "",
        "sets of classes at coverage 0.9: 1.0000 of 2 sets hold the gold classes, one of each "
        "text; standard error 0.0000",
        "size: median 1.5, mean 1.50, 90th percentile 2; no set holds all 3 classes",
        "0.5000 of sets have one class alone, which is right in 1.0000 of them",
    ]


def test_sets_of_all_classes_are_counted() -> None:
    report = report_sets(0.99, [6, 6, 6, 5], [True, True, True, True], 6, 3)
    assert [*set_lines({"classes": report})][2] == (
        "size: median 6, mean 5.75, 90th percentile 6; 0.7500 of sets hold all 6 classes"
    )
