"""Gold tags and predicted ones in two columns of one file."""

from pathlib import Path

import pytest
from says import refuses
from tag_files import compare, write

from tagkit.errors import DataError

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
    with refuses(DataError, "pred_column"):
        compare(path, None, *gold)
    with refuses(DataError, "1", "UPOS", "columns"):
        compare(path, None, column="UPOS")


def test_the_columns_of_several_predictions_have_to_be_named(tmp_path: Path) -> None:
    # A word, two columns of gold tags, and the predictions of both, as in dev.pred of a run.
    text = "Ada PROPN B-PER PROPN B-PER\nleft VERB O NOUN O\nOslo PROPN B-LOC PROPN O\n"
    path = write(tmp_path, "dev.pred", text)
    for options, gold, other in (((), 3, 1), (("data.tag_column=1",), 1, 3)):
        like = f"the tags of column {gold} are like those of column {other}, and those of column 4 "
        with refuses(DataError, path, like, "2"):
            compare(path, None, *options)
    assert compare(path, None, "data.tag_column=1", column=3).accuracy == pytest.approx(2 / 3)
    assert compare(path, None, "data.tag_column=2").accuracy == pytest.approx(2 / 3)
    # Features are not like tags; a single column that is does not say which belong together.
    for row in ("{0} {1} x {2} {4}", "{0} {2} x {2} {4}"):
        rows = (row.format(*line.split()) for line in text.splitlines())
        one = write(tmp_path, "one", "".join(f"{each}\n" for each in rows))
        assert compare(one, None).accuracy == pytest.approx(2 / 3)


def test_a_numbered_column_beside_spans_of_characters_is_that_of_the_predictions(
    tmp_path: Path,
) -> None:
    gold = write(tmp_path, "gold.jsonl", '{"text": "Ada left", "spans": [[0, 3, "PER"]]}\n')
    predicted = write(tmp_path, "pred.conll", "Ada B-PER NNP\nleft O VBD\n")
    assert compare(gold, predicted, "data.tag_column=1").micro.f1 == 1
