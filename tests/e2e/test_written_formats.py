"""Whatever a record holds, a writer refuses it or its reader gives it back."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from formats_help import ODD, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kinds import CLASSES, TAGS, answers_of
from says import Says

from tagkit.config import DataConfig
from tagkit.corpus.formats.table import FORMATS
from tagkit.corpus.source.options import Item, ReaderOptions
from tagkit.corpus.source.source import Source
from tagkit.errors import FileError, FormatError, TagkitError
from tagkit.models.answers.kind import Origin, Style, answer_lines
from tagkit.text.records import Document, LabelScore, Sentence, TaggedText, TaggedToken, TextSpan

# What some format has a meaning for, or would cut at.
MARKS = (
    "", " ", "\t", "\n", "\r", "a b", "a\tb", "a\nb", "a\r", "\ra", "a\rb", " a", "a ", "\x85",
    "\u2028", "\xa0", "\x0b", "\ufeff", "\ufeffa", "\x00", "-DOCSTART-", "-DOCSTART-1", "#", "#a",
    "# text = a", "# newdoc", "1", "1-2", "1.1", "_", "O", "B-X", "I-X", "B-X|Y", "NER=O", "|", "=",
    "SpaceAfter=No", "Spaces", "\\s", "\\", "/", "\\/", "a/b", "N/A", "__label__", "__label__x",
    "__label__x y", "(", ")", "(3 a)", "-LRB-", "-RRB-1", "[", "*", "\\*", '"', '""', '"a', ",",
    "a,b", "text", "label", "NUM", "NUM:dist", "NUM:dist How", ":", "{", "}", "[]", "null", ".",
    "..", ".a", "a.gz", "CON", "é", "日本", "👩\u200d💻", "e\u0301",
)  # fmt: skip
odd = st.sampled_from(MARKS) | st.text(
    st.sampled_from(ODD + " \t\n\rab") | st.characters(codec="utf-8"), max_size=4
)
# Mostly plain: of cells that are all odd, a writer would refuse nearly every record.
cell = st.integers(0, 9).flatmap(lambda n: odd if n == 0 else st.sampled_from(["Oslo", "is", "é"]))
words = st.lists(cell, min_size=1, max_size=4)


@st.composite
def sentences(draw: st.DrawFn) -> list[Sentence]:
    """Sentences alike in what they have, or not."""
    shape = st.tuples(st.booleans(), st.integers(0, 1), st.integers(0, 2), st.booleans())
    first = draw(shape)
    found = []
    for _ in range(draw(st.integers(1, 3))):
        tagged, features, labels, has_text = first if draw(st.integers(0, 9)) else draw(shape)
        tokens = tuple(draw(words))

        def column(size: int = len(tokens)) -> tuple[str, ...]:
            return tuple(draw(st.lists(cell, min_size=size, max_size=size)))

        text, places = None, ()
        if has_text:
            text, places = draw(texts_of(tokens))
        found.append(
            Sentence(
                words=tokens,
                tags=column() if tagged else None,
                features=tuple(column() for _ in range(features)),
                labels=tuple(draw(st.lists(cell, min_size=labels, max_size=labels, unique=True))),
                text=text,
                places=places,
            )
        )
    return found


@st.composite
def texts_of(draw: st.DrawFn, tokens: Sequence[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A text with the places of some words; two of them may share one, as in CoNLL-U."""
    text = draw(st.sampled_from(["", "", " ", "\n", "x"]))
    places = []
    shared = draw(st.integers(-9, len(tokens) - 1))
    for number, token in enumerate(tokens):
        if number == shared and places:
            places.append(places[-1])
            continue
        places.append((len(text), len(text) + len(token)))
        text += token + draw(st.sampled_from([" ", " ", "", "  ", "\n", "\t", "\xa0", "|", "\\"]))
    return text, tuple(places)


@st.composite
def documents(draw: st.DrawFn, name: str) -> list[Document]:
    """Texts with spans and classes."""
    found = []
    for _ in range(draw(st.integers(1, 3))):
        text = draw(cell) + draw(st.sampled_from([" good film ", "", " "])) + draw(cell)
        edges = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
        spans = tuple(
            TextSpan(text[a:b], a, b, draw(cell))
            for a, b in zip(edges[::2], edges[1::2], strict=False)
        )
        of_format = {"trec": "NUM:dist", "trees": "3"}.get(name, "pos")
        labels = draw(
            st.just([of_format]) | st.lists(cell | st.just(of_format), max_size=2, unique=True)
        )
        found.append(Document(text, spans, tuple(labels), name=draw(odd)))
    return found


def expected(name: str, item: Item) -> Item:
    """What the reader of a format can give back of a record; the rest is said to be left out."""
    if isinstance(item, Sentence):
        if name != "conllu":
            item = replace(item, text=None, places=())
        if name in ("columns", "conllu", "slash", "token-rows"):
            item = replace(item, labels=())
        return replace(item, features=()) if name in (
            "conllu", "slash", "parallel", "sentence-rows"
        ) else item  # fmt: skip
    if name == "text":
        return Document(item.text)
    return replace(item, labels=()) if name == "brat" else replace(
        item, spans=item.spans if name == "jsonl-spans" else None
    )  # fmt: skip


def key(item: Item) -> tuple[str, tuple[str, ...], str]:
    return item.text or "", item.labels, str(getattr(item, "spans", ()))


@pytest.mark.parametrize("name", FORMATS)
@settings(suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_was_written_reads_back_equal_or_is_refused(
    name: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    of_tokens = FORMATS[name].holds == "tags"
    items: Sequence[Item] = data.draw(sentences() if of_tokens else documents(name))
    plain = data.draw(st.booleans())
    folder = tmp_path_factory.mktemp("w")
    refused = ""
    try:
        path = write(folder, "x", FORMATS[name].write, items, plain=plain)
    except TagkitError as error:
        refused = str(error)
    if refused:
        assert f"{name} cannot hold " in refused or "raw text cannot hold " in refused
        assert len(refused) < 400
        return
    config = DataConfig(
        format=name,
        label_level="fine",
        tag_column="MISC.NER" if name == "conllu" and not plain else None,
    )
    with_tags = any(getattr(item, "tags", None) is not None for item in items) or not of_tokens
    reading = ReaderOptions(config, with_tags=with_tags, all_features=True, with_text=True)
    try:
        found = list(FORMATS[name].records(Source(path, "utf-8"), reading).items)
    except FileError as error:
        refused = str(error)
    if refused:
        assert "holds control characters rather than text" in refused
        return
    if name == "trees":  # a text without a tree is written as a flat one
        found = [replace(item, tree=None) for item in found]
    wanted = [expected(name, item) for item in items]
    if name in ("folder", "brat"):  # whose files have no order but that of their names
        found, wanted = sorted(found, key=key), sorted(wanted, key=key)
    if name == "trees":
        found = [replace(item, tokens=None) for item in found if isinstance(item, Document)]
    if name == "conllu":
        # A reader lays a text out where the corpus has none.
        found = [
            item if given.text is not None or isinstance(item, Document)
            else replace(item, text=None, places=())
            for item, given in zip(found, wanted, strict=True)
        ]  # fmt: skip
    assert found == wanted


@pytest.mark.parametrize("name", ["columns", "conllu"])
@pytest.mark.parametrize("plain", [True, False])
def test_a_word_that_opens_documents_is_refused(tmp_path: Path, name: str, plain: bool) -> None:
    items = [Sentence(("a", "-DOCSTART-"), ("O", "O"))]
    with pytest.raises(FormatError) as caught:
        write(tmp_path, "x", FORMATS[name].write, items, plain=plain)
    assert str(caught.value) == (Says("input:1", name, "DOCSTART", "'a -DOCSTART-'"))


@pytest.mark.parametrize(
    "items",
    [
        [Sentence(("#",), ("O",))], [Sentence(("#1", "#a"), ("B-X", "O"))] * 2,
        [Sentence(("-DOCSTART-1",), ("O",))], [Sentence(("-DOCSTART- a",), ("O",))],
    ],
)  # fmt: skip
def test_words_that_look_like_comments_alone_are_kept(
    tmp_path: Path, items: list[Sentence]
) -> None:
    path = write(tmp_path, "x", FORMATS["columns"].write, items)
    reading = ReaderOptions(DataConfig(format="columns"))
    assert list(FORMATS["columns"].records(Source(path, "utf-8"), reading).items) == items


def test_words_that_share_a_place_become_a_range_of_conllu(tmp_path: Path) -> None:
    item = Sentence(
        ("Tu", "à", "le", "port"), ("A", "B", "C", "D"), text="Tu au port", 
        places=((0, 2), (3, 5), (3, 5), (6, 10)),
    )  # fmt: skip
    path = write(tmp_path, "x", FORMATS["conllu"].write, [item], plain=True)
    assert "2-3\tau\t" in Path(path).read_text("utf-8")
    reading = ReaderOptions(DataConfig(format="conllu"), with_text=True)
    assert list(FORMATS["conllu"].records(Source(path, "utf-8"), reading).items) == [item]


STYLES = {
    "columns": Style("columns", answers_of(TAGS)),
    "tsv": Style("tsv", answers_of(CLASSES, classes=("pos", "neg"))),
}


@settings(suppress_health_check=list(HealthCheck))
@given(tokens=words, label=odd | st.just("pos"))
def test_predicted_tags_read_back_as_columns_or_are_refused(
    tmp_path_factory: pytest.TempPathFactory, tokens: list[str], label: str
) -> None:
    answer = TaggedText(
        " ".join(tokens),
        (tuple(TaggedToken(word, 0, 0, "B-X") for word in tokens),),
        (),
        (label,),
        (LabelScore(label, 1.0),),
    )
    style = STYLES["columns"]
    refused, lines = "", list[str]()
    try:
        lines = list(answer_lines(answer, style, Origin("in", 1)))
    except FormatError as error:
        refused = str(error)
    if refused:
        assert Says("cells").within(refused)
        return
    path = tmp_path_factory.mktemp("w") / "x"
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    if tokens[0].startswith("\ufeff"):  # `predict` writes a second mark there, by `encoded`
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    reading = ReaderOptions(DataConfig(format="columns"))
    (found,) = FORMATS["columns"].records(Source(str(path), "utf-8"), reading).items
    assert found == Sentence(tuple(tokens), ("B-X",) * len(tokens))


@settings(suppress_health_check=list(HealthCheck))
@given(text=odd, label=odd | st.just("pos"))
def test_predicted_classes_read_back_as_tsv_or_are_refused(
    tmp_path_factory: pytest.TempPathFactory, text: str, label: str
) -> None:
    answer = TaggedText(text, ((),), (), (label,), (LabelScore(label, 1.0),))
    refused, path = "", ""
    try:
        records = STYLES["tsv"].answers.records
        items = list(records(answer, FORMATS["tsv"], STYLES["tsv"], Origin("in", 1)))
        folder = tmp_path_factory.mktemp("w")
        path = write(folder, "x", FORMATS["tsv"].write, items, blank_labels=True)
    except FormatError as error:
        refused = str(error)
    if refused:
        assert " cannot hold " in refused
        return
    reading = ReaderOptions(DataConfig(format="tsv"), with_tags=bool(label.strip()))
    (found,) = FORMATS["tsv"].records(Source(path, "utf-8"), reading).items
    assert found == Document(text, labels=(label,) if label.strip() else ())
