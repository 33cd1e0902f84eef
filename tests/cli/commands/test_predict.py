"""`tagkit predict`: what it writes, where, and how it ends."""

import gzip
import json
import math
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import tiny
from html_pages import parsed
from program import Program, small
from says import Says

from tagkit.cli.program.completion import complete_output_format, output_formats
from tagkit.corpus.formats.table import FORMATS, targets
from tagkit.inference.predict.predictor import load


def test_every_format_of_the_table_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {*output_formats()} == {*targets(), "auto", "jsonl", "show"} - {"text"}
    # Also one that is a row of the table, and stands nowhere else.
    monkeypatch.setitem(FORMATS, "toy", replace(FORMATS["slash"], name="toy"))
    assert "toy" in output_formats()
    assert complete_output_format("toy") == ["toy"]


def test_raw_text_is_tagged_as_columns(tagkit: Program, model: Path) -> None:
    ended = tagkit("predict", model, stdin=b"Ada Miller visits Cape Town.\n\nBen likes Rome.\n")
    assert ended.out == (
        "Ada\tB-PER\nMiller\tI-PER\nvisits\tO\nCape\tB-LOC\nTown\tI-LOC\n.\tO\n\n"
        "Ben\tB-PER\nlikes\tO\nRome\tB-LOC\n.\tO\n\n"
    )
    assert ended.err == ""  # what is piped as text, and looks like it, is nothing to be noted
    odd = tagkit("predict", model, stdin=b"lights on\nlights off\n\nfan on\nfan off\n\n" * 20)
    assert odd.err == Says("standard input", "text", "columns", "--input-format")


def test_raw_text_is_tagged_as_json_with_offsets_into_the_text(
    tagkit: Program, model: Path
) -> None:
    text = "  Ada visits Cape Town.  Eve knows “Rome”."
    ended = tagkit("predict", model, "-", "--format", "jsonl", stdin=f"{text}\r\n".encode())
    record = json.loads(ended.out)
    assert (record["document"], record["line"], record["text"]) == ("standard input", 1, text)
    for part in [*record["tokens"], *record["spans"]]:
        assert text[part["start"] : part["end"]] == part["text"]
    assert {"text": "Cape Town", "start": 13, "end": 22, "label": "LOC"} in record["spans"]
    assert set(record["tokens"][0]) == {"text", "start", "end", "tag"}


@pytest.mark.parametrize(
    ("source", "name", "begins"),
    [
        ("conllu", "out.jsonl", '{"document": '),
        ("conllu", "out.iob", "1\tAda" + "\t_" * 8 + "\tB-PER"),
        ("text", "OUT.CONLLU", "# text = Ada left\n1\tAda"),
        ("text", "out.html", "<!DOCTYPE html>"),
        ("conllu", "out.conllu", "1\tAda"),
        ("text", "out.txt", "Ada\tB-PER"),
        ("text", "out.csv", "Ada\tB-PER"),  # which has no place for tags
    ],
)
def test_the_name_of_the_output_tells_its_format(
    tagkit: Program, model: Path, tmp_path: Path, source: str, name: str, begins: str
) -> None:
    rows = "".join(f"{i}\t{w}" + "\t_" * 8 + "\n" for i, w in enumerate(("Ada", "left"), 1))
    content = f"{rows}\n" if source == "conllu" else "Ada left\n"
    for each in ("a", "b"):
        (tmp_path / each).write_text(content, encoding="utf-8")
    inputs, place = (tmp_path / "a", tmp_path / "b"), tmp_path / name
    written = tagkit("predict", model, *inputs, "-o", place)
    assert place.read_text("utf-8").startswith(begins)
    assert written.err.count("read as") == 1  # one for inputs that are alike
    tagkit("predict", model, *inputs, "-o", place, "--format", "slash")
    assert place.read_text("utf-8") == "Ada/B-PER left/O\n" * 2


def test_the_name_of_a_pair_of_files_is_that_of_brat(
    tagkit: Program, model: Path, intents: Path, tmp_path: Path
) -> None:
    assert tagkit("predict", model, "-", "-o", tmp_path / "a.ann", stdin=b"Ada left\n").code == 0
    assert (tmp_path / "a.ann").read_text() == "T1\tPER 0 3\tAda\n"
    assert (tmp_path / "a.txt").read_text() == "Ada left"
    ended = tagkit("predict", intents / "model", "-o", tmp_path / "b.ann", stdin=b"Ada\n")
    assert (ended.code, ended.err) == (1, Says("classifies", "brat"))


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A folder of texts, one of them in a folder of its own."""
    folder = tmp_path / "texts"
    (folder / "more").mkdir(parents=True)
    (folder / "a.txt").write_text("Ada left.\nBen left.\n", encoding="utf-8")
    (folder / "more" / "b.txt").write_text("Rome\n", encoding="utf-8")
    (folder / ".hidden").write_text("x\n", encoding="utf-8")
    return folder


A, B = "Ada\tB-PER\nleft\tO\n.\tO\n\nBen\tB-PER\nleft\tO\n.\tO\n\n", "Rome\tB-LOC\n\n"


@pytest.mark.parametrize(
    ("format", "names", "expected"),
    [
        ("columns", r"^-DOCSTART-\tO", f"-DOCSTART-\tO\n\n{A}-DOCSTART-\tO\n\n{B}"),
        ("conllu", r"^# newdoc id = (\S+)", ""),
        ("jsonl", r'"id": "([^"]+)"', ""),
        ("jsonl-spans", r'"id": "([^"]+)"', ""),
    ],
)
def test_a_folder_of_texts_is_one_file_with_the_marks_of_documents(
    tagkit: Program, model: Path, texts: Path, format: str, names: str, expected: str
) -> None:
    ended = tagkit("predict", model, texts, "--format", format)
    assert expected in ("", ended.out)
    found = re.findall(names, ended.out, re.MULTILINE)
    assert [*dict.fromkeys(found)] in (["a.txt", "more/b.txt"], ["-DOCSTART-\tO"])
    assert ended.err.splitlines() == [Says("a.txt", "text")]  # and not as classes


@pytest.mark.parametrize("output", ["new/", "there"])
def test_a_folder_gets_a_file_for_each_text_with_its_name(
    tagkit: Program, model: Path, texts: Path, output: str
) -> None:
    place = texts.parent / output.rstrip("/")
    if output == "there":
        place.mkdir()
    (texts.parent / "c.txt").write_text("Rome\n", encoding="utf-8")
    arguments = ["predict", model, texts, texts.parent / "c.txt", "-o", f"{texts.parent}/{output}"]
    for workers in ("1", "2"):
        ended = tagkit(*arguments, "--workers", workers)
        assert (ended.code, ended.out, ended.err.count("read as")) == (0, "", 1)
        found = {each.name: each.read_text("utf-8") for each in place.rglob("*.*")}
        assert found == {"a.txt": A, "b.txt": B, "c.txt": B}
        assert (place / "more" / "b.txt").exists()


@pytest.mark.parametrize(
    ("inputs", "output", "message"),
    [
        (("texts",), "texts", Says("a.txt", "input", "folder")),
        (("texts/a.txt", "other/a.txt"), "new/", Says("new/a.txt", "other/a.txt")),
        (("-",), "new/", Says("standard input", "name")),
    ],
)
def test_a_folder_in_which_something_would_be_lost_is_refused(
    tagkit: Program, model: Path, texts: Path, monkeypatch: pytest.MonkeyPatch,
    inputs: tuple[str, ...], output: str, message: Says,
) -> None:  # fmt: skip
    (texts.parent / "other").mkdir()
    (texts.parent / "other" / "a.txt").write_text("Ada\n", encoding="utf-8")
    model = model.absolute()
    monkeypatch.chdir(texts.parent)
    ended = tagkit("predict", model, *inputs, "-o", output)
    assert (ended.code, ended.err) == (1, message)
    assert Path("texts/a.txt").read_text("utf-8") == "Ada left.\nBen left.\n"
    assert not [*Path().glob("new/*")]


def test_the_best_taggings_are_written_beside_the_answer(
    tagkit: Program, model: Path, intents: Path
) -> None:
    text = "Ada visits Cape Town. Ben likes Rome."
    ended = tagkit("predict", model, "-", "--n-best", "4", "--format", "jsonl", stdin=text.encode())
    record = json.loads(ended.out)
    found = load(model).n_best(text, 4)
    assert [each["tags"] for each in record["n_best"]] == [list(each.tags) for each in found]
    assert record["n_best"][0]["tags"] == [token["tag"] for token in record["tokens"]]
    assert record["n_best"][0]["spans"] == record["spans"]
    for each, expected in zip(record["n_best"], found, strict=True):
        assert each["log_probability"] == pytest.approx(math.log(expected.probability), abs=1e-5)
        assert each["probability"] == pytest.approx(expected.probability, abs=1e-5)
    long = tagkit("predict", model, "-", "--n-best", "2", "--format", "jsonl",
                  stdin=b"never seen words " * 700)  # fmt: skip
    for each in json.loads(long.out)["n_best"]:
        assert -math.inf < each["log_probability"] < 0
    for arguments, said in (
        ([model, "-", "--n-best", "2"], Says("--n-best", "--format jsonl")),
        ([intents / "model", "-", "--n-best", "2", "--format", "jsonl"], Says("--n-best", "tag")),
    ):
        refused = tagkit("predict", *arguments, stdin=b"Ada\n")
        assert (refused.code, refused.err) == (1, said)


@pytest.mark.parametrize("options", [["columns"], ["conllu"], ["jsonl"], ["jsonl-tokens"]])
@pytest.mark.parametrize("source", ["text", "columns", "conllu"])
def test_the_least_sure_answer_comes_first(
    tagkit: Program, model: Path, tmp_path: Path, source: str, options: list[str]
) -> None:
    texts = ["Ada visits Rome .", "zzz qqq Xyz", "Ben likes Oslo .", "Town in zzz"]
    path = tmp_path / "in"
    rows = {
        "text": lambda words: f"{' '.join(words)}\n\n",
        "columns": lambda words: "".join(f"{word}\tX\n" for word in words) + "\n",
        "conllu": lambda words: "".join(
            f"{at}\t{word}" + 8 * "\t_" + "\n" for at, word in enumerate(words, 1)
        ) + "\n",
    }  # fmt: skip
    path.write_text("".join(rows[source](text.split()) for text in texts), encoding="utf-8")
    tagged = load(model).predict([text.split() for text in texts], confidence=True)
    sureness = [min(token.probability or 0 for token in each.tokens) for each in tagged]
    expected = [text for _, text in sorted(zip(sureness, texts, strict=True))]
    assert expected != texts
    arguments = ["predict", model, path, "--order", "uncertain", "-q", "--format", *options]
    ended, usual = tagkit(*arguments), tagkit(*arguments[:3], *arguments[5:])
    assert "probability" not in ended.out
    places = [ended.out.index(text.split()[0]) for text in expected]
    assert places == sorted(places)
    assert sorted(filter(None, ended.out.splitlines())) == sorted(
        filter(None, usual.out.splitlines())
    )
    assert tagkit(*arguments, "--workers", "2").out == ended.out


def test_the_least_sure_class_comes_first(tagkit: Program, intents: Path) -> None:
    arguments = ["predict", intents / "model", intents / "test.tsv", "-q", "--confidence"]
    ended = tagkit(*arguments, "--format", "jsonl", "--order", "uncertain")
    sureness = [max(json.loads(line)["probabilities"].values()) for line in ended.out.splitlines()]
    assert sureness == sorted(sureness)
    assert sureness[0] < sureness[-1]
    table = tagkit(*arguments, "--format", "csv", "--order", "uncertain").out.splitlines()
    usual = tagkit(*arguments, "--format", "csv").out.splitlines()
    assert table[0] == usual[0]
    assert sorted(table) == sorted(usual)


def test_confidence_adds_probabilities(tagkit: Program, model: Path) -> None:
    sentence = b"Ada visits Rome ."
    record = json.loads(
        tagkit("predict", model, "--confidence", "--format", "jsonl", stdin=sentence).out
    )
    assert [span["label"] for span in record["spans"]] == ["PER", "LOC"]
    for part in [*record["tokens"], *record["spans"]]:
        assert 0.5 < part["probability"] <= 1
    columns = tagkit("predict", model, "--confidence", stdin=sentence).out.split("\n")
    assert re.fullmatch(r"Ada\tB-PER\t0\.\d{4}|Ada\tB-PER\t1\.0000", columns[0])


def test_columns_are_kept_and_blank_lines_and_comments_stay_where_they_were(
    tagkit: Program, model: Path
) -> None:
    lines = [
        b"-DOCSTART- -X-", b"", b"# a comment of many words", b"Ada N", b"visits V", b"Rome N",
        b" ", b"", b"Ben N", b"leaves V",
    ]  # fmt: skip
    expected = [
        "-DOCSTART- -X- O", "", "# a comment of many words", "Ada N B-PER", "visits V O",
        "Rome N B-LOC", " ", "", "Ben N B-PER", "leaves V O",
    ]  # fmt: skip
    Path("in.conll").write_bytes(b"\n".join(lines))
    ended = tagkit("predict", model, "in.conll", "--input-format", "columns")
    assert ended.out == "\n".join(expected) + "\n"
    Path("in.conll").write_bytes(b"\r\n".join(lines))
    ended = tagkit("predict", model, "in.conll", "--input-format", "columns")
    assert ended.out == "\r\n".join(expected) + "\n"


def test_conllu_gets_an_eleventh_column_where_columns_are_asked_for(
    tagkit: Program, model: Path
) -> None:
    rest = "\t_" * 8
    text = f"# text = Ada\n1-2\tAda's{rest}\n1\tAda{rest}\n2\tvisits{rest}\n2.1\tx{rest}\n\n"
    ended = tagkit("predict", model, "--format", "columns", stdin=text.encode())
    assert ended.out == (
        f"# text = Ada\n1-2\tAda's{rest}\t_\n1\tAda{rest}\tB-PER\n2\tvisits{rest}\tO\n"
        f"2.1\tx{rest}\t_\n\n"
    )


def test_several_files_are_tagged_in_order_into_one_output_file(
    tagkit: Program, model: Path
) -> None:
    Path("a.txt").write_text("Ada visits Rome.\n", encoding="utf-8")
    Path("b.txt").write_text("Ben visits Lima.\n", encoding="utf-8")
    ended = tagkit("predict", model, "a.txt", "b.txt", "-o", "out.jsonl", "--format", "jsonl")
    assert (ended.code, ended.out) == (0, "")
    records = [json.loads(line) for line in Path("out.jsonl").read_text("utf-8").splitlines()]
    assert [record["document"] for record in records] == ["a.txt", "b.txt"]
    assert [record["spans"][-1]["text"] for record in records] == ["Rome", "Lima"]


def test_an_output_file_is_left_alone_when_an_input_is_refused(
    tagkit: Program, model: Path
) -> None:
    Path("kept.txt").write_text("old", encoding="utf-8")
    Path("good.txt").write_text("Ada visits Rome.\n", encoding="utf-8")
    ended = tagkit("predict", model, "good.txt", "missing.txt", "-o", "kept.txt")
    assert ended.code == 1
    kept = Path("kept.txt.partial")
    assert Says("missing.txt", kept, "5", "kept.txt") == ended.err
    assert kept.read_text("utf-8").startswith("Ada\tB-PER\n")
    kept.unlink()
    assert Path("kept.txt").read_text("utf-8") == "old"
    assert not [path for path in Path().iterdir() if path.name.startswith(".kept")]


@pytest.mark.parametrize(
    ("line", "sentences"),
    [
        (b"Ada visits Rome .\n", 2),
        (b"-DOCSTART- O\n\nAda O\nvisits O\nRome O\n\nBen O\n\n", 4),
        (b'{"text": "Ada visits Rome."}\n', 2),
    ],
)
@pytest.mark.parametrize("damage", ["byte", "gzip"])
def test_what_was_read_before_damage_is_predicted_in_any_format(
    damage: str, line: bytes, sentences: int, tagkit: Program, model: Path
) -> None:
    content = 2 * line + b"M\xfcller O\n" if damage == "byte" else 2 * line + line[:9]
    if damage == "gzip":
        content = gzip.compress(content)[:-8]  # without the check of its length
    Path("damaged").write_bytes(content)
    kept = Path("out.partial")
    kept.unlink(missing_ok=True)
    ended = tagkit("predict", model, "damaged", "--format", "jsonl", "-o", "out", "-q")
    number = 2 * line.count(b"\n") + 1
    problem = f":{number}: byte 0xfc at {2 * len(line) + 1} is not utf-8" if damage == "byte" else (
        ": the gzip file is cut short"
    )  # fmt: skip
    assert ended.code == 1
    assert ended.err.startswith(f"error: damaged{problem}")
    assert len(kept.read_text("utf-8").splitlines()) == sentences


@pytest.mark.parametrize("stdin", [b"", b"\n", b"\n \n\t\n", b"\xef\xbb\xbf"])
def test_an_empty_input_ends_well(tagkit: Program, model: Path, stdin: bytes) -> None:
    for form in ("columns", "jsonl"):
        ended = tagkit("predict", model, "--format", form, stdin=stdin)
        assert (ended.code, ended.out.strip()) == (0, "")


def test_bytes_of_another_encoding_are_refused_with_their_place(
    tagkit: Program, model: Path
) -> None:
    ended = tagkit("predict", model, "--input-format", "text", stdin=b"Ada\nBen \xe9 Rome\n")
    assert ended.code == 1
    assert "error: standard input:2: byte 0xe9 at 8 is not utf-8" in ended.err
    again = tagkit("predict", model, "--encoding", "latin-1", stdin=b"Ada visits Rom\xe9\n")
    assert "Romé\t" in again.out
    unknown = tagkit("predict", model, "--encoding", "utf-9", stdin=b"")
    assert unknown.err == (Says("--encoding", '"utf-9"', "'utf-8'"))


def test_a_word_of_10_000_characters_is_tagged(tagkit: Program, model: Path) -> None:
    word = "x" * 10_000
    ended = tagkit("predict", model, stdin=f"Ada likes {word} and Rome .".encode())
    tagged = [line.split("\t") for line in ended.out.splitlines() if line]
    assert [token for token, _ in tagged] == ["Ada", "likes", word, "and", "Rome", "."]


@pytest.mark.slow
def test_a_sentence_of_100_000_tokens_is_tagged_whole(tagkit: Program, model: Path) -> None:
    words = ["Ada", "likes", "Rome", "and"] * 25_000
    ended = tagkit("predict", model, "--confidence", stdin=" ".join(words).encode())
    tagged = [line.split("\t") for line in ended.out.splitlines() if line]
    assert [token for token, *_ in tagged] == words
    assert all(0 <= float(probability) <= 1 for *_, probability in tagged)


@pytest.mark.slow
def test_output_begins_before_the_input_ends(model: Path) -> None:
    program = [sys.executable, "-c", "from tagkit.cli.main import main; main()", "predict",
               str(model), "--threads=1", "--format=jsonl"]  # fmt: skip
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as running:
        assert running.stdin
        assert running.stdout
        for text in ("Ada visits Rome.", "Ben likes Lima."):
            running.stdin.write(f"{text}\n".encode())
            running.stdin.flush()
            # Would wait for ever, were the answer held back until the input ends.
            assert json.loads(running.stdout.readline())["text"] == text
        running.stdin.close()
        assert running.stdout.read() == b""
        assert running.wait(timeout=60) == 0


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("train.conll", Says("train.conll", "another")),
        (
            "linked.conll",
            Says("linked.conll", "train.conll"),
        ),
        (
            "model/tagged.conll",
            Says("tagged.conll"),
        ),
        (
            "model/best/metadata.json",
            Says("metadata.json"),
        ),
        ("", Says("written")),
        ("no/x", Says("written")),
        ("train.conll/x", Says("train.conll", "directory")),
    ],
)
def test_an_output_that_would_be_a_loss_is_refused_before_the_model_is_loaded(
    tagkit: Program, model: Path, monkeypatch: pytest.MonkeyPatch, output: str, message: str
) -> None:
    Path("folder").mkdir(exist_ok=True)
    if not Path("linked.conll").exists():
        os.link("train.conll", "linked.conll")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    monkeypatch.setattr(
        "tagkit.inference.predict.predictor.load", lambda *_: pytest.fail("it is loaded")
    )
    ended = tagkit("predict", model, "train.conll", "-o", output)
    assert (ended.code, ended.out) == (1, "")
    assert message == ended.err
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_predict_replaces_the_file_that_o_names_and_keeps_its_mode(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    path, link = tmp_path / "out.conll", tmp_path / "link.conll"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o600)
    link.symlink_to(path)
    assert tagkit("predict", model, "-o", link, stdin=b"Ada\n").code == 0
    assert path.read_text("utf-8") == "Ada\tB-PER\n\n"
    assert (path.stat().st_mode & 0o777, link.is_symlink()) == (0o600, True)
    assert tagkit("predict", model, "-o", "-", stdin=b"Ada\n").out == "Ada\tB-PER\n\n"
    assert not Path("-").exists()
    umask = os.umask(0o027)
    try:
        assert tagkit("predict", model, "-o", tmp_path / "new", stdin=b"Ada\n").code == 0
    finally:
        os.umask(umask)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


def test_a_document_of_a_name_that_is_no_text_is_predicted(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.txt")
    try:
        path.write_text("Ada\n", encoding="utf-8")
    except OSError as error:
        pytest.skip(f"the file system takes no such name: {error}")
    ended = tagkit("predict", model, path, "--format", "jsonl")
    assert ended.code == 0
    assert json.loads(ended.out)["document"] == f"{tmp_path}/caf\ufffd.txt"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_an_empty_folder_is_refused(tagkit: Program, model: Path) -> None:
    Path("folder").mkdir(exist_ok=True)
    ended = tagkit("predict", model, "folder")
    assert ended.err == (Says("seq.in", "several"))


def test_a_long_sentence_is_tagged_in_windows_and_that_is_said_once(
    tagkit: Program, model: Path
) -> None:
    text = " ".join(["Ada Miller visits Cape Town"] * 10) + "\n"
    options = ["--input-format", "text", "--max-length", "20", "--format", "jsonl"]
    ended = tagkit("predict", model, *options, stdin=(text * 2).encode())
    records = [json.loads(line) for line in ended.out.splitlines()]
    assert [len(record["tokens"]) for record in records] == [50, 50]
    for record in records:
        for part in record["tokens"] + record["spans"]:
            assert record["text"][part["start"] : part["end"]] == part["text"]
    assert ended.err == (
        "standard input: a sentence has 50 words; those over 20 are tagged in overlapping windows "
        "(--max-length)\n"
    )


def test_offsets_lead_into_the_file_whatever_its_line_ends(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "raw.txt"
    text = "Ada visits cafe\u0301.\r\n\r\n🧑🏽 Rome\u200b \u2028x\n\nBen\x85left.\r\n👩\u200d💻"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    ended = tagkit("predict", model, path, "--input-format", "text", "--format", "jsonl")
    count = 0
    for line in ended.out.split("\n")[:-1]:
        record = json.loads(line)
        for part in record["tokens"] + record["spans"]:
            start = record["offset"] + part["start"]
            assert text[start : start + len(part["text"])] == part["text"]
            count += len(part["text"].strip())
    assert count >= sum(not char.isspace() for char in text)


def test_predict_of_a_classifier_writes_a_line_for_each_line(
    tagkit: Program, intents: Path
) -> None:
    stdin = b"hello there , Ada .\n\ngoodbye now , Ben .\n"
    ended = tagkit("predict", intents / "model", stdin=stdin)
    assert (ended.code, ended.out) == (0, "greet\n\nleave\n")
    top = tagkit("predict", intents / "model", "--top", "2", stdin=stdin).out.split("\n")
    assert re.fullmatch(r"greet\t0\.\d{4}\t(leave|order)\t0\.\d{4}", top[0])
    assert tagkit("predict", intents / "model", "--threshold", "1", stdin=stdin).out == "\n" * 3
    rows = tagkit("predict", intents / "model", "--format", "tsv", stdin=stdin).out
    assert rows == "label\ttext\ngreet\thello there , Ada .\nleave\tgoodbye now , Ben .\n"
    record = json.loads(
        tagkit("predict", intents / "model", "--format", "jsonl", "--confidence", stdin=stdin)
        .out.split("\n")[1]
    )  # fmt: skip
    assert (record["line"], record["offset"], record["label"]) == (3, 21, "leave")
    assert sum(record["probabilities"].values()) == pytest.approx(1, abs=1e-4)
    assert sum(t["attention"] for t in record["tokens"]) == pytest.approx(1, abs=1e-4)


def test_a_text_is_classified_whole_whatever_its_length(tagkit: Program, intents: Path) -> None:
    text = b"hello there , Ada . " * 2000
    assert tagkit("predict", intents / "model", stdin=text).out == "greet\n"


def test_classes_of_a_column_file_are_a_line_a_sentence(
    tagkit: Program, intents: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a.conll"
    path.write_text("hello\tO\nthere\tO\n\ngoodbye\tO\nnow\tO\n\n", encoding="utf-8")
    assert tagkit("predict", intents / "model", path).out == "greet\nleave\n"


def test_conllu_comes_back_with_the_predicted_column_filled(tagkit: Program, model: Path) -> None:
    rest = "\t_" * 7
    lines = [
        "# sent_id = 1", "# text = Ada's Rome\r", f"1-2\tAda's{rest}\tA=1", f"1\tAda{rest}\tB=2\r",
        f"2\tvisits{rest}\tNER=B-X|C=3", f"2.1\tx{rest}\t_", f"3\tRome{rest}\t_", "", " ",
        "# between", "", f"1\tBen{rest}\tNER=B-PER|D=4",
    ]  # fmt: skip
    expected = [*lines]
    expected[3] = f"1\tAda{rest}\tB=2|NER=B-PER\r"
    expected[4] = f"2\tvisits{rest}\tC=3"
    expected[6] = f"3\tRome{rest}\tNER=B-LOC"
    stdin = "\n".join(lines).encode()
    assert tagkit("predict", model, stdin=stdin).out == "\n".join(expected)
    sure = tagkit("predict", model, "--confidence", stdin=stdin).out.split("\n")
    assert re.fullmatch(r"1\tAda(\t_){7}\tB=2\|NER=B-PER\|NERProb=[01]\.\d{4}\r", sure[3])
    assert re.fullmatch(r"2\tvisits(\t_){7}\tC=3\|NERProb=[01]\.\d{4}", sure[4])
    assert [line.count("\t") for line in sure] == [line.count("\t") for line in lines]


def test_sentences_of_two_files_stay_apart(tagkit: Program, model: Path) -> None:
    for name, text in (("a.conll", "Ada\tN\nvisits\tV"), ("b.conll", "Rome\tN\n\n")):
        Path(name).write_text(text, encoding="utf-8")
    both = tagkit("predict", model, "a.conll", "b.conll", "--input-format", "columns").out
    assert both == "Ada\tN\tB-PER\nvisits\tV\tO\n\nRome\tN\tB-LOC\n\n"
    row = "1\tRome" + "\t_" * 8
    Path("c.conllu").write_bytes(f"{row}\r\n\r\n".encode())
    Path("d.conllu").write_bytes(row.encode())
    filled = f"{row[:-1]}NER=B-LOC"
    found = tagkit("predict", model, "d.conllu", "c.conllu", "d.conllu").out
    assert found == f"{filled}\n\n{filled}\r\n\r\n{filled}"


@pytest.mark.parametrize(
    ("format", "expected"),
    [
        ("slash", "Ada/B-PER visits/O Rome/B-LOC ./O\nBen/B-PER left/O ./O\n"),
        ("jsonl-tokens", '{"tokens": ["Ada", "visits", "Rome", "."], "tags": ["B-PER", "O", '
         '"B-LOC", "O"]}\n{"tokens": ["Ben", "left", "."], "tags": ["B-PER", "O", "O"]}\n'),
        ("conllu", "# text = Ada visits Rome. Ben left.\n"),
    ],
)  # fmt: skip
def test_texts_are_written_in_the_formats_of_corpora(
    tagkit: Program, model: Path, format: str, expected: str
) -> None:
    stdin = b"Ada visits Rome. Ben left.\n"
    ended = tagkit("predict", model, "--format", format, stdin=stdin)
    if format == "conllu":
        expected = (
            "# text = Ada visits Rome.\n1\tAda\t_\t_\t_\t_\t_\t_\t_\tNER=B-PER\n"
            "2\tvisits\t_\t_\t_\t_\t_\t_\t_\t_\n"
            "3\tRome\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No|NER=B-LOC\n"
            "4\t.\t_\t_\t_\t_\t_\t_\t_\tSpacesAfter=\\s\n\n"
            "# text = Ben left.\n1\tBen\t_\t_\t_\t_\t_\t_\t_\tNER=B-PER\n"
            "2\tleft\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n3\t.\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
        )
    assert (ended.code, ended.out) == (0, expected)


def test_a_folder_or_a_pair_of_files_is_written(tagkit: Program, model: Path) -> None:
    stdin = b"Ada visits Rome.\nBen left.\n"
    ended = tagkit("predict", model, "--format", "brat", "-o", "brat", stdin=stdin)
    assert (ended.code, ended.out) == (0, "")
    found = {path.name: path.read_text("utf-8") for path in Path("brat").iterdir()}
    assert found == {
        "00001.txt": "Ada visits Rome.", "00001.ann": "T1\tPER 0 3\tAda\nT2\tLOC 11 15\tRome\n",
        "00002.txt": "Ben left.", "00002.ann": "T1\tPER 0 3\tBen\n",
    }  # fmt: skip
    ended = tagkit("predict", model, "--format", "brat", "-o", "brat", stdin=stdin)
    assert (ended.code, ended.err.split("\n")[0]) == (
        1, Says("already"),
    )  # fmt: skip
    tagkit("predict", model, "--format", "brat", "-o", "one.ann", stdin=stdin)
    assert Path("one.txt").read_text("utf-8") == "Ada visits Rome.\nBen left.\n"
    assert Path("one.ann").read_text("utf-8").endswith("T3\tPER 17 20\tBen\n")
    ended = tagkit("predict", model, "one.txt", "--format", "brat", "-o", "one.ann")
    assert ended.code == 1
    assert "one.txt" in ended.err


def test_a_text_beside_the_annotation_that_is_named_is_not_lost(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    notes, ann = tmp_path / "notes.txt", tmp_path / "notes.ann"
    record = tmp_path / "j.jsonl"
    notes.write_text("My own notes", encoding="utf-8")
    record.write_text('{"text": "Ada left", "spans": []}\n', encoding="utf-8")
    options = ["--format", "brat", "-o", ann, "--quiet"]
    for file in (record, notes):  # before the model is loaded
        ended = tagkit("predict", tmp_path / "no-model", file, *options)
        assert (ended.code, ended.err) == (1, Says(f"error: {notes}: "))
    ann.write_text("T1\tX 0 2\tMy\n", encoding="utf-8")
    ended = tagkit("predict", model, record, *options)
    assert (ended.code, ended.err) == (1, Says(f"error: {notes}: "))
    assert (notes.read_text("utf-8"), ann.read_text("utf-8")) == ("My own notes", "T1\tX 0 2\tMy\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["j.jsonl", "notes.ann", "notes.txt"]
    notes.write_text("Ada left", encoding="utf-8")
    assert tagkit("predict", model, record, *options).code == 0
    assert ann.read_text("utf-8") == "T1\tPER 0 3\tAda\n"


def test_each_text_of_a_folder_is_one_document_for_brat_with_its_name(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    texts, out = tmp_path / "texts", tmp_path / "out"
    texts.mkdir()
    (texts / "a.txt").write_text("Ada visits Rome.\nBen left.\n", encoding="utf-8")
    (texts / "b.txt").write_text("Ben", encoding="utf-8")
    ended = tagkit("predict", model, texts, "--input-format", "brat", "--format", "brat", "-o", out)
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert {path.name: path.read_text("utf-8") for path in out.iterdir()} == {
        "a.txt": "Ada visits Rome.\nBen left.\n",
        "a.ann": "T1\tPER 0 3\tAda\nT2\tLOC 11 15\tRome\nT3\tPER 17 20\tBen\n",
        "b.txt": "Ben", "b.ann": "T1\tPER 0 3\tBen\n",
    }  # fmt: skip
    (texts / "b.ann").write_text("", encoding="utf-8")  # one is enough to recognise the format
    shown = tagkit("predict", model, texts, "--format", "jsonl")
    assert [json.loads(line)["text"] for line in shown.out.splitlines()] == [
        "Ada visits Rome.\nBen left.\n", "Ben",
    ]  # fmt: skip
    assert shown.err == (Says(texts, "--input-format"))


def test_ids_and_metadata_of_records_come_back(tagkit: Program, model: Path) -> None:
    record = {"id": 7, "text": "Ada visits Rome .", "meta": {"page": 3}, "line": "x", "spans": []}
    stdin = json.dumps(record).encode()
    found = json.loads(tagkit("predict", model, "--format", "jsonl", stdin=stdin).out)
    assert (found["id"], found["meta"], found["line"]) == (7, {"page": 3}, 1)
    for format in ("jsonl-spans", "jsonl-tokens"):
        found = json.loads(tagkit("predict", model, "--format", format, stdin=stdin).out)
        assert (found["id"], found["meta"], found["line"]) == (7, {"page": 3}, "x")
    out = tagkit("predict", model, "--format", "conllu", stdin=stdin).out
    assert out.startswith("# sent_id = 7\n# text = Ada visits Rome .\n1\tAda")


def test_json_of_conllu_has_the_text_of_its_comment_and_its_id(
    tagkit: Program, model: Path
) -> None:
    rest = "\t_" * 7
    lines = [
        "# sent_id = a-1", "# text = Ada's  Rome", f"1-2\tAda's{rest}\t_", f"1\tAda{rest}\t_",
        f"2\t's{rest}\t_", f"3\tRome{rest}\t_", "",
        "# text = it does not fit", f"1\tBen{rest}\tSpaceAfter=No", f"2\t.{rest}\t_", "",
        f"1-9\tx{rest}\t_", f"1\tOslo{rest}\t_", f"2\t!{rest}\t_", "",
    ]  # fmt: skip
    ended = tagkit("predict", model, "--format", "jsonl", stdin="\n".join(lines).encode())
    first, second, third = map(json.loads, ended.out.splitlines())
    assert (first["id"], first["text"], first["line"]) == ("a-1", "Ada's  Rome", 4)
    assert {"text": "Rome", "start": 7, "end": 11, "label": "LOC"} in first["spans"]
    assert (second.get("id"), second["text"]) == (None, "Ben.")
    # A range that is none: the words are tagged all the same.
    assert third["text"] == "Oslo !"


def test_the_column_of_texts_is_that_which_is_named(
    tagkit: Program, intents: Path, tmp_path: Path
) -> None:
    table = tmp_path / "t.csv"
    table.write_text("id;text;body\n1;bring me tea;hello there\n2;hi you;goodbye now\n", "utf-8")
    answers = {"text": "order\ngreet\n", "body": "greet\nleave\n", "-1": "greet\nleave\n"}
    for name, answer in answers.items():
        ended = tagkit("predict", intents / "model", table, "--text-column", name)
        assert (ended.code, ended.out) == (0, answer)
    ended = tagkit("predict", intents / "model", table, "--text-column", "mail")
    assert ended.code == 1
    assert Says("t.csv:1", "--text-column", "'mail'", "'id, text, body'") == ended.err


def test_the_column_of_tokens_is_that_which_is_named(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    columns = tmp_path / "t.conll"
    columns.write_text("1\tAda\n2\tvisits\n3\tRome\n4\t.\n\n", "utf-8")
    for number in ("1", "-1"):
        ended = tagkit("predict", model, columns, "--token-column", number)
        assert ended.out == "1\tAda\tB-PER\n2\tvisits\tO\n3\tRome\tB-LOC\n4\t.\tO\n\n"


@pytest.mark.parametrize("flag", ["--text-column", "--token-column"])
def test_a_column_that_an_input_does_not_have_is_refused(
    tagkit: Program, intents: Path, flag: str
) -> None:
    ended = tagkit("predict", intents / "model", flag, "1", stdin=b"hello there\nhi\n")
    what = "TSV and CSV" if flag == "--text-column" else "column files and CoNLL-U"
    assert (ended.code, ended.out) == (1, "")
    assert Says(flag, what) == ended.err


def test_a_table_of_classes_keeps_the_columns_of_its_input(tagkit: Program, intents: Path) -> None:
    stdin = b'id,text,label\n7,"hello there, Ada .",x\n8,goodbye now,y\n'
    for format, expected in (
        ("csv", 'label,id,text\ngreet,7,"hello there, Ada ."\nleave,8,goodbye now\n'),
        ("tsv", "label\tid\ttext\ngreet\t7\thello there, Ada .\nleave\t8\tgoodbye now\n"),
        ("fasttext", "__label__greet hello there, Ada .\n__label__leave goodbye now\n"),
    ):
        ended = tagkit("predict", intents / "model", "--format", format, "--input-format", "csv",
                       stdin=stdin)  # fmt: skip
        assert (ended.code, ended.out) == (0, expected)
    ended = tagkit("predict", intents / "model", "--format", "trec", stdin=b"hello there\n")
    assert ended.code == 1
    assert ended.err == Says("trec", "'greet'", "--format columns, jsonl")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--threshold", "0.5"], Says("--threshold")),
        (["--format", "slash", "--confidence"], Says("--confidence", "--format")),
        (["--format", "brat", "-o", "out.ann.gz"], Says("out.ann.gz", "packed")),
    ],
)
def test_a_tagger_is_not_asked_for_classes(
    tagkit: Program, model: Path, arguments: list[str], message: str
) -> None:
    ended = tagkit("predict", model, *arguments, stdin=b"Ada visits Rome .\n")
    assert (ended.code, ended.out, ended.err) == (1, "", message)


@pytest.mark.slow
def test_a_model_of_both_writes_the_class_behind_each_tag(tagkit: Program, tmp_path: Path) -> None:
    train, dev, test = tiny.joint(tmp_path).values()
    ended = tagkit(
        "train", "--task", "both", "--train", train, "--dev", dev, "--test", test,
        "-o", tmp_path / "model", *small("train.max_epochs=8"),
    )  # fmt: skip
    assert ended.code == 0
    assert (
        "epoch      loss  dev loss  dev mean  dev F1    dev acc.        lr  tokens/s\n" in ended.err
    )
    rows = re.findall(r"^ +\d+ +[\d.]+ +[\d.]+ +([\d.]+) +([\d.]+) +([\d.]+) ", ended.err, re.M)
    assert len(rows) == 8
    for mean, *halves in rows:
        assert float(mean) == pytest.approx(sum(map(float, halves)) / 2, abs=0.011)
    assert (
        "model  BiLSTM with CRF, CRF of word features, scaled-attention pooling and bag of words, "
        in ended.err
    )
    assert re.search(r"whole texts right, tags and class: [01]\.\d{4}\n", ended.err)
    stdin = b"Ada visits Cape Town .\n"
    columns = tagkit("predict", tmp_path / "model", stdin=stdin).out.split("\n")
    assert columns[0] == "Ada\tB-PER\tlong"
    record = json.loads(tagkit("predict", tmp_path / "model", "--format", "jsonl", stdin=stdin).out)
    assert record["label"] == "long"
    assert [span["label"] for span in record["spans"]] == ["PER", "LOC"]
    path = tmp_path / "a.conll"
    path.write_text("Ada O\nvisits O\nRome O\n", encoding="utf-8")
    kept = tagkit("predict", tmp_path / "model", path, "--confidence").out.split("\n")
    assert re.fullmatch(r"Ada O B-PER \d\.\d{4} short \d\.\d{4}", kept[0])
    report = tagkit("eval", tmp_path / "model", test)
    assert report.code == 0
    assert re.search(r"^whole texts right, tags and class: [01]\.\d{4}$", report.out, re.M)
    info = tagkit("info", tmp_path / "model").out
    assert re.search(
        r"^test F1 +[\d.]+ \(conlleval-compatible\)\ntest accuracy [\d.]+ \(cl", info, re.M
    )


@pytest.mark.slow
def test_several_workers_and_fewer_bits_give_the_same_tags(tagkit: Program, model: Path) -> None:
    stdin = b"Ada visits Cape Town .\nEve leaves Rome .\n" * 30
    expected = tagkit("predict", model, stdin=stdin)
    for options in (["--workers", "2"], ["--precision", "bf16"], ["--precision", "int8"]):
        ended = tagkit("predict", model, *options, stdin=stdin)
        assert (ended.code, ended.out) == (0, expected.out)


@pytest.mark.slow
def test_labels_are_shown_in_the_text(tagkit: Program, model: Path) -> None:
    text = b"Ada Miller visits New York.\n\nBen leaves \x1b[31mOslo.\n"
    ended = tagkit("predict", model, "--format", "show", "-q", stdin=text)
    first, second = ended.out.splitlines()  # the blank line is no text
    assert first == "[Ada Miller PER] visits [New York LOC]."
    assert second.startswith("[Ben PER] leaves ")
    assert r"\x1b" in second
    assert "\x1b" not in ended.out
    ended = tagkit("predict", model, "--format", "show", "--confidence", stdin=text)
    assert re.match(r"\[Ada Miller PER [01]\.\d\d\] visits ", ended.out)
    Path("in.conll").write_text("Ada N\nleft V\n\nRome N\n", encoding="utf-8")
    ended = tagkit("predict", model, "in.conll", "--format", "show", "-o", "shown.txt")
    assert (ended.code, ended.out) == (0, "")
    assert Path("shown.txt").read_text("utf-8") == "[Ada PER] left\n[Rome LOC]\n"
    one, two = (tagkit("predict", model, "--format", "show", f"--workers={n}", stdin=text).out
                for n in (1, 2))  # fmt: skip
    assert one == two


@pytest.mark.slow
def test_a_page_is_written_the_same_by_several_workers(tagkit: Program, model: Path) -> None:
    text = b"Ada Miller visits New York.\n\n<script>alert(1)</script> Ben leaves Oslo.\n" * 40
    one, two = (tagkit("predict", model, "--format", "html", "-q", f"--workers={n}", stdin=text)
                for n in (1, 2))  # fmt: skip
    assert (one.code, one.out) == (0, two.out)
    root = parsed(one.out.removeprefix("<!DOCTYPE html>\n"))
    assert [each.text for each in root.all("mark")][:2] == ["Ada MillerPER", "New YorkLOC"]
    assert len(list(root.all("div", "text"))) == 80
    assert not list(root.all("script"))
    shown = tagkit("predict", model, "--format", "html", "-q", "--confidence", stdin=text)
    assert re.search(r'New York<bdi class="name">LOC [01]\.\d\d</bdi>', shown.out)


def test_classes_are_shown_before_the_text(tagkit: Program, intents: Path) -> None:
    model = intents / "model"
    ended = tagkit("predict", model, "--format", "show", "-q", stdin=b"good morning, Ada.\n")
    assert ended.out == "greet | good morning, Ada.\n"
    ended = tagkit("predict", model, "--format", "show", "--top", 2, stdin=b"good morning, Ada.\n")
    assert re.fullmatch(r"greet 0\.\d\d, \w+ 0\.\d\d \| good morning, Ada\.\n", ended.out)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_what_is_less_probable_is_left_out_with_and_without_probabilities(
    tagkit: Program, model: Path, workers: int
) -> None:
    record = [json.loads(line) for line in
              tagkit("predict", model, "test.conll", "--format", "jsonl", "--confidence"
                     ).out.splitlines()]  # fmt: skip
    probabilities = sorted(span["probability"] for each in record for span in each["spans"])
    middle = round((probabilities[0] + probabilities[-1]) / 2, 4)
    likely = sum(probability >= middle for probability in probabilities)
    assert 0 < likely < len(probabilities)
    command = ["predict", model, "test.conll", "--min-confidence", middle, "--workers", workers]
    for more in ([], ["--confidence"]):
        ended = tagkit(*command, "--format", "jsonl", *more)
        found = [span for line in ended.out.splitlines() for span in json.loads(line)["spans"]]
        assert len(found) == likely
        assert all(("probability" in span) == bool(more) for span in found)
        removed = len(probabilities) - likely
        said = f"removed {removed} of {len(probabilities)} spans below {middle:g}\n"
        assert ended.err.endswith(said)
    columns = [line.split() for line in tagkit(*command).out.splitlines() if line]
    assert sum(cells[-1].startswith("B-") for cells in columns) == likely
    assert {len(cells) for cells in columns} == {3}  # as without the option


def test_classes_that_a_table_joins_are_said_to_be_read_as_one(
    tagkit: Program, tmp_path: Path
) -> None:
    rows = "".join(f'{{"text": "{text}", "labels": ["hot"]}}\n' for text in ("tea", "cocoa"))
    (tmp_path / "a.jsonl").write_text(rows + '{"text": "juice", "labels": ["cold", "sweet"]}\n')
    corpus = ("--train", tmp_path / "a.jsonl", "--dev", tmp_path / "a.jsonl")
    few = ("-q", "--task", "classify", *small("train.max_epochs=1", "head.bag_of_words=0"))
    assert tagkit("train", *corpus, "-o", tmp_path / "model", "--threads=1", *few).code == 0
    ended = tagkit("predict", tmp_path / "model", "--format", "tsv", stdin=b"tea\n")
    assert ended.code == 0
    assert ended.err.splitlines()[0] == (
        "tsv joins the classes of a text with commas, and has an empty cell where there is "
        "none. Commands read such a cell as one class: --format jsonl-texts keeps the classes apart"
    )


REASONS = {
    '{"text": "Ada", "spans": [': 'expected a JSON object, found \'{"text": "Ada", "spans": [\': '
    "it does not end on its line (a record has one line, or all are one list)",
    '{"id": 5}': "expected a text (sentence, content, data), found the keys id",
    '{"text": "Ada", "spans": [[0, 9, "X"]]}': "expected a span inside the text's 3 characters, "
    'found [0, 9, "X"]',
    "[1, 2]": "expected a JSON object, found '[1, 2]'",
}


def export(folder: Path, count: int, bad_every: int) -> Path:
    """Records as Prodigy exports them, some of which are broken."""
    bad = list(REASONS)
    lines = []
    for number in range(count):
        record = {"text": f"Ada {number}", "spans": [], "answer": ("accept", "reject")[number % 2]}
        is_bad = number % bad_every == bad_every - 1
        lines.append(bad[number // bad_every % len(bad)] if is_bad else json.dumps(record))
    path = folder / "export.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


# Worker processes take seconds to start.
@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_bad_records_are_skipped_and_listed_and_all_others_are_answered(
    tagkit: Program, model: Path, tmp_path: Path, workers: int
) -> None:
    count = 10_000
    path, out = export(tmp_path, count, 100), tmp_path / "out.jsonl"
    skip = ["--on-bad-record", "skip", "--format", "jsonl", "-o", out, "--workers", workers]
    ended = tagkit("predict", model, path, "--quiet", *skip)
    assert ended.code == 0
    bad = range(100, count + 1, 100)
    reasons = list(REASONS.values())
    assert ended.err.splitlines() == [
        *(
            f"warning: {path}:{line}: {reasons[index % len(reasons)]}; skipped"
            for index, line in enumerate(bad)
        ),
        f"warning: {len(bad)} records were skipped",
    ]
    found = [json.loads(line)["text"] for line in out.read_text("utf-8").splitlines()]
    assert found == [f"Ada {number}" for number in range(count) if number + 1 not in bad]


def test_without_skipping_what_was_predicted_before_the_error_is_kept_beside_the_output(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    path, out = export(tmp_path, 60, 50), tmp_path / "out.jsonl"
    out.write_text("old", encoding="utf-8")
    for number in ("", ".2"):  # one that is there is never replaced
        ended = tagkit("predict", model, path, "--quiet", "--format", "jsonl", "-o", out)
        kept = tmp_path / f"out.jsonl.partial{number}"
        assert ended.code == 1
        assert ended.err.splitlines() == [
            f"error: {path}:50: {next(iter(REASONS.values()))}",
            Says(kept, "49", out, "--on-bad-record"),
        ]
        texts = [json.loads(line)["text"] for line in kept.read_text("utf-8").splitlines()]
        assert texts == [f"Ada {number}" for number in range(49)]
    assert out.read_text("utf-8") == "old"
    assert sorted(os.listdir(tmp_path)) == [
        "export.jsonl", "out.jsonl", "out.jsonl.partial", "out.jsonl.partial.2",
        "out.jsonl.partial.2.manifest", "out.jsonl.partial.manifest",
    ]  # fmt: skip
    printed = tagkit("predict", model, path, "--quiet", "--format", "jsonl")
    assert printed.out == kept.read_text("utf-8")
    assert printed.err.splitlines() == [
        f"error: {path}:50: {next(iter(REASONS.values()))}",
        Says("--on-bad-record", "records"),
    ]


def test_an_error_of_a_later_input_keeps_the_predictions_of_the_earlier_ones(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    first, out = tmp_path / "a.txt", tmp_path / "out.conll.gz"
    first.write_text("Ada visits Rome\n", encoding="utf-8")
    ended = tagkit("predict", model, first, tmp_path / "missing.txt", "-o", out, "--quiet")
    kept = tmp_path / "out.conll.gz.partial"
    assert ended.err.splitlines() == [
        Says(tmp_path, "missing.txt"),
        f"error: {kept}: has what was predicted before the error, 4 lines; {out} was not written",
    ]
    assert gzip.decompress(kept.read_bytes()) == b"Ada\tB-PER\nvisits\tO\nRome\tB-LOC\n\n"


def test_nothing_is_kept_of_an_output_that_is_empty(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    path = export(tmp_path, 3, 1)
    for name in ("out.jsonl", "out.jsonl.gz"):
        ended = tagkit("predict", model, path, "-o", tmp_path / name, "--quiet")
        assert (ended.code, ended.err.count("--on-bad-record skip leaves out")) == (1, 1)
    assert os.listdir(tmp_path) == ["export.jsonl"]


COLUMNS = "# one\nAda\tN\nleft\tV\n\n# two\nBen\nleft\tV\nRome\tN\textra\n\n\nBen\tN\n"


def test_a_sentence_with_a_broken_line_is_left_out_as_a_whole(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "in.conll"
    path.write_text(COLUMNS, encoding="utf-8")
    skipped = tagkit("predict", model, path, "--quiet", "--on-bad-record", "skip")
    assert skipped.out == "# one\nAda\tN\tB-PER\nleft\tV\tO\n\n\nBen\tN\tB-PER\n"
    assert skipped.err == (Says(path, "6", "2", "1", "'Ben'"))
    ended = tagkit("predict", model, path, "--quiet", "-o", tmp_path / "out")
    assert (ended.code, len(ended.err.splitlines())) == (1, 2)
    kept = (tmp_path / "out.partial").read_text("utf-8")
    assert kept == "# one\nAda\tN\tB-PER\nleft\tV\tO\n\n"


def test_a_sentence_of_conllu_with_a_broken_line_is_left_out_as_a_whole(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    row = "\t_" * 8
    path = tmp_path / "in.conllu"
    lines = [f"1\tAda{row}", "", f"1\tBen{row}", f"x\tleft{row}", "", f"1\tEve{row}", ""]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    skipped = tagkit("predict", model, path, "--quiet", "--on-bad-record", "skip")
    assert (skipped.code, "Ben" in skipped.out) == (0, False)
    assert [line.split("\t")[1] for line in skipped.out.splitlines() if line] == ["Ada", "Eve"]
    assert Says(path, "4", "ID", "1") == skipped.err


def test_a_record_that_the_output_cannot_hold_is_skipped_too(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "in.jsonl"
    words = [["Ada"], ["a\tb"], ["Rome"]]
    path.write_text("".join(f"{json.dumps({'tokens': each})}\n" for each in words), "utf-8")
    skipped = tagkit("predict", model, path, "--quiet", "--on-bad-record", "skip")
    assert skipped.out == "Ada\tB-PER\n\nRome\tB-LOC\n\n"
    assert Says(path, "2", "warning") == skipped.err
    ended = tagkit("predict", model, path, "--quiet")
    assert (ended.code, ended.out) == (1, "Ada\tB-PER\n\n")


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("format", ["slash", "parallel"])
def test_a_record_that_the_writer_of_a_format_refuses_is_skipped(
    tagkit: Program, model: Path, tmp_path: Path, format: str, workers: int
) -> None:
    path, out = tmp_path / "in.jsonl", tmp_path / "out"
    records = [["Ada"], ["Ben", "a b"], ["Rome"]]
    path.write_text("".join(f"{json.dumps({'tokens': each})}\n" for each in records), "utf-8")
    ended = tagkit("predict", model, path, "--quiet", "--on-bad-record", "skip", "--format", format,
                   "-o", out, "--workers", workers)  # fmt: skip
    assert ended.code == 0, ended.err
    warned, count = ended.err.splitlines()
    assert Says(path, "2", format) == warned
    assert warned.endswith("; skipped")
    assert count == "warning: 1 record was skipped"
    files = [out] if out.is_file() else sorted(out.iterdir())
    written = " ".join(each.read_text("utf-8").replace("\n", " ") for each in files)
    assert written.split() == {
        "slash": ["Ada/B-PER", "Rome/B-LOC"], "parallel": ["Ada", "Rome", "B-PER", "B-LOC"],
    }[format]  # fmt: skip


def test_a_text_of_brat_is_predicted_whatever_its_annotation_and_a_missing_one_is_listed(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    broken = "T1\tPER x\tBen\nT2\tPER 0 9\tBen\nT3\tPER 0 1;2 3\tB n\n"
    documents = {"a": ("Ada", ""), "b": ("Ben", broken),
                 "c": (" ", ""), "d": ("Rome", "T1\tLOC 0 4\tRome\n")}  # fmt: skip
    for name, contents in documents.items():
        for ending, content in zip((".txt", ".ann"), contents, strict=True):
            (folder / f"{name}{ending}").write_text(content, "utf-8")
    (folder / "e.ann").write_text("", "utf-8")
    ended = tagkit("predict", model, folder, "--quiet", "--on-bad-record", "skip")
    assert (ended.code, ended.out) == (0, "Ada\tB-PER\n\nBen\tB-PER\n\nRome\tB-LOC\n\n")
    assert ended.err.splitlines() == [
        Says(folder, "/e.ann:1", "e.txt"),
        "warning: 1 record was skipped",
    ]


def test_what_a_writer_had_before_the_record_that_it_refuses_is_kept(
    tagkit: Program, intents: Path, tmp_path: Path
) -> None:
    path, out = tmp_path / "in.csv", tmp_path / "out.tsv"
    path.write_text('text,label\nhi you,greet\n"a\nb",greet\nso long,leave\n', "utf-8")
    options = ["--format", "tsv", "--quiet", "-o", out]
    ended = tagkit("predict", intents / "model", path, *options)
    reason = Says(f"{path}:3: ", "tsv", "'a\\nb'")
    assert ended.err.splitlines() == [
        reason,
        Says(out, "2", "--on-bad-record"),
    ]
    partial = (tmp_path / "out.tsv.partial").read_text("utf-8").splitlines()
    assert [line.split("\t")[1] for line in partial] == ["text", "hi you"]
    skipped = tagkit("predict", intents / "model", path, *options, "--on-bad-record", "skip")
    assert skipped.err.splitlines() == [reason, Says("warning: 1 record")]
    assert [line.split("\t")[1] for line in out.read_text("utf-8").splitlines()] == [
        "text", "hi you", "so long",
    ]  # fmt: skip


def test_more_bad_records_than_anybody_reads_are_counted(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    path = export(tmp_path, 1_100, 1)
    ended = tagkit("predict", model, path, "--quiet", "--on-bad-record", "skip")
    *listed, more, last = ended.err.splitlines()
    assert (ended.code, ended.out, len(listed)) == (0, "", 1_000)
    assert more == Says("warning")
    assert last == "warning: 1,100 records were skipped"


def test_an_error_of_the_whole_file_has_no_advice_to_skip_records(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes("Caf\u00e9 in Rome\n".encode("latin-1"))
    ended = tagkit("predict", model, path, "--quiet")
    assert (ended.code, len(ended.err.splitlines())) == (1, 1)
    assert "--encoding" in ended.err


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", '[{"text": "hi"}, {"text": ', "'{\"text\":'"),
        ("a.csv", "one,two,three\nhi you,4,5\n", "3 columns"),
    ],
)
def test_a_list_that_breaks_off_and_unknown_columns_are_errors_of_the_whole_file(
    tagkit: Program, intents: Path, tmp_path: Path, name: str, content: str, said: str
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    for options in ([], ["--on-bad-record", "skip"]):
        ended = tagkit("predict", intents / "model", path, "--quiet", *options)
        assert (ended.code, ended.err) == (1, Says(f"error: {path}:1: ", said))
