"""Doubts: places that models contradict, over several models, ranked; and sentence weights."""

from dataclasses import replace

from says import refuses

from tagkit.errors import DataError
from tagkit.evaluation.analysis.label_errors import (
    Audit,
    Contradiction,
    Doubt,
    audit_lines,
    differences,
    rank_doubts,
)
from tagkit.text.json_text import plain

WORDS = (("Ada", "Byron", "left", "New", "York"), ("Oslo",))
LINES = ((1, 2, 3, 4, 5), (7,))
ADA, ADA_BYRON, YORK = (0, 1, "PER"), (0, 2, "PER"), (3, 5, "LOC")


def said(
    *predicted: tuple[int, int, str],
    gold: tuple[tuple[int, int, str], ...] = (ADA_BYRON,),
    repeat: int = 0,
    sentence: int = 0,
    probability: float = 0.25,
    own: float = 0.5,
) -> Contradiction:
    return Contradiction("span", sentence, repeat, gold, predicted, probability, own)


def test_places_where_gold_and_prediction_differ_are_found_each_once() -> None:
    gold = [ADA_BYRON, YORK]
    assert list(differences(gold, gold)) == []
    assert list(differences(gold, [ADA, YORK])) == [((ADA_BYRON,), (ADA,))]
    assert list(differences(gold, [])) == [((ADA_BYRON,), ()), ((YORK,), ())]
    assert list(differences([], [ADA])) == [((), (ADA,))]
    other = (3, 5, "ORG")
    assert list(differences(gold, [ADA_BYRON, other])) == [((YORK,), (other,))]
    # One long prediction over both is one place; labels that merely touch are two.
    whole = (0, 5, "ORG")
    assert list(differences(gold, [whole])) == [((ADA_BYRON, YORK), (whole,))]
    assert list(differences([(0, 1, "A"), (1, 2, "B")], [(0, 1, "B"), (1, 2, "B")])) == [
        (((0, 1, "A"),), ((0, 1, "B"),))
    ]


def test_the_more_models_doubt_a_label_and_the_surer_they_are_the_earlier_it_comes() -> None:
    found = rank_doubts(
        [
            said(ADA, repeat=0, probability=0.25, own=0.75),
            said(ADA, repeat=1, probability=0.5, own=1.0),
            said((0, 1, "LOC"), gold=(), sentence=1, repeat=0, probability=0.0, own=0.875),
        ],
        WORDS, LINES, repeats=2,
    )  # fmt: skip
    first, second = found
    assert (first.gold, first.predicted) == ((ADA_BYRON,), (ADA,))
    assert (first.contradicted, first.repeats, first.line) == (2, 2, 1)
    assert first.gold_probability == (0.25 + 0.5) / 2
    assert first.score == ((0.75 - 0.25) + (1 - 0.5)) / 2
    # Surer, but one model of two: the other one agrees with gold.
    assert (second.sentence, second.line, second.contradicted) == (1, 7, 1)
    assert second.score == 0.875 / 2
    assert second.words == ("Oslo",)


def test_what_most_models_predict_is_shown_with_the_mean_of_their_probabilities() -> None:
    (found,) = rank_doubts(
        [said(repeat=0, own=0.9), said(ADA, repeat=1, own=0.2), said(ADA, repeat=2, own=0.4)],
        WORDS, LINES, repeats=3,
    )  # fmt: skip
    assert found.predicted == (ADA,)
    assert found.predicted_probability == (0.2 + 0.4) / 2
    assert found.contradicted == 3


def test_predictions_that_overlap_are_one_place_whatever_model_they_are_of() -> None:
    whole = (0, 5, "ORG")
    (found,) = rank_doubts(
        [
            said(ADA, repeat=0), said(repeat=1, gold=(YORK,), probability=0.1),
            said(whole, gold=(ADA_BYRON, YORK), repeat=2),
        ],
        WORDS, LINES, repeats=3,
    )  # fmt: skip
    assert found.gold == (ADA_BYRON, YORK)
    # The first model agrees with York, and the second with Ada Byron. Each prediction occurs once:
    # the first in order is shown, whatever the order of the repeats.
    assert found.predicted == (ADA, YORK)
    (again,) = rank_doubts(
        [
            said(whole, gold=(ADA_BYRON, YORK), repeat=0),
            said(repeat=1, gold=(YORK,), probability=0.1), said(ADA, repeat=2),
        ],
        WORDS, LINES, repeats=3,
    )  # fmt: skip
    assert again == found


def test_a_model_that_contradicts_two_parts_of_a_place_counts_once() -> None:
    whole = (0, 5, "ORG")
    (found,) = rank_doubts(
        [
            said(ADA, repeat=0, probability=0.3), said(repeat=0, gold=(YORK,), probability=0.1),
            said(whole, gold=(ADA_BYRON, YORK), repeat=1, probability=0.3),
        ],
        WORDS, LINES, repeats=2,
    )  # fmt: skip
    assert found.contradicted == 2
    assert found.score == ((0.5 - 0.3) + (0.5 - 0.3)) / 2


def test_labels_of_other_kinds_are_other_places() -> None:
    of_class = replace(said((0, 5, "news"), gold=((0, 5, "sport"),)), what="class")
    found = rank_doubts([said(ADA), of_class], WORDS, LINES, repeats=1)
    assert [each.what for each in found] == ["class", "span"]  # ties by the kind's name


def test_where_lines_are_not_known_there_is_none() -> None:
    (found,) = rank_doubts([said(ADA)], WORDS, ((), ()), repeats=1)
    assert found.line == 0


def audit(*doubts: Doubt, contradicted: tuple[int, ...] = (2, 0)) -> Audit:
    return Audit(
        corpus="train.conll", folds=5, repeats=2, folds_by="sentence", seed=1, measure="F1",
        agreement=0.9, doubts=doubts, contradicted=contradicted, sentences=WORDS,
    )  # fmt: skip


def test_a_weight_falls_with_every_model_that_contradicts_the_sentence() -> None:
    assert audit().weights() == (0.7**2, 1.0)
    assert audit().weights(0.5) == (0.25, 1.0)
    assert audit().weights(0) == (0, 1)
    for epsilon in (float("nan"), -1, 1.5):
        with refuses(DataError, "epsilon", "0", "1"):
            audit().weights(epsilon)


def test_as_json_an_audit_has_its_doubts_and_not_the_corpus() -> None:
    doubts = rank_doubts([said(ADA)], WORDS, LINES, repeats=2)
    found = audit(*doubts).to_dict()
    assert plain(found) == found
    assert [*found] == [
        "corpus", "folds", "repeats", "folds_by", "seed", "measure", "agreement", "doubts",
        "contradicted", "unit",
    ]  # fmt: skip
    assert found["doubts"] == [
        {
            "what": "span", "line": 1, "sentence": 0, "gold": [[0, 2, "PER"]],
            "predicted": [[0, 1, "PER"]], "gold_probability": 0.25, "predicted_probability": 0.5,
            "contradicted": 1, "repeats": 2, "score": 0.125, "words": list(WORDS[0]),
        }
    ]  # fmt: skip


LONG_SENTENCE = tuple("Ada Byron left New York \x1b[31m for good and all .".split(" "))
SPAN = Doubt(
    "span", 12, 0, ((0, 2, "PER"),), ((0, 1, "PER"),), 0.1234, 0.75, 2, 3, 0.91, LONG_SENTENCE
)
CLASS = Doubt("class", 0, 1, ((0, 2, "a"),), (), 0.5, 0.5, 1, 3, 0.2, ("Hello", "you"))
AUDIT = Audit(
    corpus="train.conll", folds=5, repeats=3, folds_by="entity", seed=1, measure="F1",
    agreement=0.87654, doubts=(SPAN, CLASS), contradicted=(2, 1, 0),
    sentences=(LONG_SENTENCE, ("Hello", "you"), ("x",)),
)  # fmt: skip


def test_each_doubt_has_its_place_and_both_readings() -> None:
    assert list(audit_lines(AUDIT, 20)) == [
        "5 folds by entity, 3 times: models agree with gold at F1 0.8765",
        "2 doubts in 2 of 3 sentences",
        "",
        "      score  p(gold)  p(predicted)  models  line",
        "   1  0.910    0.123         0.750     2/3  train.conll:12",
        r"      gold       [PER Ada Byron] left New York \x1b[31m for good",
        r"      predicted  [PER Ada] Byron left New York \x1b[31m for good",
        "   2  0.200    0.500         0.500     1/3  train.conll, sentence 2",
        "      gold       a",
        "      predicted  (no class)",
        "      text       Hello you",
    ]


def test_as_many_are_shown_as_were_asked_for() -> None:
    lines = list(audit_lines(AUDIT, 1))
    assert lines[-1] == "and 1 more"
    assert lines[:-1] == list(audit_lines(AUDIT, 20))[:7]
    assert len(list(audit_lines(AUDIT, 0))) == 2
    assert len(list(audit_lines(replace(AUDIT, doubts=()), 5))) == 2


def test_agreement_of_tags_and_classes_is_called_a_mean() -> None:
    first = next(audit_lines(replace(AUDIT, measure="mean"), 1))
    assert first.endswith("models agree with gold at 0.8765, the mean of all that is learnt")


def test_long_names_words_and_texts_fit_the_width() -> None:
    words = tuple(f"word-of-some-length-{number}" for number in range(30))
    span = replace(SPAN, words=words, gold=((9, 12, "L" * 50),), predicted=())
    text = replace(CLASS, words=words, gold=((0, 30, "L" * 90),))
    long = replace(AUDIT, corpus="a-folder/" * 9 + "train.conll", doubts=(span, text))
    for width in (80, 60):
        lines = list(audit_lines(long, 20, width))[3:]
        assert len(lines) == 8
        assert max(map(len, lines)) <= width
        assert any("word-of-some" in line for line in lines)
