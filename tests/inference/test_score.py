"""Predicted tags beside gold ones, from two files or one."""

from collections.abc import Sequence
from pathlib import Path

import conlleval
import pytest
import tiny
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tagkit.config import DataConfig, load_config
from tagkit.corpus.dataset import Split
from tagkit.errors import DataError, FormatError
from tagkit.evaluation.compare import compare_files
from tagkit.evaluation.scores import Score
from tagkit.evaluation.tag_report import TagReport, make_tag_report
from tagkit.inference.predictor import Predictor
from tagkit.inference.score import dev_scores, evaluate
from tagkit.text.records import Prediction, Sentence
from tagkit.text.scheme_detection import Detection, count_steps, judge
from tagkit.text.schemes import has_spans, to_spans
from tagkit.training.trainer import train


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def data(*overrides: str) -> DataConfig:
    return load_config(None, overrides).data


def compare(
    gold: str, predicted: str | None, *overrides: str, column: int | str = -1, strict: bool = False
) -> TagReport:
    return compare_files(gold, predicted, data(*overrides), column, strict)


GOLD = "EU NNP B-ORG\nis VBZ O\n\nNew NNP B-LOC\nYork NNP I-LOC\n"
PREDICTED = "EU\tB-ORG\nis\tO\n\n\nNew\tB-LOC\nYork\tB-LOC"
TAGS = ([["B-ORG", "O"], ["B-LOC", "I-LOC"]], [["B-ORG", "O"], ["B-LOC", "B-LOC"]])


@pytest.mark.parametrize("strict", [False, True])
def test_two_files_need_the_same_tokens_only(tmp_path: Path, strict: bool) -> None:
    gold, predicted = write(tmp_path, "gold", GOLD), write(tmp_path, "pred", PREDICTED)
    report = compare(gold, predicted, strict=strict)
    assert report == make_tag_report(*TAGS, "iob2", strict=strict)
    assert report.micro == Score(1 / 3, 0.5, 0.4, 2)


def test_one_file_has_gold_tags_in_the_last_column_but_one(tmp_path: Path) -> None:
    text = "EU NNP B-ORG B-ORG\nis VBZ O O\n\nNew NNP B-LOC B-LOC\nYork NNP I-LOC B-LOC\n"
    both = write(tmp_path, "both", text)
    assert compare(both, None) == make_tag_report(*TAGS, "iob2")
    assert compare(both, None, "data.tag_column=3", column=2) == make_tag_report(
        *TAGS[::-1], "iob2"
    )


def test_features_of_the_config_are_not_asked_of_the_files(tmp_path: Path) -> None:
    gold, predicted = write(tmp_path, "gold", GOLD), write(tmp_path, "pred", PREDICTED)
    assert compare(gold, predicted, "data.feature_columns=[2]") == make_tag_report(*TAGS, "iob2")


def test_plain_labels_are_scored_by_token(tmp_path: Path) -> None:
    gold = write(tmp_path, "gold", "a DT\nb NN\n\nc VB\n")
    predicted = write(tmp_path, "pred", "a DT\nb VB\n\nc VB\n")
    report = compare(gold, predicted)
    assert (report.scheme, report.mode, report.accuracy) == ("labels", "per token", 2 / 3)


def test_tags_of_spans_are_plain_labels_where_the_user_says_so(tmp_path: Path) -> None:
    gold, predicted = write(tmp_path, "gold", GOLD), write(tmp_path, "pred", PREDICTED)
    report = compare(gold, predicted, "data.scheme=labels")
    assert (report.mode, report.accuracy) == ("per token", 0.75)
    assert report.types["B-LOC"] == Score(0.5, 1.0, 2 / 3, 1)


def test_predictions_in_another_scheme_are_compared_as_spans(tmp_path: Path) -> None:
    gold = write(tmp_path, "gold", "a B-X\nb I-X\nc B-Y\n")
    predicted = write(tmp_path, "pred", "a B-X\nb E-X\nc S-Y\n")
    assert compare(gold, predicted).micro == Score(1.0, 1.0, 1.0, 2)


def test_predictions_of_nothing_at_all_are_predictions(tmp_path: Path) -> None:
    gold = write(tmp_path, "gold", "a B-X\nb E-X\n")
    predicted = write(tmp_path, "pred", "a O\nb O\n")
    assert compare(gold, predicted).micro == Score(0.0, 0.0, 0.0, 1)


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        ("a O\nb O\n", "a O\nc O\n", "{pred}:2: expected 'b' as on {gold}:2, found 'c'"),
        (
            "# x y z\na O\nb O\n",
            "a O\n",
            "{pred}:1: expected 'b' as on {gold}:3, found the end of the sentence",
        ),
        (
            "a O\n\nb O\n",
            "a O\nb O\n",
            "{pred}:2: expected the end of the sentence, found 'b'",
        ),
        (
            "a O\nb O\n",
            "a O\n\nb O\n",
            "{pred}:1: expected 'b' as on {gold}:2, found the end of the sentence",
        ),
        (
            "a O\n\nb O\n",
            "a O\n",
            "{pred}:1: expected 'b' as on {gold}:3, found the end of the sentence",
        ),
        (
            "a O\n",
            "a O\n\nb O\n",
            "{pred}:3: expected the end of the sentence, found 'b'",
        ),
        (
            "a O\n",
            "",
            "{pred}:1: expected 'a' as on {gold}:1, found the end of the sentence",
        ),
        ("a O\n", "a\n", "{pred}:1: expected a token and a tag on each line, found one column"),
    ],
)
def test_files_with_other_tokens_are_refused_at_the_first(
    tmp_path: Path, gold: str, predicted: str, message: str
) -> None:
    paths = {"gold": write(tmp_path, "gold", gold), "pred": write(tmp_path, "pred", predicted)}
    with pytest.raises(FormatError) as caught:
        compare(paths["gold"], paths["pred"])
    assert str(caught.value) == message.format(**paths)


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        ("a B-X\n", "a NN\n", "{pred}: expected tags in the scheme iob2, found labels"),
        ("a NN\n", "a B-X\n", "{pred}: expected tags in the scheme labels, found iob2"),
        ("", "", "{gold}: holds no sentence"),
    ],
)
def test_files_with_other_kinds_of_tags_or_none_are_refused(
    tmp_path: Path, gold: str, predicted: str, message: str
) -> None:
    paths = {"gold": write(tmp_path, "gold", gold), "pred": write(tmp_path, "pred", predicted)}
    with pytest.raises(DataError) as caught:
        compare(paths["gold"], paths["pred"])
    assert str(caught.value) == message.format(**paths)


def test_a_real_corpus_agrees_with_itself(corpora: Path) -> None:
    path = str(corpora / "conll2003" / "eng.testb")
    report = compare(path, path)
    assert report.micro == Score(1.0, 1.0, 1.0, 5_648)
    assert (report.scheme, report.sentences, report.tokens) == ("IOB1", 3_453, 46_435)


# Labels that seqeval confuses: none, its own name for that, and hyphens at either end.
ODD = ["", "_", "__", "X", "-X", "X-", "-"]
odd_tags = st.just("O") | st.builds(
    lambda prefix, label: f"{prefix}-{label}" if label else prefix,
    st.sampled_from("BIESLUM"),
    st.sampled_from(ODD),
)
odd_corpora = st.lists(
    st.lists(st.tuples(odd_tags, odd_tags), min_size=1, max_size=6), min_size=1, max_size=4
)
Pairs = list[list[tuple[str, str]]]


class Told(Predictor):
    """A model whose tags are given."""

    def __init__(self, predictor: Predictor, tags: Sequence[Sequence[str]]) -> None:
        self.__dict__.update(predictor.__dict__)
        self.tags = tags

    def annotate(self, sentences: Sequence[Sentence], **_: object) -> list[Prediction]:  # type: ignore[override]
        pairs = zip(sentences, self.tags, strict=True)
        return [Prediction(s.words, tuple(tags), to_spans(tags)) for s, tags in pairs]


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    folder = tmp_path_factory.mktemp("scoring")
    return train(tiny.config(folder, "train.max_epochs=1", "data.train_scheme=iob2")).predictor


@given(odd_corpora)
@example([[("B", "B-_")]])
@example([[("B-_", "B-_"), ("B", "B-_")]])
@example([[("B--X", "B-X")]])
def test_dev_scores_reports_and_files_have_the_numbers_of_conlleval(
    predictor: Predictor, tmp_path_factory: pytest.TempPathFactory, pairs: Pairs
) -> None:
    gold, predicted = ([[pair[i] for pair in pairs_] for pairs_ in pairs] for i in (0, 1))
    # As the model's own scheme is the corpus's, its tags are compared as they are.
    sentences = tuple(
        Sentence(tuple("w" for _ in tags), tuple(tags), lines=range(1, len(tags) + 1))
        for tags in gold
    )
    split = Split("gold", sentences, Detection("iob2", 1, 0), ())
    told = Told(predictor, predicted)
    dev = dev_scores(told, split, 4)
    report = evaluate(told, split, batch_size=4)
    assert isinstance(report, TagReport)
    as_iobes = [convert_letters(side) for side in (gold, predicted)]
    counts = conlleval.count(*as_iobes)
    *_, f1 = counts.scores(*(counts.gold | counts.guessed))
    assert dev.headline == pytest.approx(f1, abs=1e-12)
    assert report.headline == pytest.approx(f1, abs=1e-12)
    assert len(report.types) == len(counts.gold | counts.guessed)
    assert report.micro.support == counts.gold.total()
    assert sum(score.support for score in report.types.values()) == counts.gold.total()
    for side in (gold, predicted):
        judged = judge(count_steps(side))
        assume(has_spans(judged.scheme) and not judged.odd)
    folder = tmp_path_factory.mktemp("files")
    lines = "\n".join("".join(f"w {a} {b}\n" for a, b in pairs_) for pairs_ in pairs)
    from_files = compare(write(folder, "both", lines), None)
    assert from_files.types == report.types
    assert from_files.micro == report.micro


def convert_letters(sequences: list[list[str]]) -> list[list[str]]:
    """L, U and M as the E, S and I of conlleval."""
    return [[tag.translate(LETTERS) if len(tag) < 2 else tag[0].translate(LETTERS) + tag[1:]
             for tag in tags] for tags in sequences]  # fmt: skip


LETTERS = str.maketrans("LUM", "ESI")


def test_a_bare_prefix_is_another_type_than_an_underscore() -> None:
    report = make_tag_report([["B", "B-_", "O"]], [["B", "B", "B-_"]], "iob2", known=["", "X"])
    assert report.types == {"_": Score(0.0, 0.0, 0.0, 1), "__": Score(0.5, 1.0, 2 / 3, 1)}
    assert report.unknown == {"_": 1}
    assert list(make_tag_report([["B", "O"]], [["B", "O"]], "iob2").types) == ["_"]


@pytest.mark.parametrize("strict", [True, False])
def test_hyphens_at_a_labels_ends_belong_to_it(strict: bool) -> None:
    report = make_tag_report([["B--X", "O"]], [["B-X", "O"]], "iob2", strict=strict)
    assert report.types == {"-X": Score(0.0, 0.0, 0.0, 1), "X": Score(0.0, 0.0, 0.0, 0)}
