"""An audit as lines for a terminal of 80 columns."""

from dataclasses import replace

from tagkit.evaluation.analysis.doubts import Audit, Doubt
from tagkit.evaluation.analysis.doubts_text import audit_lines

WORDS = ("Ada", "Byron", "left", "New", "York", "\x1b[31m", "for", "good", "and", "all", ".")
SPAN = Doubt("span", 12, 0, ((0, 2, "PER"),), ((0, 1, "PER"),), 0.1234, 0.75, 2, 3, 0.91, WORDS)
CLASS = Doubt("class", 0, 1, ((0, 2, "a"),), (), 0.5, 0.5, 1, 3, 0.2, ("Hello", "you"))
AUDIT = Audit(
    corpus="train.conll", folds=5, repeats=3, folds_by="entity", seed=1, measure="F1",
    agreement=0.87654, doubts=(SPAN, CLASS), contradicted=(2, 1, 0),
    sentences=(WORDS, ("Hello", "you"), ("x",)),
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


def test_doubts_of_weak_models_are_said_to_be_their_own_mistakes() -> None:
    said = "the models agree with gold so little that most doubts are their own mistakes"
    assert said not in audit_lines(replace(AUDIT, agreement=0.5), 20)
    assert list(audit_lines(replace(AUDIT, agreement=0.49), 20))[2] == said
    assert said not in audit_lines(replace(AUDIT, agreement=0.49, doubts=()), 20)
