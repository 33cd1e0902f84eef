"""Trees of the Stanford Sentiment Treebank."""

from pathlib import Path

import pytest
from formats_help import read, refusal, words, write
from hypothesis import given
from hypothesis import strategies as st
from says import Says

from tagkit.corpus.formats.lines.trees import read_trees, write_trees
from tagkit.errors import FormatError, TagkitError
from tagkit.text.records import Document, TextSpan

ROCK = "(3 (2 (2 The) (1 Rock)) (4 shines))"


def pairs(path: Path, **options: object) -> list[tuple[str, str]]:
    found = read(path, read_trees, **options)
    return [(item.labels[0], item.text) for item in found]  # type: ignore[union-attr]


def test_a_tree_is_its_leaves_with_the_class_of_its_root(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(f"{ROCK}\r\n\n ( 0\t(2 a) (2 b)  ) \n(1 one)\n".encode())
    assert pairs(path) == [("3", "The Rock shines"), ("0", "a b"), ("1", "one")]
    found = read(path, read_trees)
    assert [(item.source, item.line) for item in found] == [(str(path), n) for n in (1, 3, 4)]  # type: ignore[union-attr]


def test_escapes_of_the_penn_treebank_are_undone(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text(
        r"(2 (2 -LRB-) (2 x-RRB-) (2 -LCB-) (2 -RCB-) (2 -LSB-) (2 -RSB-)"
        r" (2 1\/2) (2 d\*\*n) (2 \x))",
        encoding="utf-8",
    )
    assert pairs(path) == [("2", r"( x) { } [ ] 1/2 d**n \x")]


def test_only_blanks_and_brackets_part_words(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("(2 (2 8\xa01/2) (2 a\x85\u2028\x0b))", encoding="utf-8")
    assert pairs(path) == [("2", "8\xa01/2 a\x85\u2028\x0b")]


def test_a_tree_of_white_space_alone_is_refused_and_such_a_phrase_passed_over(
    tmp_path: Path,
) -> None:
    problem = refusal(tmp_path / "a", "(1 one)\n(3 \u2028)\n", read_trees)
    assert problem == Says("a:2", "'(3 \\u2028)'")
    (tmp_path / "a").write_text("(3 (2 a) (1 \x85))\n", encoding="utf-8")
    assert pairs(tmp_path / "a", tree_phrases=True) == [("3", "a \x85"), ("2", "a")]


def test_each_phrase_is_a_text_root_first(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text(ROCK, encoding="utf-8")
    assert pairs(path, tree_phrases=True) == [
        ("3", "The Rock shines"), ("2", "The Rock"), ("2", "The"), ("1", "Rock"), ("4", "shines"),
    ]  # fmt: skip


def test_of_two_classes_the_neutral_one_is_left_out_which_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text(f"{ROCK}\n(2 so)\n(0 (2 a) (1 b))\n", encoding="utf-8")
    notes: list[str] = []
    assert pairs(path, tree_labels="binary", note=notes.append) == [
        ("positive", "The Rock shines"),
        ("negative", "a b"),
    ]
    assert notes == [f"{path}: 1 neutral tree is left out (data.tree_labels)"]
    notes.clear()
    assert pairs(path, tree_labels="binary", tree_phrases=True, note=notes.append) == [
        ("positive", "The Rock shines"), ("negative", "Rock"), ("positive", "shines"),
        ("negative", "a b"), ("negative", "b"),
    ]  # fmt: skip
    assert notes == [f"{path}: 4 neutral phrases are left out (data.tree_labels)"]


def test_neutral_trees_are_predicted_like_all_others(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text(f"{ROCK}\n(2 so)\n(0 (2 a) (1 b))\n", encoding="utf-8")
    notes: list[str] = []
    found = pairs(path, tree_labels="binary", note=notes.append, with_tags=False)
    assert [text for _, text in found] == ["The Rock shines", "so", "a b"]
    assert notes == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("The Rock", Says("'('", "1", "'The'")),
        ("\x85", Says("'('", "1", "'\\x85'")),
        (")", Says("'('", "1", "')'")),
        ("(", Says("0", "4", "2", "column")),
        ("(5 x)", Says("0", "4", "2", "'5'", "column")),
        ("(12 x)", Says("0", "4", "2", "'12'", "column")),
        ("(٣ x)", Says("0", "4", "2", "'٣'", "column")),
        ("((2 x))", Says("0", "4", "2", "'('", "column")),
        ("(3)", Says("'('", "3", "')'")),
        ("(3 ", Says("'('", "4", "column")),
        ("(3 a b)", Says("')'", "6", "'b'")),
        ("(3 a (2 b))", Says("')'", "6", "'('")),
        ("(3 (2 a) b)", Says("'('", "')'", "10", "'b'")),
        ("(3 (2 a)", Says("'('", "')'", "9")),
        ("(3 a) (2 b)", Says("column 7")),
        ("(3 a))", Says("column 6")),
    ],
)
def test_what_is_no_tree_is_refused_with_its_place(tmp_path: Path, line: str, problem: str) -> None:
    assert refusal(tmp_path / "a", f"{ROCK}\n{line}\n", read_trees) == problem


def test_a_bad_line_is_passed_over_where_somebody_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text(f"(3\n{ROCK}\n", encoding="utf-8")
    told: list[FormatError] = []
    assert pairs(path, on_error=told.append) == [("3", "The Rock shines")]
    assert [error.line for error in told] == [1]


@pytest.mark.slow
def test_depth_has_no_limit(tmp_path: Path) -> None:
    depth = 50_000
    path = tmp_path / "a"
    path.write_text("(1 " * depth + "x" + ")" * depth, encoding="utf-8")
    assert pairs(path) == [("1", "x")]
    assert pairs(path, tree_phrases=True) == [("1", "x")] * depth
    message = refusal(path, "(1 " * depth, read_trees)
    assert message == Says("a:1", "'('", "150,001")


def holdable(word: str) -> bool:
    return not any(escape in word for escape in ("RB-", "CB-", "SB-", "\\"))


@given(
    items=st.lists(
        st.builds(
            lambda parts, label: Document(" ".join(parts), labels=(label,)),
            st.lists(words().filter(holdable), min_size=1, max_size=4),
            st.sampled_from("01234"),
        ),
        max_size=3,
    )
)
def test_reading_what_was_written_gives_it_back(
    tmp_path_factory: pytest.TempPathFactory, items: list[Document]
) -> None:
    path = write(tmp_path_factory.mktemp("trees"), "a", write_trees, items)
    found = pairs(Path(path)) if items else []
    assert found == [(item.labels[0], item.text) for item in items]


tricky = st.lists(
    st.sampled_from(["-LRB-", "-", "LRB", "RB-", "(", ")", "{", "[", "\\", "/", "*", "a"]),
    min_size=1, max_size=5,
).map("".join)  # fmt: skip


@given(word=tricky)
def test_what_looks_like_an_escape_is_refused_or_comes_back(
    tmp_path_factory: pytest.TempPathFactory, word: str
) -> None:
    item = Document(f"a {word}", labels=("1",))
    told = ""
    try:
        path = write(tmp_path_factory.mktemp("trees"), "a", write_trees, [item])
    except FormatError as error:
        told = str(error)
    if told:
        assert "which is an escape" in told
        assert "-" in word
    else:
        assert pairs(Path(path)) == [("1", item.text)]


def test_a_flat_tree_is_written(tmp_path: Path) -> None:
    items = [Document("The (1/2*) Rock", labels=("3",)), Document("Rock", labels=("1",))]
    path = Path(write(tmp_path, "a", write_trees, items))
    assert path.read_text("utf-8") == ("(3 (2 The) (2 -LRB-1\\/2\\*-RRB-) (2 Rock))\n(1 Rock)\n")


def test_spans_are_left_out_which_is_said_once(tmp_path: Path) -> None:
    notes: list[str] = []
    item = Document("Oslo", (TextSpan("Oslo", 0, 4, "LOC"),), ("3",))
    write(tmp_path, "a", write_trees, [item, item], notes=notes)
    assert notes == [Says("trees")]


@pytest.mark.parametrize(
    ("item", "what"),
    [
        (Document("x"), "a text without a label: 'x'"),
        (Document("x", labels=("1", "2")), "several labels of one text ('1, 2'): 'x'"),
        (Document("x", labels=("positive",)), "a label that is not 0 to 4 ('positive'): 'x'"),
        (Document("x", labels=("12",)), "a label that is not 0 to 4 ('12'): 'x'"),
        (Document("a\nb", labels=("1",)), "a line end in the text: 'a\\nb'"),
        (
            Document("a  b", labels=("1",)),
            "words that are not separated by single blanks: 'a  b'",
        ),
        (Document("a\tb", labels=("1",)), "words that are not separated by single blanks: 'a\\tb'"),
        (Document("", labels=("1",)), "a blank text: ''"),
        (Document("\u2028", labels=("1",)), "a blank text: '\\u2028'"),
        (
            Document("a -LRB-", labels=("1",)),
            "the word '-LRB-', which is an escape: 'a -LRB-'",
        ),
    ],
)
def test_what_it_cannot_hold_is_refused(tmp_path: Path, item: Document, what: str) -> None:
    with pytest.raises(FormatError) as caught:
        write(tmp_path, "a", write_trees, [item])
    assert str(caught.value) == Says("input:1", what)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "trees", "polar"),
    [("train", 8544, 6920), ("dev", 1101, 872), ("test", 2210, 1821)],
)
def test_the_trees_of_sst_are_all_read_and_written(
    corpora: Path, tmp_path: Path, name: str, trees: int, polar: int
) -> None:
    path = corpora / "sst" / f"{name}.txt"
    found = read(path, read_trees)
    assert len(found) == trees
    notes: list[str] = []
    assert len(read(path, read_trees, tree_labels="binary", note=notes.append)) == polar
    assert notes == [f"{path}: {trees - polar:,} neutral trees are left out (data.tree_labels)"]
    assert read(write(tmp_path, "a", write_trees, found), read_trees) == found


alphabet = st.sampled_from(["(3 ", "(", ")", "2", " ", "\t", "\n", "\r", "a", "\x85", "-LRB-"])


@given(
    content=st.lists(alphabet, max_size=20).map("".join).map(str.encode) | st.binary(max_size=60)
)
def test_any_bytes_are_texts_or_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzzed-trees"
    path.write_bytes(content)
    told = ""
    try:
        assert all(item.labels for item in read(path, read_trees, tree_phrases=True))
    except TagkitError as error:
        told = str(error)
    assert not told or str(path) in told


def test_classes_of_phrases_that_are_left_out_are_said_where_all_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "a"
    complete = {"with_extra": True, "all_features": True}
    said: list[str] = []
    path.write_text(f"{ROCK}\n", encoding="utf-8")
    read(path, read_trees, note=said.append)
    read(path, read_trees, note=said.append, tree_phrases=True, **complete)
    assert said == []
    read(path, read_trees, note=said.append, **complete)
    how = "with data.tree_phrases=true each phrase is a text"
    assert said == [f"{path}: other formats than trees hold the class of the whole alone; {how}"]
    path.write_text("(3 Rock)\n", encoding="utf-8")  # no phrase is lost
    said.clear()
    read(path, read_trees, note=said.append, **complete)
    assert said == []
