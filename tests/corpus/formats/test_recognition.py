"""A corpus is recognised by what it holds, whatever its name, and by every command alike."""

import gzip
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from kinds import KINDS, TAGS
from says import Says, refuses

from tagkit.config import DataConfig
from tagkit.corpus.convert.convert import convert_corpus
from tagkit.corpus.formats.recognition import recognise, recognise_lines, recognise_source
from tagkit.corpus.formats.table import FORMATS, target_format
from tagkit.corpus.lint.summary import summarise
from tagkit.corpus.source.look import each_line
from tagkit.corpus.source.source import Source
from tagkit.corpus.splits.splits import read_split
from tagkit.errors import DataError

ENDINGS = (".tsv", ".txt", ".csv", ".bio", ".iob", ".data", ".conll", ".json", ".jsonl", "")


def found_as(path: Path, raw: bool = False) -> str:
    return recognise(Source(str(path), "utf-8"), "auto", raw=raw).name


def written(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8", newline="")
    return path


def rows(*lines: str, times: int = 1) -> str:
    return "".join(f"{line}\n" for line in lines) * times


def kinds_of_raw_text(kind: str, ending: str) -> set[str]:
    """What `predict`, which expects raw text, may read a corpus as."""
    if kind not in ("slash", "trec", "tsv") or (kind == "tsv" and ending in (".tsv", ".csv")):
        return {kind}
    by_name = {".tsv": "tsv", ".csv": "csv", ".conll": "columns", ".bio": "columns",
               ".iob": "columns", ".conllu": "conllu", ".json": "jsonl-texts",
               ".jsonl": "jsonl-texts"}  # fmt: skip
    # A comma in a text has a blank behind it, one between cells none.
    return {by_name.get(ending, "text"), *["text"] * (ending == ".csv")}


BC5CDR = rows(
    "Naloxone\tB-Chemical", "reverses\tO", "the\tO", "antihypertensive\tO", "effect\tO", "",
    "In\tO", "alpha\tB-Chemical", "-\tI-Chemical", "methyldopa\tI-Chemical", "rats\tO", "",
    times=20,
)  # fmt: skip
WNUT = rows("@paulwalk\tO", "Empire\tB-location", "State\tI-location", "\t", "From\tO", "view\tO",
            "\t", times=10)  # fmt: skip
POS = rows("The\tDT", "dog\tNN", "barks\tVBZ", "", "It\tPRP", "sleeps\tVBZ", "", times=10)
IOBES = rows("New NNP B-LOC", "York NNP E-LOC", "sleeps VBZ O", "", "Oslo NNP S-LOC", "", times=5)
TOKENS = rows("The", "dog", "barks", "", "It", "sleeps", "", times=5)
TEXT_LABEL = rows("I like this film\tpos", "I hated all of it\tneg", "so dull and slow\tneg",
                  times=10)  # fmt: skip
LABEL_TEXT = rows("pos\tI like this film", "neg\tI hated all of it", "neg\tso dull and slow",
                  times=10)  # fmt: skip
FOLDS = rows("pos\t0\tI like this film", "neg\t1\tI hated all of it", times=10)
CSV = rows("text,label", '"a film, and a good one",pos', "dull,neg", times=1)
SENTENCE = rows("# text = Hi you", *("\t".join([str(n), w, "_", "X", *"_" * 6])
                for n, w in ((1, "Hi"), (2, "you"))), "", times=5)  # fmt: skip
JSONL = rows('{"tokens": ["EU", "votes"], "tags": ["B-ORG", "O"]}', times=5)
PAIRS = rows('["To Oslo", {"entities": [[3, 7, "LOC"]]}]', times=5)
LIST = rows("[", '  {"text": "It works", "label": "pos"},', '  {"text": "No", "label": "neg"}', "]")
FASTTEXT = rows("__label__pos I like it", "__label__neg I do not", times=10)
TREES = rows("(3 (2 The) (3 Rock))", "(1 (2 So) (1 dull))", times=5)
SLASH = rows("The/DT dog/NN barks/VBZ", "It/PRP sleeps/VBZ", times=10)
TREC = rows("NUM:dist How far is it ?", "HUM:ind Who was it ?", times=10)
PROSE = rows("In 1990 there were 12 of them.", "By 2001, 3,400 more had come; 5 left.",
             "1 2 3", "He paid 4.50 for it.")  # fmt: skip
ZH_TABLE = rows("label\ttext", "pos\t日本語が好き", "neg\t中国很大", "neg\t好")
MECAB = rows(
    "東京\t名詞-固有名詞-地域",
    "です\t助動詞",
    "",
    "北京\t名詞-固有名詞-地域",
    "へ\t助詞-格助詞",
    "",
    times=3,
)
BRACES = rows("{\tO", "Oslo\tB-LOC", "}\tO", "", "Rome\tB-LOC", "is\tO", "", times=3)
BROKEN = POS + rows("only one column here", "") + POS

SHAPES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    # what it is, its content, endings that it is recognised under
    "BC5CDR": ("columns", BC5CDR, ENDINGS),
    "WNUT, lone tabs between sentences": ("columns", WNUT, ENDINGS),
    "parts of speech": ("columns", POS, ENDINGS),
    "parts of speech with a broken line": ("columns", BROKEN, ENDINGS),
    "IOBES separated by blanks": ("columns", IOBES, ENDINGS),
    "one sentence": ("columns", "Oslo\tB-LOC\nsleeps\tO\n", ENDINGS),
    "tokens without tags": ("columns", TOKENS, ENDINGS),
    "text and label": ("tsv", TEXT_LABEL, ENDINGS),
    "label and text": ("tsv", LABEL_TEXT, ENDINGS),
    "label, fold and text": ("tsv", FOLDS, ENDINGS),
    "a header and rows with commas": ("csv", CSV, ENDINGS),
    "CoNLL-U": ("conllu", SENTENCE, (*ENDINGS, ".conllu")),
    "JSON Lines": ("jsonl-tokens", JSONL, (*ENDINGS, ".conllu")),
    "pairs of spaCy": ("jsonl-spans", PAIRS, (*ENDINGS, ".conllu")),
    "a JSON list": ("jsonl-texts", LIST, (*ENDINGS, ".conllu")),
    "brackets in prose": ("text", rows("[1] See there.", "[[see] a link]", "[", '["a"]'), ("",)),
    "fastText": ("fasttext", FASTTEXT, ENDINGS),
    "trees": ("trees", TREES, (*ENDINGS, ".conllu")),
    "slash tags": ("slash", SLASH, (*ENDINGS, ".conllu")),
    "TREC": ("trec", TREC, (*ENDINGS, ".conllu")),
    "prose with numbers": ("text", PROSE, (".txt", ".data", "")),
    "Chinese texts below a header": ("tsv", ZH_TABLE, (".txt", ".data", "")),
    "Japanese words and their parts of speech": ("columns", MECAB, ENDINGS),
    "columns below a header": ("columns", "text\ttag\n" + POS, ENDINGS),
    "columns that begin with a brace": ("columns", BRACES, ENDINGS),
    "slash tags that begin with a brace": (
        "slash", rows("{/SYM Oslo/NNP }/SYM", "Rome/NNP is/VBZ", times=5), ENDINGS,
    ),
    "prose that begins with a brace": (
        "text", rows("{Name} flies from Oslo to Rome.", "{Name} is there."), (".txt", ".data", ""),
    ),
    "LaTeX": (
        "text", rows(r"{\bf Oslo} is far.", "{", "And so is Rome.", "}"), (".txt", ".data", ""),
    ),
    "tweets with tabs": ("text", rows("so\tgood", "I like\tall of\tit", "@you yes"), (".txt", "")),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_the_content_decides_whatever_the_name_ends_in(tmp_path: Path, shape: str) -> None:
    kind, content, endings = SHAPES[shape]
    for ending in endings:
        path = written(tmp_path, f"corpus{ending}", content)
        assert found_as(path) == kind, ending
        packed = tmp_path / f"corpus{ending}.gz"
        packed.write_bytes(gzip.compress(content.replace("\n", "\r\n").encode()))
        assert found_as(packed) == kind, ending


@pytest.mark.parametrize("shape", SHAPES)
def test_every_command_recognises_a_file_in_the_same_way(tmp_path: Path, shape: str) -> None:
    kind, content, endings = SHAPES[shape]
    for ending in endings:
        path = written(tmp_path, f"corpus{ending}", content)
        assert summarise(str(path), DataConfig()).format.name == kind  # check
        assert found_as(path, raw=True) in kinds_of_raw_text(kind, ending)  # predict
        conversion = convert_corpus(
            str(path), DataConfig(), lambda read: target_format("x.txt", "text", read), None,
            single=True, note=lambda _: None,
        )  # fmt: skip
        assert conversion.format.name == kind
        task = "tag" if FORMATS[kind].holds == "tags" else "classify"
        refused = ""
        try:  # train and eval
            notes = read_split(str(path), DataConfig(), KINDS[task], None).notes
            assert any(f"read as {kind}: " in note for note in notes)
        except DataError as error:
            refused = str(error)
        if kind == "text":
            assert "(read as text" in refused


@pytest.mark.parametrize(
    "line",
    ["and/or his/her", "NUM:dist How far is it ?", "2026-01-01\tERROR\tno such file",
     "I like this film\tpos", "pos\tI like this film"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["a.txt", "a", "a.log"])
def test_text_to_be_predicted_stays_text_however_many_lines_look_like_a_corpus(
    tmp_path: Path, name: str, line: str
) -> None:
    path = written(tmp_path, name, f"{line}\n" * 500)
    assert found_as(path, raw=True) == "text"
    assert found_as(path) != "text"


def test_a_table_with_semicolons_is_no_column_file(tmp_path: Path) -> None:
    # With two words on each line, and a blank line, it would be one.
    rows_of_texts = rows("Art;Mail text", "x;hello you", "y;see him", "", "x;it is", times=9)
    path = written(tmp_path, "a.csv", rows_of_texts)
    found = recognise_source(Source(str(path), "utf-8"), raw=False)
    assert (found.name, found.why) == ("csv", "rows of as many columns")
    header = written(tmp_path, "a.txt", rows("text;label", "I like it, really;pos"))
    for raw in (False, True):
        assert found_as(header, raw=raw) == "csv"


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt", "-"])
def test_a_first_line_for_excel_makes_a_table(tmp_path: Path, name: str, raw: bool) -> None:
    for end in ("\n", "\r\n"):
        path = written(tmp_path, name, rows("sep=\t", "a\tx", "b c\ty").replace("\n", end))
        found = recognise_source(Source(str(path), "utf-8"), raw=raw)
        assert found.name == "csv"
        assert found.why == r"its first line says what separates its cells: 'sep=\t'"


@pytest.mark.parametrize("within", ["", "best", "last"])
def test_the_folder_of_a_model_is_no_corpus(tmp_path: Path, within: str) -> None:
    model = tmp_path / within
    model.mkdir(exist_ok=True)
    # With these parts alone it looks like a folder with a file for each class.
    for name in ("model.safetensors", "metadata.json", "config.toml"):
        (model / name).write_text("x", "utf-8")
    with pytest.raises(DataError) as caught:
        found_as(tmp_path)
    assert str(caught.value) == Says(tmp_path, "corpus")
    (model / "metadata.json").unlink()
    if within:
        assert found_as(tmp_path) == "folder"


def test_a_file_that_is_damaged_later_is_recognised_by_what_comes_before(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"EU N\nrejects V\n\n" * 7 + b"M\xfcller N\n")
    assert found_as(path) == "columns"
    # With fewer lines the error is more certain than the format.
    path.write_bytes(b"EU N\nrejects V\n\n" * 6 + b"M\xfcller N\n")
    with pytest.raises(DataError) as caught:
        found_as(path)
    assert str(caught.value) == (Says(path, "19", "97", "8", "data.encoding", "shift_jis"))
    # Of a text to be predicted each line has an answer.
    path.write_bytes(b"Ada visits Rome.\nM\xfcller\n")
    assert found_as(path, raw=True) == "text"


def test_a_file_named_as_a_table_is_one_when_it_is_predicted_too(tmp_path: Path) -> None:
    for ending in (".tsv", ".csv", ".tsv.gz"):
        path = written(tmp_path, f"a{ending}", TEXT_LABEL)
        assert found_as(path, raw=True) == "tsv"
    assert found_as(written(tmp_path, "b.csv", "good film,pos\n"), raw=True) == "csv"


@pytest.mark.parametrize("name", [name for name in FORMATS if not FORMATS[name].many_files])
def test_a_folder_is_no_file_of_a_format(tmp_path: Path, name: str) -> None:
    for named in {name, "jsonl"}:
        with pytest.raises(DataError) as caught:
            recognise(Source(str(tmp_path), "utf-8"), named)
        assert str(caught.value) == (
            f"{tmp_path}: is a folder, and the format {named} is that of a file. Name a file in "
            "it, or another format with data.format"
        )


def test_the_biomedical_file_is_a_corpus_of_sentences_and_says_why(tmp_path: Path) -> None:
    path = written(tmp_path, "train.tsv", BC5CDR)
    split = read_split(str(path), DataConfig(), TAGS, None)
    assert len(split.sentences) == 40
    assert split.scheme == "iob2"
    assert split.notes == (Says(path, "2", "IOB2", "data.format"),)


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.txt", rows(*(f"word{n}\tclass{n % 7}" for n in range(200))),
         "2 columns separated by tabs, single words in all of them, no blank line"),
        ("a.tsv", rows(*(line for n in range(50) for line in (f"word{n}\tclass{n % 7}", ""))),
         "2 columns separated by tabs, single words, and a blank line after each"),
    ],
)  # fmt: skip
def test_a_file_that_fits_two_formats_alike_is_asked_about(
    tmp_path: Path, name: str, content: str, found: str
) -> None:
    path = written(tmp_path, name, content)
    with pytest.raises(DataError) as caught:
        found_as(path)
    assert all(said in str(caught.value) for said in (f"{path}: ", found))
    assert str(caught.value).endswith("data.format=columns or data.format=tsv")
    for named in ("columns", "tsv"):
        assert recognise(Source(str(path), "utf-8"), named).name == named


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.tsv", "Ada\tgirl\nBen\tboy\n", "tsv"),
        ("a.tsv", "Ada\tgirl\nBen\tboy\n\n", "tsv"),  # the blank line at the end parts nothing
        ("a.tsv", "good film\tpos\n\nbad film\tneg\n", "tsv"),
        ("a.tsv", "__label__pos\tgood film\n__label__neg\tbad film\n", "tsv"),
        ("a.tsv", "text\tlabel\n", "tsv"),
        ("a.csv", "good,pos\nbad,neg\n", "csv"),
        ("a.csv", 'text,label\n"two\nlines",pos\n', "csv"),
        ("a.csv", "", "csv"),
        ("a.tsv", "", "tsv"),
        ("a.conll", "", "columns"),
        ("a.conllu", "", "conllu"),
        ("a.conllu", "# text = Hi\n", "conllu"),
        ("a.jsonl", "", "jsonl-texts"),
        ("a.json", "[1, 2]\n", "jsonl-texts"),
        ("a.conll", "a sentence of prose\nand another one here, longer\n", "columns"),
        ("a.conll", "EU NNP O\nrejects VBZ\n\nHe PRP O\n", "columns"),
        ("a.iob", "# nothing but a comment\n", "columns"),
    ],
)
def test_the_name_decides_where_the_content_leaves_it_open(
    tmp_path: Path, name: str, content: str, kind: str
) -> None:
    assert found_as(written(tmp_path, name, content)) == kind


def test_ten_columns_that_are_no_conllu_are_columns(tmp_path: Path) -> None:
    years = rows(*("\t".join([str(1990 + n), "text", *"abcdefg", "B-X"]) for n in range(5)), "")
    path = written(tmp_path, "a.txt", years)
    assert found_as(path) == "columns"
    for data in (DataConfig(), DataConfig(format="columns")):
        split = read_split(str(path), data, TAGS, None)
        assert split.sentences[0].words == ("1990", "1991", "1992", "1993", "1994")
        conversion = convert_corpus(
            str(path), data, lambda read: target_format("x.jsonl", None, read), None,
            single=True, note=lambda _: None,
        )  # fmt: skip
        (piece,) = conversion.pieces
        assert json.loads(piece.text)["tokens"][0] == "1990"


CORPORA = [
    ("conll2000/test.txt", "columns"), ("conll2003/eng.testa", "columns"),
    ("wnut17/dev.conll", "columns"), ("ud-english-ewt/dev.conllu", "conllu"),
    ("ud-greek-gdt/dev.conllu", "conllu"), ("trec/test.txt", "trec"), ("sst/dev.txt", "trees"),
    ("movie-reviews/all.tsv", "tsv"), ("ptb/ptb.valid.txt", "text"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "kind"), CORPORA)
def test_real_corpora_are_recognised_under_wrong_names_too(
    corpora: Path, tmp_path: Path, file: str, kind: str
) -> None:
    path = corpora / file
    if not path.is_file():
        pytest.skip(f"no {path}")
    beginning = path.read_bytes()[:300_000]
    content = beginning[: beginning.rfind(b"\n") + 1]
    endings = (".txt", "", ".data") if kind == "text" else (*ENDINGS, path.suffix)
    for ending in endings:
        copy = tmp_path / f"copy{ending}"
        copy.write_bytes(content)
        assert found_as(copy) == kind, ending
        assert found_as(copy, raw=True) in kinds_of_raw_text(kind, ending), ending


def test_the_words_and_tags_of_atis_in_columns_are_recognised(
    corpora: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "atis"
    shutil.copytree(corpora / "atis" / "valid", folder)
    assert found_as(folder) == "parallel"
    words, tags = ((folder / name).read_text("utf-8").split("\n") for name in ("seq.in", "seq.out"))
    blocks = ["".join(f"{w}\t{t}\n" for w, t in zip(a.split(), b.split(), strict=True))
              for a, b in zip(words, tags, strict=True) if a]  # fmt: skip
    for ending in ENDINGS:
        path = written(tmp_path, f"corpus{ending}", "\n".join(blocks))
        assert found_as(path) == "columns", ending
        assert len(read_split(str(path), DataConfig(), TAGS, None).sentences) == len(blocks)


def test_check_says_on_standard_error_what_a_file_was_read_as(tmp_path: Path) -> None:
    written(tmp_path, "train.tsv", BC5CDR)
    program = [sys.executable, "-c", "from tagkit.cli.main import main; main()"]
    ended = subprocess.run(
        [*program, "check", "train.tsv"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert ended.stderr == (Says("train.tsv", "2", "IOB2", "--input-format"))
    assert "IOB2" in ended.stdout


def why(folder: Path, content: str, *, texts: bool) -> tuple[str, str]:
    source = Source(str(written(folder, "a", content)), "utf-8")
    found = recognise_source(source, raw=True, texts=texts)
    return found.name, found.why


def test_where_each_line_is_a_text_short_lines_are_no_columns(tmp_path: Path) -> None:
    words, pairs = rows("good", "", "bad", "nice"), rows("good film", "bad one", "", "so dull")
    for content in (words, pairs, TOKENS):
        assert why(tmp_path, content, texts=True)[0] == "text"
    for content in (words, TOKENS):
        assert why(tmp_path, content, texts=False)[0] == "columns"
    # A name that says so, tags of spans and tabs make columns of them all the same.
    assert (
        recognise_source(
            Source(str(written(tmp_path, "a.conll", TOKENS)), "utf-8"), raw=True, texts=True
        ).name
        == "columns"
    )
    for content in (IOBES, POS):
        assert why(tmp_path, content, texts=True)[0] == "columns"


def test_it_is_said_what_lines_look_like_where_raw_text_is_expected(tmp_path: Path) -> None:
    for kind, content in (
        ("slash", rows("Paris/NNP is/VBZ nice/JJ", "London/NNP is/VBZ big/JJ")),
        ("trec", rows("DESC:manner How did it go ?", "NUM:date When was it ?")),
        ("tsv", TEXT_LABEL),
        ("tsv", ZH_TABLE),
    ):
        assert why(tmp_path, content, texts=True) == (
            "text", Says(kind, "though"),
        )  # fmt: skip


RAW_TEXTS = {
    "Chinese, with a blank line at the end": rows("我要去北京。你呢？", "他是谁。好的", ""),
    "Chinese, with a blank line between": rows("我要去北京", "他是谁", "", "好的", "你呢"),
    "Thai": rows("ฉันอยากไปกรุงเทพฯ", "เขาเป็นใคร", "", "ไปกรุงเทพฯเมื่อไร", "ดีครับ"),
    "one word, with a blank line at the end": rows("Oslo", "Rome", ""),
    "one word with its punctuation": rows("Hello!", "Yes.", "", "Thanks!", "No."),
    "names of two words": rows("New York", "Los Angeles", "", "San Diego", "San Jose"),
    "names with the form of tags": rows("Take I-95", "Fly B-52", "See U-2"),
    "one name with the form of a tag": rows("Take I-95"),
    "one line with O and S-Bahn": rows("His blood group is O and the S-Bahn was late"),
    "one paragraph a line": rows("He has blood group O", "", "She has blood group O", ""),
    "figures, one apart": rows("Assets 45 billion", "Loans 36 billion", "Deposits 29 billion", "",
                               "Shr 31 cts"),
    "Korean": rows("서울 부산", "대구 인천", "", "광주 대전", "울산 부산"),
    "requests with a word in capitals": rows("Should I", "Can I", "", "Must I", "May I"),
    "Hindi": rows("नमस्ते।", "धन्यवाद।", "", "हाँ।", "नहीं।"),
    "Japanese": rows("コーヒーを買う", "水を飲みたい", "", "お茶をください", "ありがとう"),
    "short requests": rows("lights on", "lights off", "", "fan on", "fan off", "", times=20),
}  # fmt: skip


@pytest.mark.parametrize("content", RAW_TEXTS.values(), ids=RAW_TEXTS)
def test_short_texts_to_be_predicted_are_no_columns(tmp_path: Path, content: str) -> None:
    for name in ("a", "a.txt"):
        assert found_as(written(tmp_path, name, content), raw=True) == "text"
    assert found_as(written(tmp_path, "a.conll", content), raw=True) == "columns"
    assert why(tmp_path, content, texts=False)[1] in (
        "raw text is expected, though its lines look like columns",
        "nothing in its lines looks like labels",
    )


@pytest.mark.parametrize(
    ("line", "format"),
    [
        ("Oslo\tB-LOC", "columns"),
        ("Oslo B-LOC", "columns"),
        ("Oslo NNP B-NP S-LOC", "columns"),
        ("His blood group is O and the S-Bahn was late", "text"),
    ],
)
def test_a_corpus_of_one_line_without_tabs_has_its_tag_at_the_end(
    tmp_path: Path, line: str, format: str
) -> None:
    assert found_as(written(tmp_path, "a.txt", f"{line}\n")) == format


COLUMNS = {
    "words": TOKENS,
    "Chinese words": rows("我", "要", "去", "北京", "。", "", "他", "是", "谁", "？", "", times=3),
    "Thai words": rows("ฉัน", "อยาก", "ไป", "กรุงเทพฯ", "", "เขา", "เป็น", "ใคร", ""),
    "words and documents": rows("-DOCSTART-", "", "Ada", "runs", ""),
    "IOBES": IOBES,
    "spans, one sentence": rows("Oslo B-LOC", "is O"),
    "chunks, one sentence": rows("EU NNP B-NP", "says VB B-VP", "the DT B-NP", "plan NN I-NP"),
    "parts of speech": POS.replace("\t", " "),
    "labels of any letters": rows("das det", "Auto noun", "ist verb", "neu adj", "", "das det",
                                  "Haus noun", "ist verb", "alt adj", ""),
    "words that are long": rows("서울에서부터", "e-mail", "", "ประเทศ", "3.5", "..."),
    "predictions": rows("Oslo B-LOC 0.9876", "is O 0.9999", ""),
    "CoNLL-U with blanks": rows(
        "1 Ada _ X _ _ 2 _ _ _", "2 runs _ Y _ _ 0 _ _ _", "3 home _ X _ _ 2 _ _ _", "", times=2
    ),
}  # fmt: skip


@pytest.mark.parametrize("content", COLUMNS.values(), ids=COLUMNS)
def test_columns_to_be_predicted_are_recognised_without_tabs_too(
    tmp_path: Path, content: str
) -> None:
    for name in ("a", "a.txt", "a.conll"):
        assert found_as(written(tmp_path, name, content), raw=True) == "columns"


@pytest.mark.parametrize(
    "content",
    [
        '{"text": "a", "label": }\n',
        "{'text': 'a', 'label': 'x'}\n",
        '{"text": "a", "label": "x"\n{"text": "b", "label": "x"}\n',
        '{text: "a"}\n{"text": "b", "label": "x"}\n',
        '{\n  "text": "a",\n  "label": "x"\n}\n',
    ],
)
def test_json_lines_whose_first_line_is_broken_are_reported_as_such(
    tmp_path: Path, content: str
) -> None:
    path = written(tmp_path, "a.txt", content)
    assert found_as(path) == found_as(path, raw=True) == "jsonl-texts"
    with refuses(DataError, "a.txt:1"):
        read_split(str(path), DataConfig(), KINDS["classify"], None)


@pytest.mark.parametrize("records", [[("{", "O"), ("Oslo", "B-LOC")], [('{"', "O"), ("a", "B-X")]])
@pytest.mark.parametrize("target", ["columns", "slash"])
def test_a_corpus_whose_first_word_is_a_brace_is_read_as_it_was_written(
    tmp_path: Path, target: str, records: list[tuple[str, str]]
) -> None:
    words, tags = zip(*records, strict=True)
    line = json.dumps({"tokens": words, "tags": tags})
    path = written(tmp_path, "a.jsonl", f"{line}\n" * 3)
    conversion = convert_corpus(
        str(path), DataConfig(), lambda read: target_format("x.txt", target, read), None,
        single=True, note=lambda _: None,
    )  # fmt: skip
    back = written(tmp_path, "b.txt", "".join(piece.text for piece in conversion.pieces))
    assert found_as(back) == target


@pytest.mark.parametrize(
    ("lines", "broken", "name"),
    [
        (["__label__a some words", "__label__b more of the words"], "some words", "fasttext"),
        (["NUM:dist How far ?", "HUM:desc Who was that ?"], "How far ?", "trec"),
        (["EU/NNP rejects/VBZ", "EU/NNP rejects/VBZ it/PRP"], "EU/NNP rejects it/PRP", "slash"),
        (["(3 (2 The) (2 Rock))", "(3 Rock)"], "The Rock", "trees"),
    ],
)
def test_a_line_in_ten_that_is_broken_does_not_hide_the_format(
    tmp_path: Path, lines: list[str], broken: str, name: str
) -> None:
    path = written(tmp_path, "a.txt", rows(*lines * 3, "", broken, *lines, lines[0]))
    found = recognise_source(Source(str(path), "utf-8"), raw=False)
    assert found.name == name
    assert found.why.endswith(", but for line 8")
    path = written(tmp_path, "b.txt", rows(*lines * 4, broken))  # one in nine
    assert found_as(path) == "text"
    # Where raw text is expected, prose may have such lines; no prose begins with __label__.
    expected = name if name in ("fasttext", "trees") else "text"
    assert found_as(tmp_path / "a.txt", raw=True) == expected


def test_a_folder_in_the_folder_of_a_class_is_named(tmp_path: Path) -> None:
    for place in ("neg/1.txt", "pos/1.txt", "neg/deep/1.txt"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        written(tmp_path, place, "a text")
    with refuses(DataError):
        found_as(tmp_path)


@pytest.mark.parametrize(
    "line", ['{"mots": ["EU", "x"], "etiquettes": ["B-ORG", "O"]}', "@ EU B-ORG"]
)
def test_a_further_format_is_known_by_its_ending_and_its_look_whatever_else_its_lines_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    look = each_line(lambda each: each.startswith(line[:3]), "as it says")
    row = replace(FORMATS["trees"], name="mots", endings=(".mots",), look=look)
    monkeypatch.setitem(FORMATS, "mots", row)
    content = f"{line}\n" * 20
    assert found_as(written(tmp_path, "a.mots", content)) == "mots"
    # By its lines alone it is what it was without the row, or two formats fit alike.
    plain = written(tmp_path, "a.txt", content)
    if line.startswith("@"):
        assert found_as(plain) == "columns"
    else:
        with refuses(DataError, "data.format=jsonl", "data.format=mots"):
            found_as(plain)
    other = written(tmp_path, "b.mots", BC5CDR)
    assert found_as(other) == "columns"


LOOKS = {
    "fasttext": [["__label__a b\r", "", "__label__c __label__d e"]],
    "trec": [["NUM:dist How far ?\r", "", "HUM:ind Who ?"]],
    "slash": [["The/DT dog/NN", "", "barks/VBZ"]],
    "trees": [["(3 (2 The) (3 Rock))\r", "", "(1 one)"]],
    "tsv": [["news\tA b c", "sport\tD e\r", "", ""], ["A b c\tnews\t1"]],
    "csv": [['"Text", Label\r', "a,b"]],
    "columns": [["EU\tB-ORG", "rejects\tO"], ["New York\tB-LOC", "is\tO", "far\tO"],
                ["EU NNP B-ORG"]],
    "text": [
        ["__label__a b", "Who?"], ["the prefix __label__ begins a label"],
        ["__label__ O", "__label__ O"], ["NUM:dist How far ?", "Who ?"], ["Note: who?"],
        ["NOTE: who?", "He said: no"], ["Re:fine x"], ["NUM:dist O", "10:30 O"], ["NUM:dist"],
        ["The dog/NN"], ["<html><body>x</body></html>"], ["and/or", "x"],
        ["(3 (2 The) (3 Rock))", "The Rock"], ["(1) The first.", "(2) The second."],
        ["(2 of 3) a page"], ["(S (NP (DT The)))"], ["(1 O", ") O"],
        ["news\tA b c", "sport\tD e\tf"], ["text,label"], ["The text, the label", "a,b"],
        ["He won the cup again."], ["", ""], [],
    ],
}  # fmt: skip


@pytest.mark.parametrize("format", LOOKS)
def test_a_format_is_told_from_text_and_columns(format: str) -> None:
    for lines in LOOKS[format]:
        assert recognise_lines("a", lines, "a", raw=False).name == format, lines
