"""`tagkit predict` where records cannot be read: they are skipped, or what was done is kept."""

import gzip
import json
import os
from pathlib import Path

import pytest
from program import Program

REASONS = {
    '{"text": "Ada", "spans": [': 'expected a JSON object, found \'{"text": "Ada", "spans": [\': '
    "it does not end on its line (a record has one line, or all are one list)",
    '{"id": 5}': "expected a text (sentence, content), found the keys id",
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
            f"error: {kept}: has what was predicted before the error, 49 lines; {out} was not "
            "written. --on-bad-record skip leaves out records that cannot be used, and lists them",
        ]
        texts = [json.loads(line)["text"] for line in kept.read_text("utf-8").splitlines()]
        assert texts == [f"Ada {number}" for number in range(49)]
    assert out.read_text("utf-8") == "old"
    assert sorted(os.listdir(tmp_path)) == [
        "export.jsonl", "out.jsonl", "out.jsonl.partial", "out.jsonl.partial.2",
    ]  # fmt: skip
    printed = tagkit("predict", model, path, "--quiet", "--format", "jsonl")
    assert printed.out == kept.read_text("utf-8")
    assert printed.err.splitlines() == [
        f"error: {path}:50: {next(iter(REASONS.values()))}",
        "error: --on-bad-record skip leaves out records that cannot be used, and lists them",
    ]


def test_an_error_of_a_later_input_keeps_the_predictions_of_the_earlier_ones(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    first, out = tmp_path / "a.txt", tmp_path / "out.conll.gz"
    first.write_text("Ada visits Rome\n", encoding="utf-8")
    ended = tagkit("predict", model, first, tmp_path / "missing.txt", "-o", out, "--quiet")
    kept = tmp_path / "out.conll.gz.partial"
    assert ended.err.splitlines() == [
        f"error: {tmp_path}/missing.txt: no such file",
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
    assert skipped.err == (
        f"warning: {path}:6: expected 2 columns as on line 2, found 1: 'Ben'; skipped\n"
        "warning: 1 record was skipped\n"
    )
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
    assert skipped.err.startswith(f"warning: {path}:4: expected a CoNLL-U ID such as 1")


def test_a_record_that_the_output_cannot_hold_is_skipped_too(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "in.jsonl"
    words = [["Ada"], ["a\tb"], ["Rome"]]
    path.write_text("".join(f"{json.dumps({'tokens': each})}\n" for each in words), "utf-8")
    skipped = tagkit("predict", model, path, "--quiet", "--on-bad-record", "skip")
    assert skipped.out == "Ada\tB-PER\n\nRome\tB-LOC\n\n"
    assert skipped.err.startswith(f"warning: {path}:2: a line of cells cannot hold the word 'a\\t")
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
    assert warned.startswith(f"warning: {path}:2: {format} cannot hold ")
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
        f"warning: {folder}/e.ann:1: expected its text in {folder}/e.txt, found no such file; "
        "skipped",
        "warning: 1 record was skipped",
    ]


def test_what_a_writer_had_before_the_record_that_it_refuses_is_kept(
    tagkit: Program, intents: Path, tmp_path: Path
) -> None:
    path, out = tmp_path / "in.csv", tmp_path / "out.tsv"
    path.write_text('text,label\nhi you,greet\n"a\nb",greet\nso long,leave\n', "utf-8")
    options = ["--format", "tsv", "--quiet", "-o", out]
    ended = tagkit("predict", intents / "model", path, *options)
    reason = f"{path}:3: tsv cannot hold a line end in the text: 'a\\nb'. Try another format"
    assert ended.err.splitlines() == [
        f"error: {reason}",
        f"error: {out}.partial: has what was predicted before the error, 2 lines; {out} was not "
        "written. --on-bad-record skip leaves out records that cannot be used, and lists them",
    ]
    partial = (tmp_path / "out.tsv.partial").read_text("utf-8").splitlines()
    assert [line.split("\t")[1] for line in partial] == ["text", "hi you"]
    skipped = tagkit("predict", intents / "model", path, *options, "--on-bad-record", "skip")
    assert skipped.err == f"warning: {reason}; skipped\nwarning: 1 record was skipped\n"
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
    assert more == "warning: further records that cannot be used are skipped without being listed"
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
        ("a.json", '[{"text": "hi"}, {"text": ', "1: expected the next record of a JSON list, "
         "found '{\"text\":': Expecting value"),
        ("a.csv", "one,two,three\nhi you,4,5\n", "1: expected a label and a text, found 3 columns "
         "and nothing that tells which is which. Name the column of "
         "the texts \"text\" in the first row"),
    ],
)  # fmt: skip
def test_a_list_that_breaks_off_and_unknown_columns_are_errors_of_the_whole_file(
    tagkit: Program, intents: Path, tmp_path: Path, name: str, content: str, said: str
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    for options in ([], ["--on-bad-record", "skip"]):
        ended = tagkit("predict", intents / "model", path, "--quiet", *options)
        assert (ended.code, ended.err) == (1, f"error: {path}:{said}\n")
