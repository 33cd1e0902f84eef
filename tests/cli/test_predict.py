"""`tagkit predict`: what it writes, where, and how it ends."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tiny
from program import SMALL, Ended, Program


def test_raw_text_is_tagged_as_columns(tagkit: Program, model: Path) -> None:
    ended = tagkit("predict", model, stdin=b"Ada Miller visits Cape Town.\n\nBen likes Rome.\n")
    assert ended.out == (
        "Ada\tB-PER\nMiller\tI-PER\nvisits\tO\nCape\tB-LOC\nTown\tI-LOC\n.\tO\n\n"
        "Ben\tB-PER\nlikes\tO\nRome\tB-LOC\n.\tO\n\n"
    )
    assert ended.err == (
        "standard input: read as text: nothing in its lines looks like labels (--input-format "
        "chooses another format)\n"
    )


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


def test_conllu_keeps_its_multiword_lines_and_gets_an_eleventh_column(
    tagkit: Program, model: Path
) -> None:
    rest = "\t_" * 8
    text = f"# text = Ada\n1-2\tAda's{rest}\n1\tAda{rest}\n2\tvisits{rest}\n2.1\tx{rest}\n\n"
    ended = tagkit("predict", model, stdin=text.encode())
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
    assert ended.err.endswith(
        f"error: missing.txt: no such file\nerror: {kept}: has what was predicted before the error, "
        "5 lines; kept.txt was not written\n"
    )
    assert kept.read_text("utf-8").startswith("Ada\tB-PER\n")
    kept.unlink()
    assert Path("kept.txt").read_text("utf-8") == "old"
    assert not [path for path in Path().iterdir() if path.name.startswith(".kept")]


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
    assert "error: standard input:2: byte 8 is not utf-8" in ended.err
    again = tagkit("predict", model, "--encoding", "latin-1", stdin=b"Ada visits Rom\xe9\n")
    assert "Romé\t" in again.out
    unknown = tagkit("predict", model, "--encoding", "utf-9", stdin=b"")
    assert unknown.err == (
        'error: configuration: data.encoding = "utf-9": expected the name of a text encoding, such '
        "as 'utf-8'\n"
    )


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


def test_no_model_is_refused_in_one_line(tagkit: Program, model: Path) -> None:
    expected = "error: nowhere: no such folder; `tagkit train` makes one\n"
    for arguments in (["predict", "nowhere"], ["info", "nowhere"], ["eval", "nowhere", "x"]):
        assert tagkit(*arguments) == Ended(1, "", expected)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("train.conll", "train.conll: is an input, and would be lost; name another file"),
        (
            "linked.conll",
            "linked.conll: is an input (train.conll), and would be lost; name a",
        ),
        (
            "model/tagged.conll",
            "model/tagged.conll: lies in the model's folder, model: name",
        ),
        (
            "model/best/metadata.json",
            "model/best/metadata.json: lies in the model's folder, mo",
        ),
        ("folder", "folder: cannot be written: it is a folder, and the output is one file"),
        ("", ".: cannot be written: it is a folder, and the output is one file"),
        ("no/x", "no/x: cannot be written: there is no folder"),
        ("train.conll/x", "train.conll/x: cannot be written: Not a directory"),
    ],
)
def test_an_output_that_would_be_a_loss_is_refused_before_the_model_is_loaded(
    tagkit: Program, model: Path, monkeypatch: pytest.MonkeyPatch, output: str, message: str
) -> None:
    Path("folder").mkdir(exist_ok=True)
    if not Path("linked.conll").exists():
        os.link("train.conll", "linked.conll")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    monkeypatch.setattr("tagkit.inference.predictor.load", lambda *_: pytest.fail("it is loaded"))
    ended = tagkit("predict", model, "train.conll", "-o", output)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"error: {message}")
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
def test_a_folder_given_as_a_file_is_refused(tagkit: Program, model: Path) -> None:
    Path("folder").mkdir(exist_ok=True)
    ended = tagkit("predict", model, "folder")
    assert ended.err == (
        "error: folder: expected a folder with seq.in, with .ann files, or with a folder or file "
        "for each class, found none of these\n"
    )


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
    ended = tagkit("predict", intents / "model", "--max-length", "9", stdin=b"hello\n")
    assert (ended.code, ended.err) == (
        1,
        "error: this model classifies: --max-length is for tags, a text is read whole\n",
    )
    text = b"hello there , Ada . " * 2000
    assert tagkit("predict", intents / "model", stdin=text).out == "greet\n"


def test_classes_of_a_column_file_are_a_line_a_sentence(
    tagkit: Program, intents: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a.conll"
    path.write_text("hello\tO\nthere\tO\n\ngoodbye\tO\nnow\tO\n\n", encoding="utf-8")
    assert tagkit("predict", intents / "model", path).out == "greet\nleave\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--top", "2"], "this model tags: --top and --threshold are for classes of texts"),
        (["--threshold", "0.5"], "this model tags: --top and --threshold are for classes of texts"),
        (["--format", "tsv"], "this model tags: expected --format columns or jsonl, found tsv"),
    ],
)
def test_a_tagger_is_not_asked_for_classes(
    tagkit: Program, model: Path, arguments: list[str], message: str
) -> None:
    ended = tagkit("predict", model, *arguments, stdin=b"Ada visits Rome .\n")
    assert (ended.code, ended.out, ended.err) == (1, "", f"error: {message}\n")


def test_a_model_of_both_writes_the_class_behind_each_tag(tagkit: Program, tmp_path: Path) -> None:
    train, dev, test = tiny.joint(tmp_path).values()
    ended = tagkit(
        "train", "--task", "both", "--train", train, "--dev", dev, "--test", test,
        "-o", tmp_path / "model", *SMALL,
    )  # fmt: skip
    assert ended.code == 0
    assert "epoch      loss  dev loss  dev mean        lr  tokens/s\n" in ended.err
    assert "model  BiLSTM with CRF and attention pooling, " in ended.err
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


def test_several_workers_and_fewer_bits_give_the_same_tags(tagkit: Program, model: Path) -> None:
    stdin = b"Ada visits Cape Town .\nEve leaves Rome .\n" * 30
    expected = tagkit("predict", model, stdin=stdin)
    for options in (["--workers", "2"], ["--precision", "bf16"], ["--precision", "int8"]):
        ended = tagkit("predict", model, *options, stdin=stdin)
        assert (ended.code, ended.out) == (0, expected.out)


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


def test_classes_are_shown_before_the_text(tagkit: Program, intents: Path) -> None:
    model = intents / "model"
    ended = tagkit("predict", model, "--format", "show", "-q", stdin=b"good morning, Ada.\n")
    assert ended.out == "greet | good morning, Ada.\n"
    ended = tagkit("predict", model, "--format", "show", "--top", 2, stdin=b"good morning, Ada.\n")
    assert re.fullmatch(r"greet 0\.\d\d, \w+ 0\.\d\d \| good morning, Ada\.\n", ended.out)
