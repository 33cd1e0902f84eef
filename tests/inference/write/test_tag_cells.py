"""Cells of one tag, and of several columns."""

from tagkit.inference.write.tag_cells import rows_of, tag_cells
from tagkit.text.records import TagColumn, TaggedToken


def test_one_tag_is_one_cell_and_its_probability_another() -> None:
    token = TaggedToken("a", 0, 1, "X", 0.25)
    assert [*tag_cells(token, confidence=False)] == ["X"]
    assert [*tag_cells(token, confidence=True)] == ["X", "0.2500"]


def test_each_column_has_its_cell_and_its_probability() -> None:
    token = TaggedToken(
        "a", 0, 1, "X", 0.25, tags={"UPOS": "X", "LEMMA": "b"},
        probabilities={"UPOS": 0.25, "LEMMA": 0.5},
    )  # fmt: skip
    assert [*tag_cells(token, confidence=False)] == ["X", "b"]
    assert [*tag_cells(token, confidence=True)] == ["X", "0.2500", "b", "0.5000"]


def test_the_rows_of_a_sentence_are_its_columns_side_by_side() -> None:
    columns = (TagColumn("UPOS", ("X", "Y"), (0.25, 1.0)), TagColumn("LEMMA", ("b", "c")))
    assert [*rows_of(columns)] == [("X", "0.2500", "b"), ("Y", "1.0000", "c")]
