"""Gold tags and predicted ones in two columns of one file."""

import re
from pathlib import Path

import pytest
from says import Says, refuses
from tag_files import compare, data, write

from tagkit.errors import DataError
from tagkit.evaluation.compare.compare import compare_files
from tagkit.evaluation.reports.tag_report import TagReport

TREEBANK = (
    "1\tTu\ttu\tPRON\tPRON\t_\t2\tnsubj\t_\t_\n"
    "2\tvas\taller\tVERB\tNOUN\t_\t0\troot\t_\tGold=AUX\n\n"
)


def test_the_gold_tags_of_conllu_are_upos_unless_another_column_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, "u.conllu", TREEBANK)
    report = compare(path, None, column="XPOS")
    assert (report.accuracy, sorted(report.types)) == (0.5, ["NOUN", "PRON", "VERB"])
    assert report.types["VERB"].support == 1
    assert compare(path, None, "data.tag_column=XPOS", column="UPOS").types["NOUN"].support == 1
    assert compare(path, None, "data.tag_column=XPOS", column=3).accuracy == 0.5


@pytest.mark.parametrize("gold", [(), ("data.tag_column=XPOS",)])
def test_one_file_of_conllu_needs_the_name_of_the_predicted_column(
    tmp_path: Path, gold: tuple[str, ...]
) -> None:
    path = write(tmp_path, "u.conllu", TREEBANK)
    with pytest.raises(DataError) as caught:
        compare(path, None, *gold)
    assert str(caught.value) == (Says(path, "pred_column"))
    with refuses(DataError, "3", "columns"):
        compare(path, None, column="UPOS")


def test_the_columns_of_several_predictions_have_to_be_named(tmp_path: Path) -> None:
    # A word, two columns of gold tags, and the predictions of both, as in dev.pred of a run.
    text = "Ada PROPN B-PER PROPN B-PER\nleft VERB O NOUN O\nOslo PROPN B-LOC PROPN O\n"
    path = write(tmp_path, "dev.pred", text)
    for options, gold, other in (((), 3, 1), (("data.tag_column=1",), 1, 3)):
        with pytest.raises(DataError) as caught:
            compare(path, None, *options)
        assert str(caught.value) == (
            f"{path}: the tags of column {gold} are like those of column {other}, and those of "
            "column 4 like those of column 2: name the gold and the predicted ones with "
            "data.tag_column and pred_column"
        )
    assert compare(path, None, "data.tag_column=1", column=3).accuracy == pytest.approx(2 / 3)
    assert compare(path, None, "data.tag_column=2").accuracy == pytest.approx(2 / 3)
    # Features are not like tags; a single column that is does not say which belong together.
    for row in ("{0} {1} x {2} {4}", "{0} {2} x {2} {4}"):
        rows = (row.format(*line.split()) for line in text.splitlines())
        one = write(tmp_path, "one", "".join(f"{each}\n" for each in rows))
        assert compare(one, None).accuracy == pytest.approx(2 / 3)


CLASSES = (
    "Ada\tgreet\tleave\tB-PER\tB-PER\nleft\tgreet\tleave\tO\tO\n\nOslo\task\task\tB-LOC\tO\n\n"
)
NOTE = (
    ": the two columns before its tags have one value in each sentence, as classes do; they are "
    "not scored, as a column file is compared by its tags alone"
)


@pytest.mark.parametrize(
    ("text", "options", "is_noted"),
    [
        (CLASSES, {}, True),
        (re.sub("\tO\n", "\tO\t0.5000\n", re.sub("PER\n", "PER\t0.9000\n", CLASSES)), {}, True),
        # Feature columns are other values within a sentence; one of a token shows nothing.
        (CLASSES.replace("leave\tO", "ask\tO"), {}, False),
        # A single value in the whole file fills its column.
        (re.sub("\t(greet|leave|ask)", "\t_", CLASSES), {}, False),
        (CLASSES.split("\n\n")[1] + "\n", {}, False),
        (CLASSES.replace("\tgreet\t", "\t").replace("\task\t", "\t", 1), {}, False),
        # Where the tags are named, nothing says what the other columns are.
        (CLASSES, {"tag_column": 3}, False),
    ],
    ids=["classes", "probabilities", "features", "filled", "one word", "one column", "named"],
)
@pytest.mark.parametrize("keep_labels", [False, True])
def test_columns_that_look_like_classes_are_said_not_to_be_scored(
    text: str, options: dict[str, int], is_noted: bool, keep_labels: bool, tmp_path: Path
) -> None:
    path = write(tmp_path, "dev.pred", text)
    notes: list[str] = []
    settings = data("data.format=columns", *(f"data.{name}={at}" for name, at in options.items()))
    report = compare_files(path, None, settings, None, False, notes.append, keep_labels=keep_labels)
    assert isinstance(report, TagReport)
    assert notes == ([path + NOTE] if is_noted else [])
