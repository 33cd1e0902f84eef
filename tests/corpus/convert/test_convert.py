"""Any format to any other; what the target cannot hold is said."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from marks import mostly_slow
from says import Says, refuses

from tagkit.config import DataConfig
from tagkit.corpus import files
from tagkit.corpus.convert.convert import convert_corpus
from tagkit.corpus.formats.folders.file_sets import write_folder
from tagkit.corpus.formats.table import FORMATS, target_format
from tagkit.errors import DataError, FormatError, SpanErrors, TagkitError

IOB1 = "# x y z\nEU NNP I-ORG\nCup  NN\tI-MISC\r\n\t\n-DOCSTART- -X- O\n\nto\tTO O\n"


def convert(
    folder: Path, content: str, to: str, scheme: str | None = None, name: str = "in.conll",
    **data: object,
) -> tuple[str, list[str]]:  # fmt: skip
    """What is written, and what is said."""
    path = folder / name
    path.write_text(content, encoding="utf-8", newline="")
    notes: list[str] = []
    conversion = convert_corpus(
        str(path),
        DataConfig(**data),
        lambda read: target_format("-", to, read),
        scheme,
        single=True,
        note=notes.append,
    )
    written = "".join(piece.text for piece in conversion.pieces)
    read_as = [note for note in notes if ": read as " in note]
    assert len(read_as) == (data.get("format", "auto") == "auto")
    return written, [note.replace(f"{folder}/", "") for note in notes if note not in read_as]


def test_column_files_keep_every_line_and_get_other_tags_alone(tmp_path: Path) -> None:
    written, notes = convert(tmp_path, IOB1, "columns", "iob2", format="columns")
    assert written == IOB1.replace("I-", "B-")
    assert notes == ["tags: IOB1 to IOB2"]
    assert convert(tmp_path, IOB1, "columns", format="columns") == (IOB1, [])


def test_a_cell_is_replaced_in_its_own_column_alone(tmp_path: Path) -> None:
    text = "I-A I-A I-A\nI-A  I-A   B-A\n\n"
    written, _ = convert(tmp_path, text, "columns", "iobes", tag_column=1)
    assert written == "I-A B-A I-A\nI-A  E-A   B-A\n\n"


def test_conllu_keeps_its_lines_and_a_key_of_misc_is_replaced(tmp_path: Path) -> None:
    text = (
        "# text = EU's\n1-2\tEU's\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "1\tEU\t_\tPROPN\t_\t_\t_\t_\t_\tA=1|NER=I-ORG|B=2\n2\t's\t_\tPART\t_\t_\t_\t_\t_\tC=3\n\n"
    )
    written, _ = convert(tmp_path, text, "conllu", "bilou", "a.conllu", tag_column="MISC.NER")
    assert written == text.replace("NER=I-ORG", "NER=U-ORG")


def test_columns_become_json_and_come_back(tmp_path: Path) -> None:
    written, notes = convert(tmp_path, "EU NNP B-ORG\nCup NN O\n", "jsonl")
    assert written == (
        '{"tokens": ["EU", "Cup"], "tags": ["B-ORG", "O"], "features": [["NNP", "NN"]]}\n'
    )
    assert notes == []
    assert convert(tmp_path, written, "columns", name="a.jsonl") == (
        "EU\tNNP\tB-ORG\nCup\tNN\tO\n\n", [],
    )  # fmt: skip


MARKED = "a B-X\n\n-DOCSTART- O\n\nb O\n\nc O\n\n-DOCSTART- O\nd B-X\n"


@pytest.mark.parametrize("target", ["columns", "jsonl-tokens", "jsonl-spans"])
def test_conllu_without_tags_in_the_tag_column_is_refused_unless_it_is_named(
    tmp_path: Path, target: str
) -> None:
    text, _ = convert(tmp_path, "in O\nOslo B-LOC\n", "conllu")
    with pytest.raises(DataError) as caught:
        convert(tmp_path, text, target, name="a.conllu")
    assert str(caught.value) == (
        f"{tmp_path}/a.conllu: every tag is '_' in UPOS. Name the column of the tags, for example "
        "with data.tag_column=MISC.NER"
    )
    written, notes = convert(tmp_path, text, target, name="a.conllu", tag_column="MISC.NER")
    assert "LOC" in written
    assert not any("every tag" in note for note in notes)


def test_conllu_without_tags_is_converted_where_no_tags_are_wanted(tmp_path: Path) -> None:
    text = "1\tOslo" + "\t_" * 8 + "\n\n"
    assert convert(tmp_path, text, "conllu", name="a.conllu") == (text, [])
    assert convert(tmp_path, text, "text", name="a.conllu")[0] == "Oslo\n"
    written, notes = convert(tmp_path, text, "columns", name="a.conllu", tag_column="XPOS")
    assert written == "Oslo\t_\n\n"
    assert "a.conllu: every tag is '_' in XPOS" in notes


def test_marks_of_documents_stay_between_columns_and_conllu(tmp_path: Path) -> None:
    conllu, _ = convert(tmp_path, MARKED, "conllu")
    lines = [line for line in conllu.split("\n") if line]
    assert [line[:8].strip() for line in lines] == [
        "1\ta\t_\t_", "# newdoc", "1\tb\t_\t_", "1\tc\t_\t_", "# newdoc", "1\td\t_\t_",
    ]  # fmt: skip
    columns, _ = convert(tmp_path, conllu, "columns", name="a.conllu", tag_column="MISC.NER")
    assert columns == ("a\tB-X\n\n-DOCSTART-\tO\n\nb\tO\n\nc\tO\n\n-DOCSTART-\tO\n\nd\tB-X\n\n")
    assert convert(tmp_path, columns, "conllu")[0].count("# newdoc") == 2


def test_marks_of_documents_that_a_format_cannot_hold_are_reported(tmp_path: Path) -> None:
    for target in ("jsonl-tokens", "jsonl-spans", "slash"):
        said = Says(target, "marks of documents")
        assert said in convert(tmp_path, MARKED, target)[1]
        plain = MARKED.replace("-DOCSTART- O\n", "")
        assert said not in convert(tmp_path, plain, target)[1]


def test_records_of_a_program_keep_their_marks(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_text(MARKED, "utf-8")
    records = [*files.read(path)]
    for name, mark in (("b.conllu", "# newdoc"), ("b.conll", "-DOCSTART-")):
        files.write(records, tmp_path / name)
        assert (tmp_path / name).read_text("utf-8").count(mark) == 2
    notes: list[str] = []
    files.write(records, tmp_path / "b.slash", to="slash", note=notes.append)
    assert Says("slash", "marks of documents") in notes


def test_texts_become_columns_without_marks(tmp_path: Path) -> None:
    texts = '{"text": "a b", "spans": []}\n{"text": "c", "spans": []}\n'
    for target in ("columns", "conllu"):
        written, _ = convert(tmp_path, texts, target, name="a.jsonl")
        assert "DOCSTART" not in written
        assert "newdoc" not in written


@pytest.mark.parametrize(
    ("target", "has"), [("slash", "slash tags have"), ("conllu", "conllu has")]
)
def test_what_a_format_has_no_place_for_is_said_of_what_there_is(
    tmp_path: Path, target: str, has: str
) -> None:
    _, notes = convert(tmp_path, "New NNP B-LOC\n! . O\n", target)
    assert f"{has} no place for feature columns: they are left out" in notes
    both = '{"tokens": ["a"], "tags": ["O"], "label": "x"}\n'
    _, notes = convert(tmp_path, both, target, name="a.jsonl")
    assert f"{has} no place for classes: they are left out" in notes


def test_tokens_become_a_text_with_spans_and_come_back(tmp_path: Path) -> None:
    written, notes = convert(tmp_path, "New NNP B-LOC\nYork NNP I-LOC\n! . O\n", "jsonl-spans")
    assert written == (
        '{"text": "New York !", "tokens": [{"text": "New", "start": 0, "end": 3}, {"text": "York", '
        '"start": 4, "end": 8}, {"text": "!", "start": 9, "end": 10}], "spans": [{"text": '
        '"New York", "start": 0, "end": 8, "label": "LOC"}]}\n'
    )
    assert notes == [Says("feature")]
    written, notes = convert(tmp_path, written, "slash", "bilou", name="a.jsonl")
    assert written == "New/B-LOC York/L-LOC !/O\n"
    assert notes == [
        Says("between"),
        "tags: IOB2 to BILOU",
    ]


def test_a_column_of_a_format_that_has_none_is_refused(tmp_path: Path) -> None:
    texts = "label\ttext\nx\ta b\n"
    with refuses(DataError, "data.tag_column"):
        convert(tmp_path, texts, "csv", name="in.tsv", tag_column=5)
    with refuses(DataError, "data.label_column", "TSV", "CSV"):
        convert(tmp_path, IOB1, "slash", label_column="label")


def test_plain_labels_are_refused_where_spans_are_wanted(tmp_path: Path) -> None:
    with refuses(DataError, "in.conll", "columns"):  # fmt: skip
        convert(tmp_path, "a DT\nb NN\n", "brat")
    with refuses(DataError, "labels"):
        convert(tmp_path, "a DT\nb NN\n", "columns", "iob2")
    with refuses(DataError, "classes"):
        convert(tmp_path, "label\ttext\nx\ta b\n", "csv", "iob2", name="in.tsv")
    written, _ = convert(tmp_path, "a DT\nb NN\n", "conllu")
    assert written == "1\ta\t_\tDT\t_\t_\t_\t_\t_\t_\n2\tb\t_\tNN\t_\t_\t_\t_\t_\t_\n\n"


def test_texts_without_classes_are_refused_where_classes_are_wanted(tmp_path: Path) -> None:
    with refuses(DataError, "in.conll:1", "fasttext"):  # fmt: skip
        convert(tmp_path, "a B-X\nb O\n", "fasttext")
    # Where nothing is written nothing is said to be left out.
    (tmp_path / "in.conll").write_text("-DOCSTART- -X- O\n\na N B-X\n", encoding="utf-8")
    notes: list[str] = []
    converted = convert_corpus(
        str(tmp_path / "in.conll"), DataConfig(), lambda _: FORMATS["fasttext"], None,
        single=True, note=notes.append,
    )  # fmt: skip
    with refuses(DataError, "needs"):
        list(converted.pieces)
    assert not [note for note in notes if "left out" in note]


def test_a_corpus_of_several_classes_may_have_texts_of_none(tmp_path: Path) -> None:
    several = '{"text": "b", "labels": ["x", "y"]}\n{"text": "a", "labels": []}\n'
    assert convert(tmp_path, several, "jsonl", name="in.jsonl")[0] == several
    with refuses(DataError, "in.jsonl:2", "fasttext"):
        convert(tmp_path, several, "fasttext", name="in.jsonl")
    one = '{"text": "a", "label": "x"}\n{"text": "b", "labels": []}\n'
    assert convert(tmp_path, one, "jsonl", name="in.jsonl")[0] == one


def test_tags_that_are_left_out_are_not_called_spans_as_well(tmp_path: Path) -> None:
    both = '{"tokens": ["a", "b"], "tags": ["B-X", "O"], "label": "x"}\n'
    for to in ("tsv", "fasttext", "jsonl-texts"):
        _, notes = convert(tmp_path, both, to, name="in.jsonl")
        lost = [note for note in notes if "tags" in note or "spans" in note]
        assert lost == [Says(to, "place")]


def test_classes_go_from_any_format_to_any_other(tmp_path: Path) -> None:
    rows = [("hello there", "greeting"), ("book a flight", "book")]
    written = "".join(f"__label__{label} {text}\n" for text, label in rows)
    for to in ("jsonl", "tsv", "csv", "fasttext"):
        written, notes = convert(tmp_path, written, to, name="in.x")
        assert notes == []
    assert written == "".join(f"__label__{label} {text}\n" for text, label in rows)


def test_raw_text_is_tokenised_and_keeps_its_white_space_in_conllu(tmp_path: Path) -> None:
    text = "To  Oslo, now.\tThen home.\n"
    written, _ = convert(tmp_path, text, "conllu", name="a.txt", format="text")
    assert "# text = To  Oslo, now." in written
    path = tmp_path / "b.conllu"
    path.write_text(written, encoding="utf-8")
    back, _ = convert(tmp_path, written, "text", name="b.conllu")
    assert back == "To  Oslo, now.\t\nThen home.\n"


def test_overlapping_spans_are_refused(tmp_path: Path) -> None:
    line = '{"text": "New York", "spans": [[0, 8, "A"], [4, 8, "B"]]}\n'
    for to in ("columns", "brat"):
        with refuses(TagkitError, "'York'", "4", "8", "'New York'", "0"):
            convert(tmp_path, line, to, name="a.jsonl")


def test_ill_formed_tags_are_said(tmp_path: Path) -> None:
    _, notes = convert(tmp_path, "a O\nb I-X\nc O\n\nd B-X\n", "columns", "iobes")
    assert notes == [
        Says("in.conll", "IOB2", "1", "6"),
        "tags: IOB2 to IOBES",
    ]


def test_a_target_is_told_from_its_name() -> None:
    columns, tsv = FORMATS["columns"], FORMATS["tsv"]
    for name, expected in {
        "a.conll": "columns", "a.bio.gz": "columns", "A.CONLLU": "conllu",
        "a.jsonl": "jsonl-tokens", "a.tsv": "tsv", "a.csv.gz": "csv",
        "a.ann": "brat", "a.trees": "trees", "a.html": "html", "a.HTM.gz": "html",
    }.items():  # fmt: skip
        assert target_format(name, None, columns).name == expected
    assert target_format("a.jsonl", None, tsv).name == "jsonl-texts"
    assert target_format("a", "jsonl", FORMATS["brat"]).name == "jsonl-spans"
    with refuses(DataError, "a.txt", "format"):
        target_format("a.txt", None, columns)
    with refuses(DataError, "to=conl", "columns"):
        target_format("a.txt", "conl", columns)


def test_an_empty_corpus_is_refused(tmp_path: Path) -> None:
    with refuses(DataError, "in.conll", "nothing"):
        convert(tmp_path, "\n\n", "jsonl", format="columns")


def test_a_folder_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "in.fasttext"
    path.write_text("__label__a x\n__label__b/c y\n", encoding="utf-8")
    conversion = convert_corpus(
        str(path),
        DataConfig(),
        lambda _: FORMATS["folder"],
        None,
        single=False,
        note=lambda _: None,
    )
    with pytest.raises(TagkitError):
        write_folder(tmp_path / "out", conversion.pieces)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["in.fasttext"]


PROGRAM = [sys.executable, "-c", "from tagkit.cli.main import main; main()"]


def converted(path: Path, to: str, **options: object) -> str:
    conversion = convert_corpus(
        str(path), DataConfig(**options), lambda read: target_format("-", to, read), None,
        single=True, note=lambda _: None,
    )  # fmt: skip
    return "".join(piece.text for piece in conversion.pieces)


@pytest.mark.parametrize("first", ["7", "12", "1", "x"])
def test_ten_columns_read_as_columns_keep_their_first_as_the_token(
    tmp_path: Path, first: str
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("\t".join([first, *"bcdefghi", "B-X"]) + "\n\n", encoding="utf-8")
    record = json.loads(converted(path, "jsonl", format="columns"))
    assert record["tokens"] == [first]
    assert record["tags"] == ["B-X"]
    assert json.loads(converted(path, "jsonl-spans", format="columns"))["text"] == first


@pytest.mark.parametrize(
    "content", mostly_slow(["", "-DOCSTART- O\n\n", "\n\n", "# a comment\n\n"], always=2)
)
@pytest.mark.parametrize("to", mostly_slow(["columns", "jsonl"], always=1))
def test_a_corpus_without_a_record_is_not_converted(tmp_path: Path, content: str, to: str) -> None:
    (tmp_path / "a.conll").write_text(content, encoding="utf-8")
    ended = subprocess.run(
        [*PROGRAM, "convert", "a.conll", "b", "--to", to], cwd=tmp_path, capture_output=True,
        text=True, timeout=60,
    )  # fmt: skip
    assert ended.returncode == 1
    assert Says("a.conll", "nothing").within(ended.stderr)
    assert [path.name for path in tmp_path.iterdir()] == ["a.conll"]


def test_ids_and_metadata_go_from_one_kind_of_json_to_another(tmp_path: Path) -> None:
    line = (
        '{"meta": {"page": 3, "tags": ["a"]}, "text": "To Oslo.", "label": "go", "id": 7, '
        '"spans": [{"start": 3, "end": 7, "label": "LOC"}], "answer": "accept"}\n'
    )
    written, _ = convert(tmp_path, line, "jsonl-spans", name="a.jsonl")
    found = json.loads(written)
    assert list(found)[:2] == ["id", "text"]
    assert list(found)[-2:] == ["meta", "answer"]
    assert (found["id"], found["meta"]) == (7, {"page": 3, "tags": ["a"]})
    for to in ("jsonl-tokens", "jsonl-texts"):
        again = json.loads(convert(tmp_path, written, to, name="b.jsonl")[0])
        assert (again["id"], again["meta"], again["answer"]) == (7, found["meta"], "accept")
        assert again["label"] == "go"


def test_metadata_that_is_nested_without_end_is_refused(tmp_path: Path) -> None:
    line = f'{{"text": "x", "label": "a", "meta": {"[" * 40}{"]" * 40}}}\n'
    with refuses(DataError, "a.jsonl:1", "'meta'"):
        convert(tmp_path, line, "jsonl-texts", name="a.jsonl")


def test_an_id_of_conllu_is_that_of_the_record_and_comes_back(tmp_path: Path) -> None:
    row = "\t".join(["1", "Oslo", "_", "X", *"_" * 6])
    text = f"# sent_id = s-1\n# text = Oslo\n{row}\n\n# text = Oslo\n{row}\n\n"
    written, _ = convert(tmp_path, text, "jsonl-tokens", name="a.conllu")
    assert [json.loads(line).get("id") for line in written.splitlines()] == ["s-1", None]
    back, _ = convert(tmp_path, written, "conllu", name="b.jsonl")
    assert back == text.replace("# text = Oslo\n", "")


def test_an_id_that_no_comment_can_hold_is_reported(tmp_path: Path) -> None:
    ids = ('12.5, "x": 1', '"d1\\t7"', '["x", 1]', '""', "null")
    lines = "".join(f'{{"tokens": ["a"], "tags": ["B-X"], "id": {name}}}\n' for name in ids)
    written, notes = convert(tmp_path, lines, "conllu", name="a.jsonl")
    assert [line for line in written.splitlines() if "sent_id" in line] == ["# sent_id = 12.5"]
    said = Says("conllu", " id ")
    assert notes.count(said) == 1
    _, notes = convert(tmp_path, lines.splitlines()[0], "conllu", name="a.jsonl")
    assert said not in notes


def test_sentences_of_one_text_get_ids_of_their_own_in_conllu(tmp_path: Path) -> None:
    lines = '{"id": 5, "text": "Oslo. Rome. Lima.", "spans": []}\n{"text": "Yes.", "spans": []}\n'
    written, _ = convert(tmp_path, lines, "conllu", name="a.jsonl")
    ids = [line for line in written.splitlines() if line.startswith("# sent_id")]
    assert ids == ["# sent_id = 5", "# sent_id = 5-2", "# sent_id = 5-3"]


def test_no_two_sentences_of_conllu_have_one_id(tmp_path: Path) -> None:
    lines = "".join(
        f'{{"id": "{name}", "tokens": ["x"], "tags": ["B-X"]}}\n'
        for name in ("a", "a", "a-2", "a", "b")
    )
    written, notes = convert(tmp_path, lines, "conllu", name="a.jsonl")
    ids = [line for line in written.splitlines() if line.startswith("# sent_id")]
    assert ids == [f"# sent_id = {name}" for name in ("a", "a-2", "a-2-2", "a-3", "b")]
    said = Says("conllu", "sent_id", "number")
    assert notes.count(said) == 1
    _, notes = convert(tmp_path, lines.splitlines()[0], "conllu", name="a.jsonl")
    assert said not in notes


def test_named_columns_of_a_table_stay(tmp_path: Path) -> None:
    text = 'id,text,label,note\n1,"a, b",x,\n2,c,y,"so, so"\n'
    written, _ = convert(tmp_path, text, "csv", name="a.csv")
    assert written == 'label,id,note,text\nx,1,,"a, b"\ny,2,"so, so",c\n'
    found = convert(tmp_path, text, "jsonl-texts", name="a.csv")[0].splitlines()
    assert json.loads(found[1]) == {"id": "2", "text": "c", "label": "y", "note": "so, so"}
    lines = '{"text": "a", "label": "x", "id": 1}\n{"text": "b", "label": "y", "n": "z"}\n'
    written, notes = convert(tmp_path, lines, "tsv", name="b.jsonl")
    assert written == "label\tid\tn\ttext\nx\t1\t\ta\ny\t\tz\tb\n"
    assert notes == []


def test_a_column_with_the_name_of_an_annotation_is_kept(tmp_path: Path) -> None:
    text = "label,category,title,text,spans\nx,c,t,a b,[]\n"
    written, notes = convert(tmp_path, text, "jsonl-texts", name="a.csv")
    others = {"category": "c", "title": "t", "spans": "[]"}
    assert json.loads(written) == {"text": "a b", "label": "x", **others}
    assert notes == []
    line = '{"text": "a", "label": "X", "category": "news", "intent": "q"}\n'
    assert convert(tmp_path, line, "jsonl-texts", name="a.jsonl") == (line, [])
    assert convert(tmp_path, line, "csv", name="a.jsonl") == (
        "label,category,intent,text\nX,news,q,a\n", [],
    )  # fmt: skip


def test_values_that_json_would_read_as_annotation_are_left_out_and_said(tmp_path: Path) -> None:
    line = '{"text": "a", "label": "x", "spans": [[0, 1, "Y"]], "words": 3}\n'
    written, notes = convert(tmp_path, line, "jsonl-texts", name="a.jsonl", format="jsonl-texts")
    assert json.loads(written) == {"text": "a", "label": "x", "words": 3}
    assert notes == [Says("JSON", "'spans'")]
    text = "label,k,k,text\nx,1,2,a b\n"
    written, notes = convert(tmp_path, text, "jsonl-texts", name="a.csv")
    assert json.loads(written) == {"text": "a b", "label": "x", "k": "2"}
    assert notes == ["JSON Lines hold one value of a name: of 'k' the last one is kept"]


def test_numbers_that_json_does_not_have_are_written_as_null(tmp_path: Path) -> None:
    line = '{"text": "a", "label": "x", "score": NaN, "size": [{"x": [1e999]}], "n": 1.5}\n'
    written, _ = convert(tmp_path, line, "jsonl-texts", name="a.jsonl")
    others = {"score": None, "size": [{"x": [None]}], "n": 1.5}
    assert json.loads(written) == {"text": "a", "label": "x", **others}


def test_spans_of_words_that_share_a_place_are_refused(tmp_path: Path) -> None:
    row = "\t_" * 5
    text = (
        f"# text = au port\n1-2\tau\t_\t_\t_{row}\n1\tà\t_\t_\t_{row[:-2]}\tNER=B-X\n"
        f"2\tle\t_\t_\t_{row[:-2]}\tNER=B-Y\n3\tport\t_\t_\t_{row[:-2]}\tNER=I-Y\n\n"
    )
    for target in ("jsonl-spans", "brat"):
        with pytest.raises(SpanErrors) as caught:
            convert(tmp_path, text, target, name="a.conllu", tag_column="MISC.NER")
        assert [str(error).replace(f"{tmp_path}/", "") for error in caught.value.problems] == [
            Says("a.conllu:3", "'au port'", "0", "7", "'au'", "2")
        ]
    # One span over both words is a span of characters as any other.
    text = text.replace("B-Y", "I-X").replace("NER=I-Y", "A=B")
    written, _ = convert(tmp_path, text, "jsonl-spans", name="a.conllu", tag_column="MISC.NER")
    assert json.loads(written)["spans"] == [{"text": "au", "start": 0, "end": 2, "label": "X"}]


def test_classes_in_one_cell_are_noted(tmp_path: Path) -> None:
    rows = "text\tlabel\nthe match of the day\tsport\nthe rates of banks\tmoney\n"
    assert convert(tmp_path, rows, "jsonl", name="in.tsv")[1] == []
    _, notes = convert(tmp_path, rows + "the club is sold\tmoney,sport\n", "jsonl", name="in.tsv")
    assert notes == [Says("in.tsv", "1", "'money,sport'")]


def test_spans_that_fit_no_tokens_are_reported_before_what_cannot_be_written(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    lines = [
        {"text": "Ada sleeps", "spans": [{"start": 0, "end": 3, "label": "PER"}]},
        {"text": "-DOCSTART-", "tokens": [{"start": 0, "end": 10}], "spans": []},
        {"text": "Oslo sleeps", "spans": [{"start": 0, "end": 2, "label": "LOC"}]},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with refuses(SpanErrors, "a.jsonl:3", "'Os'", "LOC", "0", "2"):
        files.convert(path, "-", to="columns")
    path.write_text("".join(json.dumps(line) + "\n" for line in lines[:2]), encoding="utf-8")
    with refuses(FormatError, "a.jsonl:2", "DOCSTART"):
        files.convert(path, "-", to="columns")
    assert capfdbinary.readouterr().out == b""


def test_trec_is_written_again_with_its_fine_classes_and_elsewhere_they_are_named(
    tmp_path: Path,
) -> None:
    trec = "NUM:dist How far ?\nHUM:desc Who ?\n"
    assert convert(tmp_path, trec, "trec", name="a.trec") == (trec, [])
    written, notes = convert(tmp_path, trec, "csv", name="a.trec")
    assert written == "label,text\nNUM,How far ?\nHUM,Who ?\n"
    how = "data.label_level=fine takes both"
    assert notes == [f"a.trec: of each label the coarse class is taken; {how}"]
    written, notes = convert(tmp_path, trec, "csv", name="a.trec", label_level="fine")
    assert (written.count("NUM:dist"), notes) == (1, [])


def test_comments_of_a_column_file_are_said_to_be_left_out(tmp_path: Path) -> None:
    hashes = "#1 O\nwin O\n\n"
    for comments in ("# a comment of words\n", "# one of a\n\n"):
        for content in (f"{comments}{hashes}", f"{hashes}{comments}Oslo B-LOC\n"):
            written, notes = convert(tmp_path, content, "jsonl", format="columns")
            assert '["#1", "win"]' in written
            assert notes == ["in.conll: comments are left out"]
    assert convert(tmp_path, f"{hashes}#x O\nOslo B-LOC", "jsonl", format="columns")[1] == []


def test_a_text_of_conllu_that_its_words_contradict_is_said(tmp_path: Path) -> None:
    row = "1\t{}\t_\tX\t_\t_\t_\t_\t_\t{}\n"
    words = row.format("a", "SpacesAfter=\\s\\s") + row.replace("1", "2", 1).format("b", "_") + "\n"
    right = f"# text = a b\n{words}# text = ab\n{words}"  # white space alone differs
    assert not any("# text" in note for note in convert(tmp_path, right, "text")[1])
    written, notes = convert(tmp_path, f"{right}# text = Xy z\n{words}{words}", "text")
    said = "'# text' has other words than the sentence, whose text is put together from these"
    assert notes[0] == f"in.conll:9: {said} (1 sentence)"
    assert "Xy" not in written


def test_trees_say_that_the_class_of_each_word_is_the_neutral_one(tmp_path: Path) -> None:
    written, notes = convert(tmp_path, "label,text\n3,a b\n1,c\n", "trees", name="a.csv")
    assert written == "(3 (2 a) (2 b))\n(1 c)\n"
    assert notes == ["trees have a class at each word: 2, the neutral one, is written there"]


LEFT_OUT = "{} has no place for the values of {}: they are left out"


def notes_of(folder: Path, content: str, to: str, name: str = "a.jsonl") -> list[str]:
    """What is said of a conversion, beside how the input is read."""
    path = folder / name
    path.write_text(content, encoding="utf-8")
    notes: list[str] = []
    # A pair of files for brat, and not a folder with a file for each id.
    output = folder / ("out.ann" if to == "brat" else "out")
    files.convert(path, output, to=to, force=True, note=notes.append)
    return [note for note in notes if ": read as " not in note]


@pytest.mark.parametrize(
    ("target", "lost"),
    [
        ("columns", "id, meta"), ("slash", "id, meta"), ("parallel", "id, meta"),
        ("brat", "id, meta"), ("text", "id, meta"), ("html", "id, meta"), ("conllu", "meta"),
        ("jsonl-tokens", ""), ("jsonl-spans", ""),
    ],
)  # fmt: skip
def test_ids_and_metadata_that_are_left_out_are_named_once(
    tmp_path: Path, target: str, lost: str
) -> None:
    line = '{"id": "q", "meta": {"p": 1}, "tokens": ["a"], "tags": ["B-X"]}\n'
    notes = notes_of(tmp_path, line + line.replace("q", "r"), target)
    said = [note for note in notes if " the values of " in note]
    assert said == ([LEFT_OUT.format(target, lost)] if lost else [])


@pytest.mark.parametrize(
    ("target", "lost"), [("fasttext", "id, source"), ("folder", "id, source"), ("tsv", "")]
)
def test_columns_that_are_left_out_are_named(tmp_path: Path, target: str, lost: str) -> None:
    notes = notes_of(tmp_path, "label,id,source,text\nx,1,s,a b\n", target, "a.csv")
    assert notes == ([LEFT_OUT.format(target, lost)] if lost else [])


@pytest.mark.parametrize(
    ("target", "kept", "lost"),
    [
        ("columns", " (except newdoc)", True), ("slash", "", True), ("parallel", "", True),
        ("jsonl-tokens", " (except sent_id)", False),
        ("jsonl-spans", " (except text, sent_id)", False), ("brat", " (except text)", True),
        ("html", " (except text)", True), ("text", None, True), ("conllu", None, False),
    ],
)  # fmt: skip
def test_of_conllu_the_comments_that_are_kept_and_the_ids_that_are_not_are_named(
    tmp_path: Path, target: str, kept: str | None, lost: bool
) -> None:
    word = "1\tOslo\t_\tB-LOC" + "\t_" * 6
    content = "".join(
        f"# newdoc\n# sent_id = s{number}\n# text = Oslo\n{word}\n\n" for number in range(2)
    )
    notes = notes_of(tmp_path, content, target, "a.conllu")
    said = [note for note in notes if note.startswith("of CoNLL-U")]
    assert said == [
        f"of CoNLL-U, words and tags are taken: other columns and comments{kept} are left out, "
        "multiword tokens and empty nodes too"
    ] * (kept is not None)
    assert (LEFT_OUT.format(target, "id") in notes) == lost


def test_without_ids_none_is_said_to_be_kept_or_left_out(tmp_path: Path) -> None:
    line = "1\tOslo\t_\tPROPN" + "\t_" * 6
    for target in ("columns", "jsonl-tokens"):
        assert notes_of(tmp_path, f"{line}\n\n", target, "a.conllu")[0] == (
            "of CoNLL-U, words and tags are taken: other columns and comments are left out, "
            "multiword tokens and empty nodes too"
        )


@pytest.mark.parametrize("target", ["folder", "brat"])
def test_ids_of_texts_are_the_names_of_files(tmp_path: Path, target: str) -> None:
    path = tmp_path / "a.jsonl"
    line = '{"id": "q", "n": 1, "text": "a b", "label": "x", "spans": []}\n'
    for number, (lines, changed) in enumerate(
        ((line, False), (line + line, True), (line.replace("q", "q/r"), target == "folder"))
    ):
        path.write_text(lines, encoding="utf-8")
        notes: list[str] = []
        files.convert(path, tmp_path / f"out-{number}", to=target, note=notes.append)
        assert LEFT_OUT.format(target, "n") in notes
        said = f"{target} names files after the ids of their texts: ids that are no names of files"
        assert any(note.startswith(said) for note in notes) == changed


@pytest.mark.parametrize("target", ["jsonl-tokens", "parallel"])
@pytest.mark.parametrize("first", ["", '{"text": "a", "label": "x"}\n'])
def test_a_text_with_neither_class_nor_tags_is_refused_where_readers_need_one(
    tmp_path: Path, target: str, first: str
) -> None:
    with pytest.raises(FormatError) as caught:
        notes_of(tmp_path, first + '{"text": "b", "labels": []}\n', target)
    assert str(caught.value) == (Says(tmp_path, "a.jsonl", 2 if first else 1, target))
    # Raw text has no labels, and words without them are to be predicted.
    assert notes_of(tmp_path, "a b\n", target, "a.txt")
