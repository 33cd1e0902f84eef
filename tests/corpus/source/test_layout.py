"""Which columns a file has, and which of its lines are comments."""

from pathlib import Path

import pytest
from column_files import conllu, options, pairs, read, refusal
from formats_help import write
from says import Says

from tagkit.config import DataConfig
from tagkit.corpus.formats.columns.reader import ColumnReader
from tagkit.corpus.formats.columns.writer import write_columns
from tagkit.corpus.formats.recognition import recognise_lines
from tagkit.corpus.records.dataset import LabelKinds
from tagkit.corpus.source.layout import ColumnOptions, Layout, find_layout
from tagkit.corpus.source.source import Source
from tagkit.corpus.splits.splits import read_split
from tagkit.errors import FormatError
from tagkit.text.records import Sentence


def test_ten_columns_with_tabs_are_no_conllu_where_the_user_says_so() -> None:
    text = conllu("1 Dogs NOUN")
    assert pairs(text, options("columns")) == ["1/_"]


def test_a_line_with_a_hash_is_a_token_when_it_has_the_files_columns() -> None:
    tweets = "RT O\n#oslo B-LOC\n# O\n\n#first O\nis O\n"
    assert pairs(tweets) == ["RT/O #oslo/B-LOC #/O", "#first/O is/O"]


def test_a_line_with_a_hash_is_a_token_before_the_files_columns_are_known() -> None:
    assert pairs("#a O\n#b B-X\nc O\n") == ["#a/O #b/B-X c/O"]
    # A whole sentence of them opens the file.
    assert pairs("#a O\n#b B-X\n\n\n-DOCSTART-\n\n#c O\n\nd O\n") == ["#a/O #b/B-X", "#c/O", "d/O"]


def test_a_line_with_a_hash_and_other_columns_is_a_comment_between_sentences() -> None:
    text = "# made by hand, 2 columns\n\n# id 1\na O\nb O\n\n#alone\nc O\n"
    assert pairs(text) == ["a/O b/O", "c/O"]
    assert refusal("a O\n# no comment here\nb O\n") == (
        Says("file:2", "2", "1", "4", "'# no comment here'")
    )


def test_a_file_of_hashes_alone_is_one_of_tokens_or_of_comments() -> None:
    assert read("#a\n#b\n\n#c\n", options(with_tags=False)) == [
        Sentence(("#a", "#b")), Sentence(("#c",)),
    ]  # fmt: skip
    assert read("# a comment\n#b\n", options(with_tags=False)) == []
    assert refusal("\n#a\n#b\n") == (Says("file:2", "column"))


@pytest.mark.parametrize(
    ("line", "tag"),
    [("Oslo B-LOC 0.9876", 1), ("Oslo N B-LOC B-LOC 1.0000", 3), ("Oslo B-LOC 0.98765", 2),
     ("Oslo B-LOC 2.0000", 2), ("Oslo 0.9876", 1), ("Oslo B-LOC x0.9876", 2)],
)  # fmt: skip
def test_the_tag_stands_before_a_probability(line: str, tag: int) -> None:
    assert find_layout(line, "file", 1, options()).tag == tag
    assert find_layout(line, "file", 1, options(tag=-1)).tag == len(line.split()) - 1


def test_where_the_last_column_holds_probabilities_a_note_says_so(tmp_path: Path) -> None:
    path = tmp_path / "tagged.conll"
    path.write_text("Oslo B-LOC 0.9876\nis O 1.0000\n\n" * 9, encoding="utf-8")
    kinds = LabelKinds(tags=True, classes=False)
    split = read_split(str(path), DataConfig(), kinds, None)
    assert split.sentences[0].tags == ("B-LOC", "O")
    assert split.notes == (
        Says(path, "3", "IOB2", "1", "data.format"),
        Says(path, "2", "1", "probabilities"),
    )
    named = read_split(str(path), DataConfig(tag_column=-1), kinds, None)
    assert named.sentences[0].tags == ("0.9876", "1.0000")
    assert len(named.notes) == 1


def test_the_layout_of_a_file_is_that_of_its_first_token(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("# note\n\na\tX\tO\n", encoding="utf-8")
    assert layout_of(path, options(features=(1,))) == Layout(
        width=3, conllu=False, token=0, tag=2, features=(1,), tabs=True, feature_keys=("",)
    )
    path.write_text(conllu("1 a X"), encoding="utf-8")
    assert layout_of(path, options("conllu", with_tags=False)) == Layout(
        width=10, conllu=True, token=1, tag=None, features=(), tabs=True
    )
    path.write_text("\n", encoding="utf-8")
    assert layout_of(path, options()) is None


def layout_of(path: Path, given: ColumnOptions) -> Layout | None:
    """What a reader knows of the lines once it has read them."""
    reader = ColumnReader("file", given)
    list(reader.blocks(Source(str(path), "utf-8").pieces()))
    return reader.layout


@pytest.mark.parametrize(
    ("name", "text", "columns"),
    [
        ("a.conll", "Any old text", True),
        ("a.CoNLLU", "", True),
        ("-", "EU\tO\nrejects\tO", True),
        ("-", "EU NNP O\nrejects VBZ O\n", True),
        ("-", "a O\nb O\n\nc O\nd O\n", True),
        ("-", "Any flight from Oslo?", False),
        ("-", "Any flight from Oslo?\nNo, none.\n", False),
        ("-", "one word\ntwo words\nsix words", False),  # lines of as many words, no blank line
        ("-", "", False),
        ("-", "# only\n# comments\n", False),
    ],
)
def test_columns_are_told_from_text(name: str, text: str, columns: bool) -> None:
    found = recognise_lines(name.lower(), text.split("\n"), name, raw=True).name
    assert (found in ("columns", "conllu")) is columns


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        (Sentence(("b",), ("O",), (("NN",),)), "1 feature column after sentences that have 0"),
        (Sentence(("b",)), "tags in some sentences alone"),
        # As many columns, which hold something else.
        (Sentence(("b",), None, (("NN",),)), "tags in some sentences alone"),
    ],
)
def test_columns_that_some_sentences_alone_have_are_refused(
    tmp_path: Path, second: Sentence, problem: str
) -> None:
    with pytest.raises(FormatError) as caught:
        write(tmp_path, "a", write_columns, [Sentence(("a",), ("O",)), second])
    assert caught.value.problem == Says(problem, "'b'")


def test_several_tag_columns_have_their_places_and_keys() -> None:
    line = "1\tDogs\tdog\tNOUN\tNNS\tNumber=Plur\t0\troot\t_\tNER=B-X"
    wanted = ("UPOS", "FEATS.Number", "FEATS.Case", "MISC.NER")
    found = find_layout(
        line, "in", 1, ColumnOptions(True, None, "UPOS", (), with_tags=True, tags=wanted)
    )
    assert [(each.name, each.index, each.key) for each in found.columns] == [
        ("UPOS", 3, ""), ("FEATS.Number", 5, "Number"), ("FEATS.Case", 5, "Case"),
        ("MISC.NER", 9, "NER"),
    ]  # fmt: skip
    assert found.tag == 3
    cells = {3: ["NOUN"], 5: ["Case=Nom|Number=Plur"], 9: ["NER=B-X"]}
    assert [each.values(cells[each.index]) for each in found.columns] == [
        ("NOUN",), ("Plur",), ("Nom",), ("B-X",),
    ]  # fmt: skip
    bare = ColumnOptions(True, None, "UPOS", (), with_tags=False, tags=wanted)
    assert find_layout(line, "in", 1, bare).columns == ()


def test_further_tag_columns_are_no_features() -> None:
    options_ = ColumnOptions(False, None, 1, None, with_tags=True, tags=(1, -1))
    assert find_layout("a b c d", "in", 1, options_).features == (2,)


@pytest.mark.parametrize("tags", [("FEATS", "FEATS.Number"), ("UPOS", "MISC.NER", "MISC")])
def test_a_cell_and_a_key_in_it_are_not_two_tag_columns(tags: tuple[str, ...]) -> None:
    options_ = ColumnOptions(True, None, tags[0], (), with_tags=True, tags=tags)
    line = "1\tDogs\tdog\tNOUN\tNNS\tNumber=Plur\t0\troot\t_\tNER=B-X"
    with pytest.raises(FormatError) as caught:
        find_layout(line, "in", 1, options_)
    assert str(caught.value) == (Says("in:1", tags[-2], tags[-1]))


def test_a_token_column_has_no_key() -> None:
    line = "1\tDogs\tdog\tNOUN\tNNS\tNumber=Plur\t0\troot\t_\tNorm=dogs"
    with pytest.raises(FormatError) as caught:
        find_layout(line, "in", 1, ColumnOptions(True, "MISC.Norm", None, (), with_tags=False))
    assert str(caught.value) == (Says("in:1", "'MISC.Norm'", "FORM"))
