"""Predictions behind the tokens of a column file."""

from column_files import conllu, longer, options
from says import refuses

from tagkit.corpus.formats.columns.writer import write_columns
from tagkit.corpus.source.options import silent
from tagkit.corpus.source.pieces import Writing
from tagkit.errors import FormatError
from tagkit.text.records import Sentence

WRITING = Writing(plain=True, single=True, note=silent)


def test_predictions_go_behind_the_tokens_and_nothing_else_changes() -> None:
    untagged = options(with_tags=False)
    text = "# about it\n\na b\t\nc  d\n\t\n# e\nf g"
    assert longer(text, ["1", "2", "3", "4"], untagged) == (
        "# about it\n\na b 1\nc  d 2\n\t\n# e 3\nf g 4"
    )
    assert longer("a b\r\n\r\nc d\r", ["1", "2"], untagged) == "a b 1\r\n\r\nc d 2\r"
    assert longer("a\nb\n", ["1", "2"], untagged) == "a\t1\nb\t2\n"


def test_lines_that_are_no_tokens_get_a_filler_where_they_have_the_columns() -> None:
    untagged = options(with_tags=False)
    assert longer("-DOCSTART- O\n\na O", ["1"], untagged) == "-DOCSTART- O O\n\na O 1"
    assert longer("-DOCSTART-\n\na O", ["1"], untagged) == "-DOCSTART-\n\na O 1"
    text = conllu("# c", "1-2 ab _", "1 a X", "2 b X")
    lines = text.split("\n")
    in_conllu = options("conllu", with_tags=False)
    assert longer(text, ["P", "Q"], in_conllu).split("\n") == [
        lines[0], f"{lines[1]}\t_", f"{lines[2]}\tP", f"{lines[3]}\tQ", "",
    ]  # fmt: skip


def test_a_first_token_that_would_be_read_as_a_comment_is_refused() -> None:
    first = Sentence(("#", "Oslo"), None, (("# text = a", "Oslo"),))
    with refuses(FormatError, "columns"):
        list(write_columns([first], WRITING))
    plain = Sentence(("Oslo",), None, (("Oslo",),))
    assert len(list(write_columns([plain, first], WRITING))) == 2  # by then there are none
