"""Gold tags and predicted ones in two columns of one file."""

from pathlib import Path

import pytest
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
    with pytest.raises(DataError) as caught:
        compare(path, None, *gold)
    assert str(caught.value) == (
        f"{path}: expected predicted tags, and no column of CoNLL-U is for them; name their column "
        "with pred_column, or a file with them with pred"
    )
    with pytest.raises(DataError, match=r"in two columns, found both in column 3"):
        compare(path, None, column="UPOS")
