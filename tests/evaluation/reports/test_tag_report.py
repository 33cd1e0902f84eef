"""Reports on tags: seqeval's numbers, conlleval's rules, and tags that are counted as read."""

import json
import tracemalloc
import warnings
from collections.abc import Iterator, Sequence
from itertools import chain, product
from pathlib import Path

import conlleval
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_tags import gold_and_predicted
from says import Says
from seqeval import scheme as seqeval_schemes
from seqeval.metrics import classification_report
from sklearn.metrics import precision_recall_fscore_support
from tag_files import data, write

from tagkit.config import DataConfig
from tagkit.errors import DataError
from tagkit.evaluation.compare.compare import compare_files, compare_records
from tagkit.evaluation.reports import tag_report
from tagkit.evaluation.reports.tag_report import (
    CONLLEVAL,
    STRICT,
    TOKENS,
    TagReport,
    make_tag_report,
    score_sentences,
)
from tagkit.evaluation.scores.scores import Score
from tagkit.text.records import Sentence
from tagkit.text.scheme_detection import illegal_count
from tagkit.text.schemes import PREFIXES, SPAN_SCHEMES, convert, to_spans

Tags = list[list[str]]
AVERAGES = ("micro", "macro", "weighted")


def same(score: Score, row: dict[str, float]) -> None:
    """A score of ours is a row of seqeval's, which rounds P and R before it makes F1 of them."""
    assert numbers(score) == pytest.approx(
        (row["precision"], row["recall"], row["f1-score"]), abs=1e-12
    )
    assert score.support == row["support"]


def numbers(score: Score) -> tuple[float, float, float]:
    return score.precision, score.recall, score.f1


@given(gold_and_predicted())
def test_every_type_has_the_scores_of_conlleval(both: tuple[Tags, Tags]) -> None:
    gold, predicted = both
    report = make_tag_report(gold, predicted, "iobes")
    counts = conlleval.count(gold, predicted)
    # seqeval calls the label of a bare prefix "_".
    types = {type_ or "_": type_ for type_ in counts.gold | counts.guessed}
    assert report.types.keys() == types.keys()
    for name, type_ in types.items():
        assert numbers(report.types[name]) == pytest.approx(counts.scores(type_), abs=1e-12)
        assert report.types[name].support == counts.gold[type_]
    assert numbers(report.micro) == pytest.approx(counts.scores(*types.values()), abs=1e-12)
    assert report.micro.support == counts.gold.total()


@given(gold_and_predicted())
def test_the_headline_is_the_micro_f1_of_spans(both: tuple[Tags, Tags]) -> None:
    report = make_tag_report(*both, "iob2")
    assert report.headline == report.micro.f1
    assert report.measure == "F1"
    assert report.parts() == {
        "accuracy": report.accuracy,
        "precision": report.micro.precision,
        "recall": report.micro.recall,
        "f1": report.micro.f1,
        "macro_f1": report.macro.f1,
    }


@given(gold_and_predicted())
def test_the_default_mode_is_seqevals(both: tuple[Tags, Tags]) -> None:
    gold, predicted = both
    report = make_tag_report(gold, predicted, "iobes")
    if not any(map(to_spans, [*gold, *predicted])):
        assert not report.types
        return
    table = classification_report(gold, predicted, output_dict=True, zero_division=0)
    assert len(table) == len(report.types) + 3
    for name in AVERAGES:
        row = table.pop(f"{name} avg")
        same(getattr(report, name), row)
    for name, row in table.items():
        same(report.types[name], row)


@given(gold_and_predicted(("O", "O", "B-X", "I-X", "B-Y", "I-Y", "L-X", "U-X", "L-Y", "U-Y")))
def test_l_and_u_score_as_e_and_s(both: tuple[Tags, Tags]) -> None:
    spelled = [
        [[tag.replace("L-", "E-").replace("U-", "S-") for tag in tags] for tags in side]
        for side in both
    ]
    assert make_tag_report(*both, "bilou").types == make_tag_report(*spelled, "iobes").types


ALPHABETS = {
    scheme: ("O", *(f"{prefix}-{label}" for prefix in sorted(PREFIXES[scheme]) for label in "XY"))
    for scheme in SPAN_SCHEMES
}


@pytest.mark.parametrize("scheme", SPAN_SCHEMES)
@given(data=st.data())
def test_the_strict_mode_is_seqevals(scheme: str, data: st.DataObject) -> None:
    gold, predicted = data.draw(gold_and_predicted(ALPHABETS[scheme]))
    report = make_tag_report(gold, predicted, scheme, strict=True)
    assert report.mode == STRICT
    if scheme == "bmes":  # which seqeval does not have
        scheme = "iobes"
        gold, predicted = (
            [[tag.replace("M-", "I-") for tag in tags] for tags in side]
            for side in (gold, predicted)
        )
    kind = getattr(seqeval_schemes, scheme.upper())
    if not any(seqeval_schemes.Entities(side, kind).unique_tags for side in (gold, predicted)):
        assert not report.types
        return
    table = classification_report(
        gold, predicted, mode="strict", scheme=kind, output_dict=True, zero_division=0
    )
    for name in AVERAGES:
        same(getattr(report, name), table.pop(f"{name} avg"))
    assert report.types.keys() == table.keys()
    for name, row in table.items():
        same(report.types[name], row)


@pytest.mark.parametrize("scheme", SPAN_SCHEMES)
def test_on_well_formed_tags_strict_and_default_agree(scheme: str) -> None:
    sequences = list(product(ALPHABETS[scheme], repeat=3))
    legal = [tags for tags in sequences if illegal_count([tags], scheme) == 0]
    assert len(legal) > 5
    others = legal[1:] + legal[:1]
    strict = make_tag_report(legal, others, scheme, strict=True)
    default = make_tag_report(legal, others, scheme)
    assert strict.types == default.types
    assert strict.micro == default.micro


@pytest.mark.parametrize(
    ("scheme", "gold", "predicted", "score"),
    [
        ("iob2", "B-X I-X O", "I-X I-X O", (0.0, 0.0, 0.0, 1)),
        ("iob2", "B-X I-X O", "S-X E-X O", (0.0, 0.0, 0.0, 1)),  # prefixes that IOB2 has not
        ("iob2", "B-X I-X O B-X", "B-X I-X O E-X", (1.0, 0.5, 2 / 3, 2)),
        ("bmes", "B-X M-X E-X S-X", "B-X M-X E-X O", (1.0, 0.5, 2 / 3, 2)),
        ("iobes", "B-X I-X O S-X", "B-X E-X O S-X", (0.5, 1.0, 2 / 3, 1)),
        ("iob2", "I-X O", "I-X O", (0.0, 0.0, 0.0, 0)),  # no span is well-formed
        ("iob1", "B-X O", "O O", (0.0, 0.0, 0.0, 0)),
    ],
)
def test_strict_counts_only_what_is_well_formed(
    scheme: str, gold: str, predicted: str, score: tuple[float, float, float, int]
) -> None:
    report = make_tag_report([gold.split()], [predicted.split()], scheme, strict=True)
    assert (*numbers(report.micro), report.micro.support) == pytest.approx(score)
    assert report.mode == "strict"


label_tags = st.lists(
    st.lists(st.tuples(st.sampled_from("ABC"), st.sampled_from("ABCD")), min_size=1, max_size=6),
    min_size=1,
    max_size=4,
)


@given(label_tags)
def test_plain_labels_are_scored_token_by_token_as_scikit_learn_does(
    pairs: list[list[tuple[str, str]]],
) -> None:
    gold = [[a for a, _ in sentence] for sentence in pairs]
    predicted = [[b for _, b in sentence] for sentence in pairs]
    report = make_tag_report(gold, predicted, "labels")
    flat_gold, flat_predicted = list(chain(*gold)), list(chain(*predicted))
    types = sorted(set(flat_gold + flat_predicted))
    assert list(report.types) == types
    rows = precision_recall_fscore_support(flat_gold, flat_predicted, labels=types, zero_division=0)
    for name, *row in zip(types, *rows, strict=True):
        found = report.types[name]
        assert (*numbers(found), found.support) == pytest.approx(row)
    for average in AVERAGES:
        row = precision_recall_fscore_support(
            flat_gold, flat_predicted, labels=types, average=average, zero_division=0
        )
        assert numbers(getattr(report, average)) == pytest.approx(row[:3])
        assert getattr(report, average).support == len(flat_gold)
    assert report.mode == TOKENS
    assert report.headline == report.accuracy == pytest.approx(report.micro.f1)
    assert report.measure == "accuracy"
    assert report.parts() == {"accuracy": report.accuracy, "macro_f1": report.macro.f1}


def test_a_report_names_scheme_and_mode_and_counts_what_it_scored() -> None:
    gold = [["B-LOC", "I-LOC", "O"], ["B-PER"]]
    predicted = [["B-LOC", "I-LOC", "O"], ["B-LOC"]]
    assert make_tag_report(gold, predicted, "iob2", known={"LOC", "ORG"}) == TagReport(
        scheme="IOB2",
        mode="conlleval-compatible",
        sentences=2,
        tokens=4,
        accuracy=0.75,
        micro=Score(0.5, 0.5, 0.5, 2),
        macro=Score(0.25, 0.5, 1 / 3, 2),
        weighted=Score(0.25, 0.5, 1 / 3, 2),
        types={"LOC": Score(0.5, 1.0, 2 / 3, 1), "PER": Score(0.0, 0.0, 0.0, 1)},
        unknown={"PER": 1},
        comparison=make_tag_report([], [], "iob2").comparison,  # no part of equality
    )
    assert (CONLLEVAL, STRICT, TOKENS) == ("conlleval-compatible", "strict", "per token")


@pytest.mark.parametrize(("scheme", "name"), [("iob1", "IOB1"), ("bilou", "BILOU"), ("labels", "labels")])  # fmt: skip  # noqa: E501
def test_schemes_are_shown_as_people_write_them(scheme: str, name: str) -> None:
    assert make_tag_report([["O"]], [["O"]], scheme).scheme == name


def test_types_stand_in_alphabetical_order() -> None:
    gold = [["B-b", "B-a", "B-C"]]
    assert list(make_tag_report(gold, gold, "iob2").types) == ["C", "a", "b"]
    assert list(make_tag_report([["b", "a"]], [["C", "a"]], "labels").types) == ["C", "a", "b"]


def test_labels_with_hyphens_are_whole() -> None:
    gold = [["B-LOC-GPE", "I-LOC-GPE", "B-LOC"]]
    for strict in (False, True):
        report = make_tag_report(gold, gold, "iob2", strict=strict)
        assert {name: score.support for name, score in report.types.items()} == {
            "LOC": 1, "LOC-GPE": 1,
        }  # fmt: skip


def test_unknown_gold_labels_are_errors_and_listed() -> None:
    report = make_tag_report(
        [["NN", "XX", "XX"]], [["NN", "NN", "NN"]], "labels", known=["NN", "VB"]
    )
    assert report.unknown == {"XX": 2}
    assert report.accuracy == 1 / 3
    # A label that is only predicted is not among them, nor is anything where nothing is known.
    assert not make_tag_report([["NN"]], [["XX"]], "labels", known=["NN"]).unknown
    assert not make_tag_report([["NN"]], [["XX"]], "labels").unknown


@pytest.mark.parametrize("scheme", [*SPAN_SCHEMES, "labels"])
@pytest.mark.parametrize("strict", [False, True])
def test_nothing_to_score_scores_0(scheme: str, strict: bool) -> None:
    zero = Score(0.0, 0.0, 0.0, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = make_tag_report([], [], scheme, strict=strict)
    assert (report.micro, report.macro, report.weighted) == (zero, zero, zero)
    assert (report.sentences, report.tokens, report.accuracy, report.types) == (0, 0, 0.0, {})


def test_a_report_is_plain_json() -> None:
    gold = [list(convert(["B-X", "I-X", "O"], "bilou"))]
    report = json.loads(json.dumps(make_tag_report(gold, gold, "bilou").to_dict()))
    assert report["scheme"] == "BILOU"
    assert report["micro"] == {"precision": 1.0, "recall": 1.0, "f1": 1.0, "support": 1}
    assert report["types"] == {"X": report["micro"]}
    assert list(report) == [
        "kind", "measure", "headline", "scheme", "mode", "sentences", "tokens", "accuracy",
        "micro", "macro", "weighted", "types", "unknown",
    ]  # fmt: skip
    assert report["kind"] == "spans"
    assert make_tag_report([["NN"]], [["NN"]], "labels").to_dict()["kind"] == "tokens"


def test_a_bare_prefix_is_another_type_than_an_underscore() -> None:
    report = make_tag_report([["B", "B-_", "O"]], [["B", "B", "B-_"]], "iob2", known=["", "X"])
    assert report.types == {"_": Score(0.0, 0.0, 0.0, 1), "__": Score(0.5, 1.0, 2 / 3, 1)}
    assert report.unknown == {"_": 1}
    assert list(make_tag_report([["B", "O"]], [["B", "O"]], "iob2").types) == ["_"]


@pytest.mark.parametrize("strict", [True, False])
def test_hyphens_at_a_labels_ends_belong_to_it(strict: bool) -> None:
    report = make_tag_report([["B--X", "O"]], [["B-X", "O"]], "iob2", strict=strict)
    assert report.types == {"-X": Score(0.0, 0.0, 0.0, 1), "X": Score(0.0, 0.0, 0.0, 0)}


TAGS = {
    "spans": ("O", "B-X", "I-X", "B-Y", "I-Y", "E-X", "S-X", "L-Y", "U-Y", "M-X"),
    "iob": ("O", "B-X", "I-X", "I-Y", "B-Y"),
    "bare": ("O", "B", "I", "B-X"),
    "labels": ("NN", "VB", "O", "B-NP", "I"),
}
SCHEMES = ("auto", "iob1", "iob2", "iobes", "bilou", "bmes", "labels")


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[Sentence], list[Sentence]]:
    """Gold and predicted sentences; the predicted ones perhaps in another scheme."""
    tags = st.sampled_from(TAGS[draw(st.sampled_from(sorted(TAGS)))])
    token = st.tuples(tags, st.booleans(), tags)
    target = draw(st.sampled_from(["labels", "iob1", "iob2", "iobes", "bilou"]))
    gold, found = [], []
    line = 1
    for row in draw(st.lists(st.lists(token, min_size=1, max_size=7), min_size=1, max_size=5)):
        words, lines = ("a",) * len(row), range(line, line + len(row))
        line += len(row) + 1
        gold.append(Sentence(words, tuple(tag for tag, _, _ in row), lines=lines))
        predicted = [tag if right else other for tag, right, other in row]
        found.append(Sentence(words, convert(predicted, target), lines=lines))
    return gold, found


def outcome(report: TagReport | str | None) -> object:
    """A report down to the last digit, or the text of an error."""
    return json.dumps(report.to_dict()) if isinstance(report, TagReport) else report


def kept(gold: Sequence[Sentence], found: Sequence[Sentence], scheme: str, strict: bool) -> object:
    try:
        report = compare_records(gold, found, DataConfig(scheme=scheme), strict)
        assert isinstance(report, TagReport)
        return outcome(report)
    except DataError as error:
        return str(error)


def counted(
    gold: Sequence[Sentence], found: Sequence[Sentence], scheme: str, strict: bool
) -> object:
    sides = (iter(gold), iter(found))
    try:
        return outcome(
            score_sentences(("gold", "pred"), sides, DataConfig(scheme=scheme), strict=strict)
        )
    except DataError as error:
        return str(error)


@given(corpora(), st.sampled_from(SCHEMES), st.booleans(), st.integers(1, 12))
def test_counting_in_portions_of_any_size_gives_the_report_or_error_of_the_whole(
    corpus: tuple[list[Sentence], list[Sentence]], scheme: str, strict: bool, portion: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tag_report, "_TOKENS", portion)
        assert counted(*corpus, scheme, strict) == kept(*corpus, scheme, strict)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("column", [None, -1])
def test_a_report_with_its_labels_has_the_same_numbers(
    tmp_path: Path, strict: bool, column: int | None
) -> None:
    """Two files, and one with two columns."""
    gold = "B-X I-X O B-X E-X S-Y I-X I-Y O O".split()
    found = "B-X I-X B-X B-X I-X I-Y O I-Y O B-Y".split()
    rows = list(zip("abcdefghij", gold, found, strict=True))
    both = write(tmp_path, "both", "".join(map("{0[0]} {0[1]} {0[2]}\n".format, rows)))
    ours = write(tmp_path, "gold", "".join(map("{0[0]} {0[1]}\n".format, rows)))
    theirs = (
        None if column else write(tmp_path, "pred", "".join(map("{0[0]} {0[2]}\n".format, rows)))
    )
    first = both if column else ours
    kept, counted = (
        compare_files(first, theirs, data(), column, strict, keep_labels=keep)
        for keep in (True, False)
    )
    assert outcome(kept) == outcome(counted)
    assert (len(kept.comparison.gold), len(counted.comparison.gold)) == (1, 0)


def test_the_lowest_tag_without_a_prefix_is_named_with_its_first_line() -> None:
    rows = [
        "B-X I-X O O",
        "B-X ZZ I-X B-X",
        "B-X AB AA B-X",
        "B-X AA B-X O",
        *["B-X I-X I-X B-X"] * 9,
    ]
    gold = [
        Sentence(("a",) * 4, tuple(row.split()), lines=range(10 * at, 10 * at + 4))
        for at, row in enumerate(rows, 1)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tag_report, "_TOKENS", 1)
        error = counted(gold, gold, "auto", False)
    assert str(error) == Says("gold:32: ", "45 tags", "'AA', 'AB', 'ZZ' (4 in all)")
    assert error == kept(gold, gold, "auto", False)


def many(sentences: int, tags: Sequence[str]) -> Iterator[Sentence]:
    """Sentences of 20 tokens: nine patterns of tags, and words that occur once."""
    for number in range(sentences):
        at = number * 20
        row = tuple(tags[(number % 9 + token) * token % len(tags)] for token in range(20))
        yield Sentence(tuple(f"word{at + i}" for i in range(20)), row, lines=range(at, at + 20))


@pytest.mark.slow
@pytest.mark.parametrize(
    "tags", [("O", "B-X", "I-X", "O", "B-Y", "I-Y", "O"), ("NN", "DT", "VB", "IN", "O")]
)
def test_memory_does_not_grow_with_the_corpus(tags: Sequence[str]) -> None:
    def peak(sentences: int) -> int:
        tracemalloc.start()
        try:
            sides = (many(sentences, tags), many(sentences, tags[::-1]))
            report = score_sentences(("gold", "pred"), sides, DataConfig(), strict=False)
            assert report is not None
            assert report.tokens == 20 * sentences
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(2_500)  # what is imported and cached once
    # Several portions each; the words of one side of what is more would take 3 MB.
    assert peak(5_000) - peak(2_500) < 300_000
