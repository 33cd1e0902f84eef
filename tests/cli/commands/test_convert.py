"""`tagkit convert`: any format into any other."""

import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from program import Program, small
from says import Says


@pytest.mark.slow
def test_convert_writes_any_format_and_predict_eval_and_train_read_it(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    spans, pair = tmp_path / "test.jsonl", tmp_path / "test.ann"
    ended = tagkit("convert", "test.conll", spans, "--to", "jsonl-spans")
    assert (ended.code, ended.out) == (0, "")
    read_as, done = ended.err.splitlines()
    assert read_as == (Says("test.conll", "2", "IOB2", "--input-format"))
    assert done == f"test.conll (columns) -> {spans} (jsonl-spans): 20 texts"
    assert tagkit("convert", spans, pair).code == 0
    assert (tmp_path / "test.txt").read_text("utf-8").count("\n") == 20
    reports = [
        json.loads(tagkit("eval", model, file, "--json").out)["micro"]
        for file in ("test.conll", spans)
    ]
    assert reports[0] == reports[1]  # the tokens are given beside the spans
    tagged = tagkit("predict", model, pair, "--input-format", "brat", "--format", "jsonl")
    (record,) = tagged.out.splitlines()
    assert json.loads(record)["document"] == str(pair)
    trained = tagkit("train", "--train", pair, "--dev", spans, "-o", tmp_path / "m",
                     *small("train.max_epochs=1"), "--threads=1")  # fmt: skip
    assert trained.code == 0, trained.err


def test_convert_to_standard_output_is_data_alone(tagkit: Program, model: Path) -> None:
    ended = tagkit(
        "convert",
        "-",
        "-",
        "--to",
        "slash",
        "--scheme",
        "BIOES",
        "--input-format",
        "columns",
        stdin=b"Oslo\tB-LOC\n",
    )
    assert ended.out == "Oslo/S-LOC\n"
    assert ended.err == ("tags: IOB2 to IOBES\nstandard input (columns) -> - (slash): 1 sentence\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.conll", "new.jsonl"], Says("nothing.conll")),
        (["test.conll", "out.csv"], Says("test.conll:1")),
        (["test.conll", ".", "--to", "brat"], Says("test.conll", "another")),
        (["test.conll", "-", "--to", "brat"], Says("folder")),
        (["test.conll", "out.ann.gz"], Says("out.ann.gz", "packed")),
        (["test.conll", ".", "--to", "slash"], Says("written")),
        (["test.conll", "no/folder/x.ann"], Says("x.ann", "written")),
        (["test.conll", "no/folder/x.csv", "--to", "slash"], Says("x.csv", "written")),
    ],
)
def test_what_convert_cannot_do_is_told_in_a_line_and_leaves_nothing_behind(
    tagkit: Program, model: Path, arguments: list[str], message: str
) -> None:
    before = sorted(Path().rglob("*"))
    ended = tagkit("convert", *arguments)
    assert ended.code == 1
    assert ended.out == ""
    assert message.within(ended.err)
    assert "Traceback" not in ended.err
    assert sorted(Path().rglob("*")) == before


def test_a_record_of_tokens_that_cannot_be_written_is_named_with_its_file(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"tokens": ["a", "c\\nd"], "tags": ["O", "B-X"]}\n', encoding="utf-8")
    for format in ("columns", "conllu", "slash", "parallel"):
        ended = tagkit("convert", path, tmp_path / "out", "--to", format)
        assert Says(path, "1", format).within(ended.err)


def test_misaligned_spans_are_listed_and_settled_as_the_option_says(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    spans = '[{"start": 1, "end": 4, "label": "LOC"}]'
    path.write_text(f'{{"text": "Oslo is far", "spans": {spans}}}\n' * 2, encoding="utf-8")
    refused = tagkit("convert", path, tmp_path / "a.conll")
    assert refused.code == 1
    told = "'slo' (LOC 1 4)"
    assert refused.err.splitlines()[1:3] == [
        Says(f"error: {path}:{n}: {told}", "'Oslo' (0 4)") for n in (1, 2)
    ]
    settled = tagkit("convert", path, tmp_path / "a.conll", "--on-misaligned", "expand")
    assert settled.err.splitlines()[1] == Says(f"{path}:1: {told}", "'Oslo' (expand)")
    assert (tmp_path / "a.conll").read_text("utf-8") == "Oslo\tB-LOC\nis\tO\nfar\tO\n\n" * 2


def test_texts_of_brat_without_annotation_are_named_by_all_that_need_labels(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "drop"
    folder.mkdir()
    for name, text in (("one.txt", "Ada left ."), ("two.txt", "Ben"),
                       ("one.ann", "T1\tPER 0 3\tAda\n")):  # fmt: skip
        (folder / name).write_text(text, encoding="utf-8")
    told = f"{folder}: 1 text without .ann is left out: two.txt"
    ended = tagkit("convert", folder, tmp_path / "d.jsonl")
    assert (ended.code, ended.err.splitlines()[1]) == (0, told)
    assert len((tmp_path / "d.jsonl").read_text("utf-8").splitlines()) == 1
    checked = tagkit("check", folder)
    assert told.removeprefix(f"{folder}: ") in checked.out + checked.err
    assert told in tagkit("eval", "--gold", folder, "--pred", tmp_path / "d.jsonl").err
    trained = tagkit("train", "--train", folder, "--dev", "dev.conll", "-o", tmp_path / "m",
                     *small("train.max_epochs=1"), "--threads=1")  # fmt: skip
    assert trained.code == 0, trained.err
    assert "       train: 1 text without .ann is left out: two.txt\n" in trained.err


def test_a_packed_output_is_the_same_bytes_each_time(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    for name in ("a.conll.gz", "b.conll.gz"):
        assert tagkit("convert", "test.conll", tmp_path / name).code == 0
    first, second = ((tmp_path / name).read_bytes() for name in ("a.conll.gz", "b.conll.gz"))
    assert first == second
    assert gzip.decompress(first) == Path("test.conll").read_bytes()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("sentences", [1, 2000])  # noticed at the end, and before
def test_where_the_output_cannot_be_held_its_folder_is_named(
    tagkit: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentences: int
) -> None:
    corpus = tmp_path / "a.conll"
    corpus.write_text("Oslo\tB-LOC\n\n" * sentences, encoding="utf-8")

    def full(*_: object, **options: Any) -> Any:
        return open("/dev/full", "r+", **options)

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    ended = tagkit("convert", corpus, "-", "--to", "jsonl-tokens")
    assert (ended.code, ended.out) == (1, "")
    assert Says(tempfile.gettempdir(), "TMPDIR") == ended.err
