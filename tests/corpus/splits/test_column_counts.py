"""The labels of several tag columns, counted."""

from pathlib import Path

import tiny
from kinds import TAGS

from tagkit.config import load_config
from tagkit.corpus.splits.column_counts import column_counts
from tagkit.corpus.splits.splits import read_split

COLUMNS = 'data.tag_column=["UPOS", "LEMMA", "FEATS.Number", "MISC.NER"]'


def test_each_column_is_counted_as_what_it_holds(tmp_path: Path) -> None:
    train = tiny.treebank(tmp_path)["data.train_file"]
    several, one = (
        read_split(train, load_config(None, given).data, TAGS, None)
        for given in ([COLUMNS], ["data.tag_column=UPOS"])
    )
    lemmas = {value for sentence in several.sentences for value in sentence.columns[1].values}
    assert column_counts(several) == (
        f"UPOS 3 labels, LEMMA {len(lemmas)} values, FEATS.Number 2 labels, MISC.NER 2 types (IOB2)"
    )
    assert column_counts(one) == ""
