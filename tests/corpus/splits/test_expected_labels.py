"""Labels that a corpus lacks, and what the messages advise."""

from pathlib import Path

import pytest
from kinds import TAGS
from says import Says

from tagkit.config import load_config
from tagkit.corpus.records.dataset import LabelKinds
from tagkit.corpus.splits.splits import read_split
from tagkit.errors import DataError

CLASSES = LabelKinds(tags=False, classes=True)
TREEBANK = (
    "1\tAda\t_\tPROPN\t_\t_\t0\t_\t_\tNER=B-PER|Gap=No\n2\tleft\t_\tVERB\t_\t_\t1\t_\t_\t_\n\n"
)
TABLE = "greet\thello there you\nleave\tso long now\n"


def refusal(path: Path, kinds: LabelKinds, *options: str, of_model: bool = False) -> str:
    data = load_config(None, options).data
    with pytest.raises(DataError) as caught:
        read_split(str(path), data, kinds, None, of_model=of_model)
    return str(caught.value).removeprefix(f"{path}: ")


def test_what_a_model_is_not_for_is_refused_with_a_model_that_is(tmp_path: Path) -> None:
    table, treebank, raw = (tmp_path / name for name in ("a.tsv", "a.conllu", "a.txt"))
    table.write_text(TABLE, "utf-8")
    treebank.write_text(TREEBANK, "utf-8")
    raw.write_text("Nothing but a line of text.\n", "utf-8")
    assert refusal(table, TAGS, of_model=True) == (Says("task=classify", "data.format"))
    assert refusal(treebank, CLASSES, of_model=True) == (Says("task=tag", "data.format"))
    assert Says("data.format", "chooses") == refusal(raw, TAGS, of_model=True)
    # A run may have another task.
    assert Says("task=language", "data.format=columns", "data.format") == refusal(raw, TAGS)
    assert Says("task=language", "data.format") == refusal(raw, CLASSES)
    assert "task=classify trains on classes" in refusal(table, TAGS)


def test_labels_in_place_of_spans_are_refused_with_the_option_of_the_column(
    tmp_path: Path,
) -> None:
    treebank, columns, records = (tmp_path / name for name in ("a.conllu", "a.conll", "a.jsonl"))
    treebank.write_text(TREEBANK, "utf-8")
    columns.write_text("Ada\tPROPN\nleft\tVERB\n\nBen\tPROPN\nleft\tVERB\n", "utf-8")
    records.write_text('{"tokens": ["Ada"], "tags": ["PROPN"]}\n' * 2, "utf-8")
    named = "data.scheme=iob2"
    assert refusal(treebank, TAGS, named) == Says("iob2", "UPOS", "data.tag_column=MISC.NER")
    for told in (
        refusal(treebank, TAGS, named, "data.tag_column=UPOS"), refusal(columns, TAGS, named),
    ):  # fmt: skip
        assert told == Says("iob2", "data.tag_column names another")
    assert "column" not in refusal(records, TAGS, named)  # it has none


@pytest.mark.parametrize("column", ["MISC.NRE", '["UPOS", "MISC.NRE"]'])
def test_a_key_that_no_token_has_is_refused_with_those_that_are_there(
    tmp_path: Path, column: str
) -> None:
    treebank = tmp_path / "a.conllu"
    treebank.write_text(TREEBANK * 3, "utf-8")
    assert refusal(treebank, TAGS, f"data.tag_column={column}") == (
        Says("NRE", "MISC", "data.tag_column=MISC.NRE", "NER")
    )
    without = tmp_path / "b.conllu"
    without.write_text(TREEBANK.replace("NER=B-PER|Gap=No", "_"), "utf-8")
    assert refusal(without, TAGS, "data.tag_column=MISC.NER").endswith("names; found no key")
