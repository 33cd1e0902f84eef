"""CoNLL-U: the text behind the words, and sentences written as CoNLL-U."""

from pathlib import Path

import pytest
from formats_help import read, sentences, texts, words, write
from hypothesis import given
from hypothesis import strategies as st
from kinds import TAGS
from read_files import refusal
from says import Says, refuses

from tagkit.config import DataConfig
from tagkit.corpus.convert.convert import convert_corpus
from tagkit.corpus.formats.columns.conllu import write_conllu
from tagkit.corpus.formats.columns.sentences import read_columns
from tagkit.corpus.formats.table import target_format
from tagkit.corpus.records.alignment import to_sentences
from tagkit.corpus.source.options import ReaderOptions
from tagkit.corpus.splits.splits import read_split
from tagkit.errors import FormatError
from tagkit.text.records import Document, Sentence, TextSpan


def row(identifier: str, form: str, misc: str = "_", upos: str = "X") -> str:
    return "\t".join([identifier, form, "_", upos, *"_" * 5, misc])


def text_of(folder: Path, *lines: str) -> tuple[str | None, list[str]]:
    """The text that is found, and what stands in it at each word's place."""
    path = folder / "a.conllu"
    path.write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    (found,) = read(path, read_columns, format="conllu", with_text=True)
    assert isinstance(found, Sentence)
    assert found.text is not None
    return found.text, [found.text[start:end] for start, end in found.places]


def test_the_text_is_that_of_its_comment(tmp_path: Path) -> None:
    assert text_of(
        tmp_path, "# text = Oslo,  Norway", row("1", "Oslo"), row("2", ","), row("3", "Norway")
    ) == ("Oslo,  Norway", ["Oslo", ",", "Norway"])


def test_without_it_the_text_is_made_of_the_words_and_what_misc_says(tmp_path: Path) -> None:
    rows = [row("1", "Oslo", "SpaceAfter=No"), row("2", ","), row("3", "Norway")]
    assert text_of(tmp_path, *rows) == ("Oslo, Norway", ["Oslo", ",", "Norway"])
    rows = [row("1", "a", "X=1|SpacesAfter=\\s\\t\\n\\p\\\\"), row("2", "b", "SpacesBefore=\\s")]
    assert text_of(tmp_path, *rows) == ("a \t\n|\\ b", ["a", "b"])


def test_a_comment_that_is_not_the_words_text_is_not_believed(tmp_path: Path) -> None:
    assert text_of(tmp_path, "# text = nothing alike", row("1", "a"), row("2", "b")) == (
        "a b", ["a", "b"],
    )  # fmt: skip


def test_a_word_that_its_text_lacks_is_not_found_among_the_blanks_at_the_end(
    tmp_path: Path,
) -> None:
    # A no-break space at the end of a text is part of it.
    rows = [row("1", "a"), row("2", "b")]
    assert text_of(tmp_path, "# text = a \u00a0\u00a0", *rows) == ("a b", ["a", "b"])


def test_spaces_in_a_form_say_nothing_of_white_space_and_in_misc_they_do(tmp_path: Path) -> None:
    rows = [row("1", "Spaces"), row("2", "grow")]
    assert text_of(tmp_path, "# text = Spaces  grow", *rows)[0] == "Spaces  grow"
    rows = [row("1", "Spaces", "SpacesAfter=\\s\\s"), row("2", "grow")]
    assert text_of(tmp_path, "# text = Spaces grow", *rows)[0] == "Spaces  grow"


def test_lemmas_as_words_have_the_places_of_their_forms(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text("# text = cats\n1\tcats\tcat\tNOUN" + 6 * "\t_" + "\n\n", encoding="utf-8")
    (found,) = read(path, read_columns, format="conllu", with_text=True, token_column="LEMMA")
    assert isinstance(found, Sentence)
    assert (found.words, found.text, found.places) == (("cat",), "cats", ((0, 4),))


def test_words_of_a_multiword_token_share_its_place_or_part_it(tmp_path: Path) -> None:
    rows = [row("1-2", "du", "SpaceAfter=No"), row("1", "de"), row("2", "le"), row("3", ".")]
    assert text_of(tmp_path, *rows) == ("du.", ["du", "du", "."])
    rows = [row("1-2", "don't"), row("1", "do"), row("2", "n't"), row("2.1", "x"), row("3", "go")]
    assert text_of(tmp_path, *rows) == ("don't go", ["do", "n't", "go"])


def test_columns_that_blanks_part_have_their_text_too(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    rows = [row("1-2", "du"), row("1", "de"), row("2", "le"), row("3", "x", "SpaceAfter=No")]
    path.write_text("\n".join(rows).replace("\t", " ") + "\n", encoding="utf-8")
    (found,) = read(path, read_columns, format="conllu", with_text=True)
    assert isinstance(found, Sentence)
    assert (found.text, found.places) == ("du x", ((0, 2), (0, 2), (3, 4)))


@pytest.mark.parametrize("identifier", ["-9", "2-", "-", "a-b", "1-x"])
def test_what_looks_like_a_range_and_is_none_is_refused_and_no_word(
    tmp_path: Path, identifier: str
) -> None:
    path = tmp_path / "a.conllu"
    path.write_text("\n".join([row("1", "a"), row(identifier, "x"), row("2", "b")]) + "\n")
    errors: list[FormatError] = []
    (found,) = read(path, read_columns, format="conllu", with_text=True, on_error=errors.append)
    assert isinstance(found, Sentence)
    assert (found.words, found.text, found.places) == (("a", "b"), "a b", ((0, 1), (2, 3)))
    assert [str(error) for error in errors] == [Says(path, "2", "ID", "1", "1.1", identifier)]


@pytest.mark.parametrize("numbers", [("0",), ("0", "0"), ("1-2", "1", "2", "1", "2"), ("5", "1")])
def test_words_stand_in_the_text_however_they_are_numbered(
    tmp_path: Path, numbers: tuple[str, ...]
) -> None:
    _, found = text_of(tmp_path, *(row(number, f"w{number}") for number in numbers))
    assert len(found) == len([number for number in numbers if number.isdecimal()])
    assert all(found)


def test_a_key_of_misc_or_feats_can_be_the_tag(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    lines = [
        "1\tOslo\t_\tPROPN\t_\tCase=Nom|Number=Sing\t_\t_\t_\tSpaceAfter=No|NER=B-LOC",
        "2\t.\t_\tPUNCT\t_\t_\t_\t_\t_\t_",
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for column, tags in {
        "MISC.NER": ("B-LOC", "O"),
        "misc.NER": ("B-LOC", "O"),
        "FEATS.Case": ("Nom", "_"),
        "FEATS": ("Case=Nom|Number=Sing", "_"),
        "XPOS": ("_", "_"),
    }.items():
        assert read(path, read_columns, format="conllu", tag_column=column) == [
            Sentence(("Oslo", "."), tags)
        ]
    found = read(path, read_columns, format="conllu", feature_columns=("FEATS.Number",))
    assert found == [Sentence(("Oslo", "."), ("PROPN", "PUNCT"), (("Sing", "_"),))]
    with refuses(FormatError, "'LEMMA.x'", "ID", "FORM"):
        read(path, read_columns, format="conllu", tag_column="LEMMA.x")


inner = st.sampled_from(["a b", "10 000"])


@given(items=st.lists(sentences(words() | inner, words()), min_size=1, max_size=3))
def test_reading_what_was_written_gives_back_plain_labels(
    tmp_path_factory: pytest.TempPathFactory, items: list[Sentence]
) -> None:
    path = write(tmp_path_factory.mktemp("u"), "a.conllu", write_conllu, items, plain=True)
    assert read(path, read_columns, format="conllu") == items


@given(items=st.lists(sentences(words(), words("|")), min_size=1, max_size=3))
def test_reading_what_was_written_gives_back_tags_of_spans(
    tmp_path_factory: pytest.TempPathFactory, items: list[Sentence]
) -> None:
    notes: list[str] = []
    folder = tmp_path_factory.mktemp("u")
    path = write(folder, "a.conllu", write_conllu, items, notes=notes)
    assert read(path, read_columns, format="conllu", tag_column="MISC.NER") == items
    assert notes == ["the tags are in MISC; read them with data.tag_column=MISC.NER"]


@given(text=texts("\x00"))
def test_a_text_with_any_white_space_is_kept(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    items = list(to_sentences([Document(text)], ReaderOptions(DataConfig())))
    path = write(tmp_path_factory.mktemp("u"), "a.conllu", write_conllu, items)
    found = read(path, read_columns, format="conllu", with_text=True, with_tags=False)
    assert found == items
    assert "".join(item.text or "" for item in found if isinstance(item, Sentence)) == text


def test_what_it_cannot_hold_is_refused(tmp_path: Path) -> None:
    with refuses(FormatError, "MISC", "conllu"):
        write(tmp_path, "a", write_conllu, [Sentence(("x",), ("a|b",))])
    with refuses(FormatError, "conllu"):
        write(tmp_path, "b", write_conllu, [Sentence(("x\ty",), ("O",))])


def test_real_texts_are_found_and_hold_their_words(corpora: Path) -> None:
    for name in ("ud-english-ewt", "ud-greek-gdt"):
        found = read(corpora / name / "dev.conllu", read_columns, format="conllu", with_text=True)
        path = corpora / name / "dev.conllu"
        said = [line.removeprefix("# text = ") for line in path.read_text("utf-8").split("\n")
                if line.startswith("# text = ")]  # fmt: skip
        assert [item.text for item in found if isinstance(item, Sentence)] == said


def test_a_span_over_a_multiword_token_is_its_text(tmp_path: Path) -> None:
    from tagkit.corpus.records.alignment import to_document

    path = tmp_path / "a.conllu"
    rows = [row("1", "au"), row("2-3", "du", "SpaceAfter=No"), row("2", "de", "NER=B-X"),
            row("3", "le", "NER=I-X"), row("4", ".")]  # fmt: skip
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    (item,) = read(path, read_columns, format="conllu", with_text=True, tag_column="MISC.NER")
    assert isinstance(item, Sentence)
    document = to_document(item, plain=False)
    assert document.text == "au du."
    assert document.spans == (TextSpan("du", 3, 5, "X"),)
    assert document.tokens is None


def converted(path: Path, to: str, **options: object) -> str:
    conversion = convert_corpus(
        str(path), DataConfig(**options), lambda read: target_format("-", to, read), None,
        single=True, note=lambda _: None,
    )  # fmt: skip
    return "".join(piece.text for piece in conversion.pieces)


def conllu(*ids: str) -> str:
    return "".join(f"{number}\tw{number}\t_\tX" + "\t_" * 6 + "\n" for number in ids) + "\n"


@pytest.mark.parametrize(
    ("ids", "line", "shown"),
    [
        (("1-9", "1", "2"), 1, "1-9"),
        (("1", "2-3", "2"), 2, "2-3"),
        (("1-2", "1", "3"), 1, "1-2"),
        (("1-2", "2", "1"), 1, "1-2"),
        (("1-2",) * 2 + ("1", "2"), 1, "1-2"),
        (("1-1", "1"), 1, "1-1"),
        (("2-1", "1", "2"), 1, "2-1"),
        (("1-999999999", "1", "2"), 1, "1-999999999"),
    ],
)
def test_a_range_that_its_words_do_not_follow_is_refused_with_its_line(
    tmp_path: Path, ids: tuple[str, ...], line: int, shown: str
) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(conllu(*ids), encoding="utf-8")
    with pytest.raises(FormatError) as caught:
        converted(path, "text", format="conllu")
    assert str(caught.value) == (Says(path, line, shown))
    assert len(read_split(str(path), DataConfig(), TAGS, None).sentences) == 1  # words alone


@pytest.mark.parametrize("number", ["9" * 5000, "1-" + "9" * 5000, "٣", "1--2", "1.", "-1"])
def test_an_odd_number_of_a_word_is_refused(tmp_path: Path, number: str) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(conllu("1", number), encoding="utf-8")
    message = refusal(path, format="conllu")
    assert Says("a.conllu:2", "ID", "1", "2", "1.1") == message
    assert len(message) < 200
