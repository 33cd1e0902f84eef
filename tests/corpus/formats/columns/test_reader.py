"""Column files -> sentences: every reading rule, every refusal."""

import json
from pathlib import Path

import pytest
from column_files import blocks_of, conllu, options, pairs, read, refusal
from hypothesis import assume, given
from hypothesis import strategies as st
from kinds import TAGS
from says import Says

from tagkit.config import DataConfig
from tagkit.corpus.convert.convert import convert_corpus
from tagkit.corpus.formats.columns.reader import ColumnReader, LineBlock
from tagkit.corpus.formats.columns.writer import append_column
from tagkit.corpus.formats.table import target_format
from tagkit.corpus.source.layout import CONLLU_COLUMNS, ColumnOptions
from tagkit.corpus.source.source import Source
from tagkit.corpus.splits.splits import read_split
from tagkit.errors import DataError, FormatError
from tagkit.text.records import Sentence


def read_sentences(path: str, given: ColumnOptions, encoding: str) -> list[Sentence]:
    blocks = ColumnReader(path, given).blocks(Source(path, encoding).pieces())
    return [block.sentence for block in blocks if block.sentence]


# Any strings that a column can hold: ASCII blanks and tabs part columns, \n lines; \r ends lines.
cells = st.text(
    alphabet=st.sampled_from("ab#-\x85\xa0\u2028\u3000\x0bé日")
    | st.characters(codec="utf-8", exclude_characters=" \t\n\r"),
    min_size=1,
    max_size=4,
)


@st.composite
def corpora_of_cells(draw: st.DrawFn) -> list[list[list[str]]]:
    """Sentences of rows of as many cells."""
    width = draw(st.integers(2, 11))
    row = st.lists(cells, min_size=width, max_size=width)
    corpus = draw(st.lists(st.lists(row, min_size=1, max_size=4), min_size=1, max_size=4))
    # A file of nothing but lines with # would be one of comments.
    assume(any(not row[0].startswith("#") for rows in corpus for row in rows))
    return corpus


@given(
    corpus=corpora_of_cells(),
    separator=st.sampled_from([" ", "\t", "   ", " \t "]),
    end=st.sampled_from(["", "\r", " ", "\t", " \r"]),
    blank=st.sampled_from([[""], ["\t"], [" \t "], ["\r"], ["", "\t", ""]]),
    unfinished=st.booleans(),
    column=st.tuples(st.integers(-11, 10), st.integers(-11, 10), st.integers(-11, 10)),
)
def test_what_was_written_is_read(
    corpus: list[list[list[str]]],
    separator: str,
    end: str,
    blank: list[str],
    unfinished: bool,
    column: tuple[int, int, int],
) -> None:
    width = len(corpus[0][0])
    token, tag, feature = (max(-width, min(place, width - 1)) for place in column)
    lines: list[str] = []
    for rows in corpus:
        lines += [separator.join(row) + end for row in rows]
        lines += blank
    if unfinished:
        del lines[-len(blank) :]
    blocks = blocks_of(lines, options("columns", token, tag, (feature,)))
    assert [block.sentence for block in blocks if block.sentence] == [
        Sentence(
            words=tuple(row[token] for row in rows),
            tags=tuple(row[tag] for row in rows),
            features=(tuple(row[feature] for row in rows),),
        )
        for rows in corpus
    ]
    # No line is lost, and every block and row knows where it stands.
    assert [line for block in blocks for line in block.lines] == lines
    assert [block.first_line for block in blocks] == [
        1 + sum(len(block.lines) for block in blocks[:index]) for index in range(len(blocks))
    ]
    for block in blocks:
        for place, word in zip(block.rows, block.sentence.words if block.sentence else ()):  # noqa: B905
            assert word in block.lines[place]


@given(corpora_of_cells(), st.lists(st.integers(0, 30), max_size=5))
def test_lines_may_come_in_any_portions(corpus: list[list[list[str]]], cuts: list[int]) -> None:
    lines = [line for rows in corpus for line in ["# a comment " * 9, *map("\t".join, rows), ""]]
    whole = blocks_of(lines)
    reader = ColumnReader("file", options())
    edges = [0, *sorted(cuts), len(lines)]
    parts = [
        block
        for start, end in zip(edges, edges[1:], strict=False)  # noqa: RUF007
        for block in reader.feed(lines[start:end])
    ]
    assert [*parts, *reader.close()] == whole


@given(corpora_of_cells(), st.sampled_from([" ", "\t"]), st.sampled_from(["", "\r"]))
def test_a_column_more_is_read_as_the_last_one(
    corpus: list[list[list[str]]], separator: str, end: str
) -> None:
    lines = [
        line for rows in corpus for line in [*(separator.join(row) + end for row in rows), end]
    ]
    reader = ColumnReader("file", options("columns", 0, with_tags=False))
    blocks = [*reader.feed(lines), *reader.close()]
    longer: list[str] = []
    for number, block in enumerate(blocks):
        values = [f"{number}-{place}" for place in range(len(block.rows))]
        longer += append_column(block, reader.layout, values)
    found = [block.sentence for block in blocks_of(longer, options("columns", 0, -1))]
    assert [s and s.tags for s in found] == [
        tuple(f"{number}-{place}" for place in range(len(rows)))
        for number, rows in enumerate(corpus)
    ]
    assert [line.endswith("\r") for line in longer] == [line.endswith("\r") for line in lines]


def test_blocks_come_as_soon_as_their_blank_line() -> None:
    reader = ColumnReader("file", options())
    assert list(reader.feed(["EU\tB-ORG", "rejects\tO"])) == []
    [block] = reader.feed([""])
    assert block.sentence == Sentence(("EU", "rejects"), ("B-ORG", "O"))
    assert block == LineBlock(("EU\tB-ORG", "rejects\tO", ""), range(2), block.sentence, 1)


@pytest.mark.parametrize("separator", [" ", "\t", "  ", " \t"])
def test_columns_are_parted_by_blanks_or_tabs(separator: str) -> None:
    text = f"EU{separator}NNP{separator}B-ORG\nrejects{separator}VBZ{separator}O\n"
    assert pairs(text) == ["EU/B-ORG rejects/O"]


def test_in_a_file_with_tabs_blanks_belong_to_their_column() -> None:
    assert pairs("New York\tB-LOC\nis\tO\n") == ["New York/B-LOC is/O"]


def test_unicode_spaces_and_controls_stay_in_their_token() -> None:
    odd = "a\x85b\xa0c\u2009d\u2028e\u3000f\x0bg\x0ch\x1ci"
    assert read(f"{odd} O\n\x85 O\n\xa0\tO\n")[0].words == (odd, "\x85", "\xa0")


def test_token_tag_and_features_are_chosen_by_index_from_either_end() -> None:
    text = "a b c d\ne f g h\n"
    assert read(text) == [Sentence(("a", "e"), ("d", "h"))]
    assert read(text, options(token=1, tag=-2)) == [Sentence(("b", "f"), ("c", "g"))]
    assert read(text, options(token=-1, tag=0, features=(1, -2))) == [
        Sentence(("d", "h"), ("a", "e"), (("b", "f"), ("c", "g")))
    ]
    assert read(text, options(with_tags=False)) == [Sentence(("a", "e"))]


def test_the_columns_of_conllu_are_read_by_name() -> None:
    text = conllu("# sent_id = 1", "# text = Dogs bark", "1 Dogs NOUN", "2 bark VERB", "")
    assert pairs(text, options("conllu")) == ["Dogs/NOUN bark/VERB"]
    assert pairs(text, options("conllu", tag="lemma")) == ["Dogs/dogs bark/bark"]
    assert read(text, options("conllu", token="LEMMA", tag="Upos", features=("FORM", 0))) == [
        Sentence(("dogs", "bark"), ("NOUN", "VERB"), (("Dogs", "bark"), ("1", "2")))
    ]
    for index, name in enumerate(CONLLU_COLUMNS):
        by_name, by_index = (read(text, options("conllu", tag=column)) for column in (name, index))
        assert by_name == by_index


def test_each_key_of_a_column_of_conllu_is_a_feature_or_a_tag_of_its_own() -> None:
    text = "1\tDogs\t_\tNOUN\t_\tCase=Nom|Number=Plur\t_\t_\t_\t_\n"
    features = ("FEATS.Number", "FEATS", "FEATS.Case", "FEATS.Tense")
    (found,) = read(text, options("conllu", tag="FEATS.Case", features=features))
    assert found.tags == ("Nom",)
    assert found.features == (("Plur",), ("Case=Nom|Number=Plur",), ("Nom",), ("_",))
    (whole,) = read(text, options("conllu", tag="FEATS", features=("FEATS.Case",)))
    assert (whole.tags, whole.features) == (("Case=Nom|Number=Plur",), (("Nom",),))
    (without,) = read(text, options("conllu", features=features, with_tags=False))
    assert without.features == found.features


def test_multiword_ranges_and_empty_nodes_are_no_tokens() -> None:
    text = conllu("1-2 dont _", "1 do AUX", "2 nt PART", "2.1 it PRON", "3 go VERB", "")
    assert pairs(text, options("conllu")) == ["do/AUX nt/PART go/VERB"]
    [block, *_] = blocks_of(text.split("\n"), options("conllu"))
    assert block.rows == (1, 2, 4)


def test_in_conllu_a_line_with_a_hash_is_a_comment_wherever_it_stands() -> None:
    text = conllu("# one", "1 a X", "# two", "2 b X", "", "# three")
    assert pairs(text, options("conllu")) == ["a/X b/X"]


def test_a_conllu_token_may_be_a_hash_or_hold_blanks() -> None:
    assert pairs(conllu("1 # SYM", "2 # SYM"), options("conllu")) == ["#/SYM #/SYM"]
    line = "\t".join(["1", "New York", "New York", "PROPN", *["_"] * 6])
    assert pairs(line, options("conllu")) == ["New York/PROPN"]


@pytest.mark.parametrize(
    "text",
    [
        "-DOCSTART-\n\na O\nb X\n",
        "-DOCSTART- O\n\na O\nb X\n",
        "-DOCSTART- O\na O\nb X\n",  # the first token of a sentence: CoNLL-2002
        "-DOCSTART-\na O\nb X\n",
        "a O\nb X\n\n-DOCSTART- -X- O O\n",  # as wide as another file's
        "-DOCSTART-\r\n\r\na O\r\nb X\r\n",
        "-DOCSTART-\tO\n\na\tO\nb\tX\n\n-DOCSTART-\tO\n",
    ],
)
def test_docstart_is_no_token_on_a_line_of_its_own_or_in_a_sentence(text: str) -> None:
    assert pairs(text) == ["a/O b/X"]


def test_docstart_parts_no_sentence_and_is_kept_among_the_lines() -> None:
    [block] = blocks_of(["-DOCSTART- O", "a O"])
    assert block == LineBlock(("-DOCSTART- O", "a O"), (1,), Sentence(("a",), ("O",)), 1)


@pytest.mark.parametrize("separator", ["", "\t", " ", "\r", " \t \r", "\n\n\t"])
def test_sentences_are_parted_by_lines_of_nothing_but_blanks_and_tabs(separator: str) -> None:
    assert pairs(f"a O\n{separator}\nb O\n{separator}") == ["a/O", "b/O"]
    assert pairs(f"{separator}\na\tO\n{separator}\nb\tO") == ["a/O", "b/O"]


def test_a_line_with_a_unicode_space_parts_nothing() -> None:
    assert refusal("a O\n\x85\nb O\n") == (Says("file:2", "2", "1", "'\\x85'"))


def test_bom_crlf_and_a_missing_last_line_feed_change_nothing(tmp_path: Path) -> None:
    plain, odd = tmp_path / "plain", tmp_path / "odd"
    plain.write_bytes(b"EU NNP B-ORG\nrejects VBZ O\n\nPeter NNP B-PER\n")
    odd.write_bytes(b"\xef\xbb\xbfEU NNP B-ORG\r\nrejects VBZ O\r\n\r\nPeter NNP B-PER")
    expected = [
        Sentence(("EU", "rejects"), ("B-ORG", "O"), (("NNP", "VBZ"),)),
        Sentence(("Peter",), ("B-PER",), (("NNP",),)),
    ]
    for path in (plain, odd):
        assert read_sentences(str(path), options(features=(1,)), "utf-8") == expected


def test_other_encodings_are_read(tmp_path: Path) -> None:
    for encoding in ("latin-1", "utf-16"):
        path = tmp_path / encoding
        path.write_bytes("Åse B-PER\nler O\n".encode(encoding))
        assert read_sentences(str(path), options(), encoding)[0].words == ("Åse", "ler")


@pytest.mark.parametrize(
    ("text", "given", "message"),
    [
        (
            "EU NNP O\n\nrejects\tO\n",
            options(),
            Says("3", "1", "2", "'rejects\\tO'", "columns"),
        ),
        (
            "# x\n\nword\n",
            options(),
            Says("3", "column"),
        ),
        ("a\nb c\n", options(with_tags=False), Says("2", "1", "'b c'", "column")),
        ("a O\n", options(tag=2), Says("1", "2", "-2", "columns")),
        (
            "a b O\n",
            options(token=-4),
            Says("1", "-4", "-3", "2", "3", "columns"),
        ),
        (
            "a O\n",
            options(features=(5,)),
            Says("1", "5", "-2", "2", "feature"),
        ),
        (
            "a O\n",
            options(tag="UPOS"),
            Says("1", "'UPOS'", "column"),
        ),
        (
            conllu("# x", "1 a X"),
            options("conllu", tag="POS"),
            Says(
                "2",
                "'POS'",
                "ID",
                "FORM",
                "LEMMA",
                "UPOS",
                "XPOS",
                "FEATS",
                "HEAD",
                "DEPREL",
                "DEPS",
                "MISC",
            ),
        ),
        (
            conllu("1 a X"),
            options("conllu", tag="FEATS."),
            Says(
                "1",
                "'FEATS.'",
                "ID",
                "FORM",
                "LEMMA",
                "UPOS",
                "XPOS",
                "FEATS",
                "HEAD",
                "DEPREL",
                "DEPS",
                "MISC",
            ),
        ),
        ("a\tO\n", options("conllu"), Says("1", "10", "2", "columns")),
        (
            conllu("1 a X", "x b X"),
            options("conllu"),
            Says("2", "ID", "1", "1.1", "'x'"),
        ),
        (
            conllu("1 a X", "- b X"),
            options("conllu"),
            Says("2", "ID", "1", "1.1", "'-'"),
        ),
        ("a\tb\tO\nc\t\tO\n", options(), Says("2", "1", "'c\\t\\tO'", "column")),
        ("a\tO\n\tO\n", options(), Says("2", "0", "'\\tO'", "column")),
        ("a\tO\nb\t\n", options(), Says("2", "1", "'b\\t'", "columns")),
        (
            "a\tO\nb O\n",
            options(),
            Says("2", "1", "'b O'", "columns"),
        ),
        (
            "a O\n" + "x" * 100 + "\n",
            options(),
            Says("2", "1", "x" * 40, "x" * 20),
        ),
    ],
)
def test_a_line_that_cannot_be_read_is_named_with_what_was_found_and_expected(
    text: str, given: ColumnOptions, message: str
) -> None:
    assert refusal(text, given) == message


def test_the_line_number_counts_all_lines_in_all_portions() -> None:
    reader = ColumnReader("file", options())
    list(reader.feed(["# c", "", "a O"]))
    list(reader.feed(["", "b O", ""]))
    with pytest.raises(FormatError) as caught:
        list(reader.feed(["c O", "d", ""]))
    assert caught.value.line == 8
    assert str(caught.value) == Says("file:8", "2", "3", "1", "'d'")


@pytest.mark.parametrize("text", ["", "\n\n", "# comment only\n", "-DOCSTART- O\n\n", "-DOCSTART-"])
def test_a_file_without_a_sentence_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "empty.conll"
    path.write_text(text, encoding="utf-8")
    assert read_sentences(str(path), options(), "utf-8") == []
    with pytest.raises(DataError) as caught:
        read_split(str(path), DataConfig(format="columns"), TAGS, None)
    assert str(caught.value) == f"{path}: holds no sentence"


@pytest.mark.parametrize(
    ("file", "encoding", "sentences", "tokens"),
    [
        ("conll2000/train.txt", "utf-8", 8_936, 211_727),
        ("conll2000/dev.txt", "utf-8", 1_844, 44_352),
        ("conll2000/test.txt", "utf-8", 2_012, 47_377),
        ("conll2002/ned.train", "latin-1", 15_806, 202_644),
        ("conll2002/ned.testa", "latin-1", 2_895, 37_687),
        ("conll2002/ned.testb", "latin-1", 5_195, 68_875),
        ("conll2003/eng.train", "utf-8", 14_041, 203_621),
        ("conll2003/eng.testa", "utf-8", 3_250, 51_362),
        ("conll2003/eng.testb", "utf-8", 3_453, 46_435),
        ("wnut17/train.conll", "utf-8", 3_394, 62_730),
        ("wnut17/dev.conll", "utf-8", 1_009, 15_733),
        ("ud-english-ewt/train.conllu", "utf-8", 12_544, 204_577),
        ("ud-english-ewt/dev.conllu", "utf-8", 2_001, 25_147),
        ("ud-greek-gdt/train.conllu", "utf-8", 1_662, 42_326),
        ("ud-greek-gdt/dev.conllu", "utf-8", 403, 10_443),
    ],
)
def test_real_corpora_have_the_counts_of_their_owners(
    corpora: Path, file: str, encoding: str, sentences: int, tokens: int
) -> None:
    given = options("conllu" if file.endswith(".conllu") else "columns")
    found = read_sentences(str(corpora / file), given, encoding)
    assert len(found) == sentences
    assert sum(len(sentence) for sentence in found) == tokens


def test_no_line_of_a_real_corpus_is_lost(corpora: Path) -> None:
    path = corpora / "conll2000" / "dev.txt"
    lines = [
        line
        for block in ColumnReader("file", options()).blocks(Source(str(path), "utf-8").pieces())
        for line in block.lines
    ]
    assert "\n".join(lines) + "\n" == path.read_bytes().decode()


NINE_AND_A_TAB = "1\tHi\ta\tb\tc\td\te\tf\tB-X\t\n\n"


def test_nine_columns_and_a_tab_are_nine_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(NINE_AND_A_TAB, encoding="utf-8")
    for form in ("auto", "columns"):
        assert json.loads(converted(path, "jsonl", format=form))["tokens"] == ["1"]


def converted(path: Path, to: str, **options: object) -> str:
    conversion = convert_corpus(
        str(path), DataConfig(**options), lambda read: target_format("-", to, read), None,
        single=True, note=lambda _: None,
    )  # fmt: skip
    return "".join(piece.text for piece in conversion.pieces)


def test_equal_tags_of_a_file_are_one_string(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [line for tag in ("B-LOC", "I-LOC", "B-LOC") for line in (f"w {tag}", f"v {tag}", "")]

    def tags() -> list[str]:
        blocks = [*ColumnReader("f", options()).blocks([lines])]
        return [tag for block in blocks if block.sentence for tag in block.sentence.tags or ()]

    found = tags()
    assert found == ["B-LOC"] * 2 + ["I-LOC"] * 2 + ["B-LOC"] * 2
    assert len({*map(id, found)}) == 2
    # A column of lemmas has no end of them: few are kept, and none is lost.
    monkeypatch.setattr("tagkit.corpus.formats.columns.reader._MAX_TAGS", 1)
    assert tags() == found


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("# id 5239d808-0000\tdomain=en", "# id 1 domain=en"),  # MultiCoNER: as many columns
        ("# sent_id = 0", "# sent_id = 1"),
        ("#\thttp://x [2009-10-17]", "# y O O"),  # GermEval: other columns, and then as many
    ],
)
def test_lines_with_a_hash_before_each_sentence_are_comments(first: str, second: str) -> None:
    text = f"{first}\nAda _ _ B-PER\n# _ _ O\n\n{second}\nOslo _ _ B-LOC\n"
    assert pairs(text) == ["Ada/B-PER #/O", "Oslo/B-LOC"]
    # A hashtag is a token, also where it begins a sentence.
    assert pairs(text.replace("Oslo", "#Oslo")) == ["Ada/B-PER #/O", "#Oslo/B-LOC"]


def test_a_hash_that_begins_a_sentence_is_a_token_where_the_file_has_no_comments() -> None:
    text = "Ada B-PER\n\n# O\n5 O\n\n#x O\n"
    assert pairs(text) == ["Ada/B-PER", "#/O 5/O", "#x/O"]
    # Nor where the comment is one of the file.
    assert pairs(f"# sent_id = 0\n\n{text}") == pairs(text)
    # Nor where the first token of the file is one.
    assert pairs(f"# O\n{text}") == ["#/O Ada/B-PER", "#/O 5/O", "#x/O"]
