"""The command line: what it prints where, and how it ends."""

import gzip
import io
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import tiny

from tagkit import __version__
from tagkit.cli.command_times import Measured
from tagkit.cli.main import main
from tagkit.cli.reports import measured_lines
from tagkit.inference.benchmark import Speed


@dataclass(frozen=True)
class Ended:
    """What a run of the program left behind."""

    code: int
    out: str
    err: str


class Program:
    """Runs `tagkit` in this process: torch is loaded once for all tests."""

    def __init__(self, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[bytes]) -> None:
        self.patch = patch
        self.capture = capture

    def __call__(self, *arguments: object, stdin: bytes = b"") -> Ended:
        self.patch.setattr(sys, "argv", ["tagkit", *map(str, arguments)])
        self.patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        out, err = self.capture.readouterr()
        return Ended(code, out.decode(), err.decode())


@pytest.fixture
def tagkit(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Program:
    monkeypatch.setenv("COLUMNS", "100")
    return Program(monkeypatch, capsysbinary)


_SMALL = [
    f"--set={option}"
    for option in (
        "embeddings.word_dim=16",
        "embeddings.char_dim=8",
        "embeddings.char_hidden=8",
        "encoder.hidden=16",
        "encoder.dropout=0.1",
        "encoder.locked_dropout=0",
        "train.batch_size=8",
        "train.lr=0.02",
        "train.max_epochs=4",
    )
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny corpus and a model that was trained on it, by the program itself."""
    folder = tmp_path_factory.mktemp("home")
    tiny.corpus(folder)
    with pytest.MonkeyPatch.context() as patch:
        arguments = ["--train", "train.conll", "--dev", "dev.conll", "--test", "test.conll"]
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["tagkit", "train", *arguments, "-o", "model", "--threads=1",
                                    "-q", *_SMALL])  # fmt: skip
        with pytest.raises(SystemExit, match=r"^0$"):
            main()
    return folder


@pytest.fixture
def model(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(home)
    return Path("model")


def test_help_answers_in_under_0_4_seconds() -> None:
    program = [sys.executable, "-c", "from tagkit.cli.main import main; main()", "--help"]
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run(program, check=True, capture_output=True, timeout=20)
        times.append(time.perf_counter() - start)
    assert statistics.median(times) < 0.4


def test_help_and_a_mistake_in_the_configuration_import_no_torch() -> None:
    program = (
        "import sys\n"
        "from tagkit.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "sys.exit(any(name in sys.modules for name in ('torch', 'seqeval', 'sklearn')))"
    )
    for arguments in (["--help"], ["train", "--help"], ["train", "--set", "encoder.hiden=1"]):
        subprocess.run(
            [sys.executable, "-c", program, *arguments], check=True, capture_output=True, timeout=20
        )


@pytest.mark.parametrize(
    "command", ["train", "predict", "eval", "convert", "check", "benchmark", "info"]
)
def test_every_command_has_help_with_an_example(tagkit: Program, command: str) -> None:
    ended = tagkit(command, "--help")
    assert ended.code == 0
    assert re.search(rf"Examples?:\n(.*\n)*?.*tagkit {command} ", ended.out)


def test_version_is_told(tagkit: Program) -> None:
    assert tagkit("--version") == Ended(0, f"tagkit {__version__}\n", "")


def test_train_shows_corpora_epochs_report_and_the_next_command(
    tagkit: Program, model: Path
) -> None:
    ended = tagkit(
        "train", "--train", "train.conll", "--dev", "dev.conll", "--test", "test.conll",
        "--output", "other", "--threads", 1, "--seed", 3, *_SMALL,
    )  # fmt: skip
    assert (ended.code, ended.out) == (0, "")
    assert re.search(r"^train  train\.conll +80 sentences +\d+ tokens  IOB2, 2 types$", ended.err,
                     re.MULTILINE)  # fmt: skip
    assert "% of its entities never seen in train" in ended.err
    assert re.search(r"^model  BiLSTM with CRF, [\d,]+ parameters, on cpu \(1 threads?\)$",
                     ended.err, re.MULTILINE)  # fmt: skip
    assert re.search(r"^epoch +loss +dev F1 +lr +tokens/s$", ended.err, re.MULTILINE)
    assert len(re.findall(r"^ +\d+ +\d\.\d{4} +\d+\.\d\d ", ended.err, re.MULTILINE)) == 4
    assert re.search(r"^best epoch \d, dev F1 \d+\.\d\d; test:$", ended.err, re.MULTILINE)
    assert re.search(r"^micro avg +\d\.\d{4} +\d\.\d{4} +\d\.\d{4} +\d+$", ended.err, re.MULTILINE)
    assert "IOB2 spans, conlleval-compatible; token accuracy" in ended.err
    assert "Next: tagkit predict other FILE" in ended.err
    assert "\x1b" not in ended.err  # no colour where there is no terminal


def test_quiet_training_says_nothing(tagkit: Program, model: Path) -> None:
    ended = tagkit("train", "--train", "train.conll", "-o", "quiet", "--threads", 1, "-q", *_SMALL)
    assert ended == Ended(0, "", "")
    assert Path("quiet/best/model.safetensors").is_file()


def test_training_reads_tagkit_toml_of_this_folder(
    tagkit: Program, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert tagkit("train").err == ("error: tagkit.toml: no such file. Name another with --config\n")
    Path("tagkit.toml").write_text(
        f'[data]\ntrain_file = "{home}/train.conll"\n[encoder]\nhiden = 3\n', encoding="utf-8"
    )
    assert tagkit("train") == Ended(
        1, "", "error: tagkit.toml: unknown option encoder.hiden; did you mean encoder.hidden?\n"
    )


def test_all_mistakes_are_told_at_once(tagkit: Program, model: Path) -> None:
    ended = tagkit("train", "--train", "train.conll", "--device", "gpu", "--set", "train.lr=0",
                   "--set", "encoder.cell=rnn")  # fmt: skip
    assert ended == Ended(
        1,
        "",
        "error: configuration: encoder.cell = \"rnn\": expected 'lstm', 'gru' or 'elman'\n"
        "error: configuration: train.lr = 0: expected greater than 0\n"
        "error: configuration: train.device = \"gpu\": expected 'auto', 'cpu', 'cuda' or "
        "'cuda:N'\n",
    )


def test_a_ragged_line_is_refused_with_file_and_line(tagkit: Program, model: Path) -> None:
    Path("news.iob").write_text("EU NNP B-NP B-ORG\nrejects VBZ O\n", encoding="utf-8")
    assert tagkit("train", "--train", "news.iob") == Ended(
        1, "", "error: news.iob:2: expected 4 columns as on line 1, found 3: 'rejects VBZ O'\n"
    )


def test_wrong_usage_ends_with_2(tagkit: Program) -> None:
    assert tagkit("predict").code == 2
    assert tagkit("train", "--no-such-option").code == 2
    assert tagkit("eval").code == 2
    assert tagkit("predict", "model", "--format", "xml").code == 2


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
    assert ended.err.endswith("error: missing.txt: no such file\n")
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


def test_a_reader_that_goes_away_is_no_error_message(model: Path) -> None:
    program = f"{sys.executable} -c 'from tagkit.cli.main import main; main()'"
    lines = "Ada visits Rome.\n" * 5000
    shell = f"{program} predict {model} --threads=1 | head -n 1"
    ended = subprocess.run(
        shell, shell=True, input=lines.encode(), capture_output=True, timeout=120, check=False
    )
    assert ended.stdout == b"Ada\tB-PER\n"
    assert b"Traceback" not in ended.stderr
    assert b"BrokenPipe" not in ended.stderr


def test_eval_of_a_model_prints_the_report_or_one_json_object(tagkit: Program, model: Path) -> None:
    table = tagkit("eval", model, "test.conll")
    assert re.search(r"^LOC +1\.0000 +1\.0000 +1\.0000 +20$", table.out, re.MULTILINE)
    assert "IOB2 spans, conlleval-compatible; token accuracy 1.0000 of" in table.out
    scores = json.loads(tagkit("eval", model, "test.conll", "--json").out)
    assert (scores["scheme"], scores["mode"]) == ("IOB2", "conlleval-compatible")
    assert scores["types"]["LOC"] == {"precision": 1, "recall": 1, "f1": 1, "support": 20}
    for name in ("micro", "macro", "weighted"):
        assert set(scores[name]) == {"precision", "recall", "f1", "support"}
    assert scores["accuracy"] == 1
    strict = json.loads(tagkit("eval", model, "test.conll", "--json", "--strict").out)
    assert strict["mode"] == "strict"


AGREES = "verified: seqeval's numbers agree (conlleval mode and strict mode)\n"


def test_eval_verifies_a_model_or_files_with_seqeval(tagkit: Program, model: Path) -> None:
    plain = tagkit("eval", model, "test.conll")
    verified = tagkit("eval", model, "test.conll", "--verify")
    assert (verified.code, verified.out) == (0, plain.out)
    assert verified.err == plain.err + AGREES
    tagkit("predict", model, "dev.conll", "-o", "tagged.conll")
    for files in (["tagged.conll"], ["dev.conll", "--pred", "tagged.conll"]):
        ended = tagkit("eval", "--gold", *files, "--strict", "--json", "--verify")
        assert json.loads(ended.out)["mode"] == "strict"
        assert (ended.code, ended.err.endswith(AGREES)) == (0, True)


def test_eval_shows_where_a_broken_scorer_differs_from_seqeval_and_ends_with_1(
    tagkit: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = tmp_path / "both.conll"
    both.write_text("Ada\tB-PER\tB-PER\nin\tO\tO\nRome\tB-LOC\tB-LOC\n", encoding="utf-8")
    monkeypatch.setattr("tagkit.evaluation.tag_report.stretches", lambda tags: [(0, 1, "PER")])
    ended = tagkit("eval", "--gold", both, "--verify")
    assert ended.code == 1
    assert "IOB2 spans, conlleval-compatible" in ended.out  # the report is shown all the same
    assert "not verified: seqeval disagrees on 4 numbers\n" in ended.err
    assert "conlleval mode, LOC: support none, seqeval has 1\n" in ended.err
    assert "conlleval mode, micro avg: support 1, seqeval has 2\n" in ended.err


def test_eval_refuses_to_verify_what_seqeval_cannot_score(tagkit: Program, tmp_path: Path) -> None:
    pos = tmp_path / "pos.conll"
    pos.write_text("a\tDT\tDT\nb\tNN\tVB\n", encoding="utf-8")
    ended = tagkit("eval", "--gold", pos, "--verify")
    assert (ended.code, ended.out) == (1, "")
    message = "/pos.conll: expected tags of spans, found plain labels: seqeval verifies scores of "
    assert f"{message}spans only\n" in ended.err


def test_predict_then_eval_of_the_files_gives_the_scores_of_the_model(
    tagkit: Program, model: Path
) -> None:
    by_model = json.loads(tagkit("eval", model, "dev.conll", "--json").out)
    tagkit("predict", model, "dev.conll", "-o", "tagged.conll")
    one_file = json.loads(tagkit("eval", "--gold", "tagged.conll", "--json").out)
    two_files = json.loads(
        tagkit("eval", "--gold", "dev.conll", "--pred", "tagged.conll", "--json").out
    )
    assert one_file == two_files == {**by_model, "unknown": {}}


def test_gold_labels_that_the_model_does_not_know_count_as_errors_and_are_listed(
    tagkit: Program, model: Path
) -> None:
    Path("odd.conll").write_text("Ada\tB-PER\nsings\tO\nYmir\tB-MYTH\n", encoding="utf-8")
    ended = tagkit("eval", model, "odd.conll")
    assert ended.out.endswith(
        "gold labels that the model does not know, all counted as errors: MYTH (1)\n"
    )
    assert json.loads(tagkit("eval", model, "odd.conll", "--json").out)["unknown"] == {"MYTH": 1}


def test_info_tells_what_the_model_is(tagkit: Program, model: Path) -> None:
    ended = tagkit("info", model)
    assert ended.code == 0
    for text in (
        "BiLSTM with CRF",
        f"tagkit {__version__}, torch ",
        "train.conll: 80 sentences",
        "labels      LOC, PER",
        "test F1     ",
    ):
        assert text in ended.out
    facts = json.loads(tagkit("info", model, "--json").out)
    assert facts["config"]["encoder"]["hidden"] == 16
    assert facts["format_version"] == 1


def test_commands_have_the_names_that_other_toolkits_give_them(
    tagkit: Program, model: Path
) -> None:
    assert tagkit("tag", model, stdin=b"Ada left.").out.startswith("Ada\tB-PER\n")
    assert tagkit("evaluate", model, "test.conll", "--json").code == 0


def test_no_model_is_refused_in_one_line(tagkit: Program, model: Path) -> None:
    expected = "error: nowhere: no such folder; `tagkit train` makes one\n"
    for arguments in (["predict", "nowhere"], ["info", "nowhere"], ["eval", "nowhere", "x"]):
        assert tagkit(*arguments) == Ended(1, "", expected)


def test_an_output_folder_that_cannot_be_written_is_named(tagkit: Program, model: Path) -> None:
    Path("file").write_text("", encoding="utf-8")
    ended = tagkit("predict", model, "-o", "nowhere/out", stdin=b"Ada\n")
    assert ended == Ended(
        1,
        "",
        f"error: nowhere/out: cannot be written: there is no folder {Path('nowhere').absolute()}\n",
    )
    ended = tagkit("train", "--train", "train.conll", "-o", "file/x", "--threads", 1, *_SMALL)
    assert ended.code == 1
    assert ended.err == ("error: file: expected a folder, found a file; name another folder (-o)\n")


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("train.conll", "train.conll: is read, and would be lost: name another file"),
        (
            "linked.conll",
            "linked.conll: is read (train.conll), and would be lost: name a",
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


def test_every_file_of_a_run_gets_what_the_umask_gives(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    umask = os.umask(0o077)
    try:
        ended = tagkit("train", "--train", "train.conll", "--dev", "dev.conll", "--threads=1",
                       *_SMALL, "--set=train.max_epochs=1", "-o", tmp_path / "m")  # fmt: skip
    finally:
        os.umask(umask)
    assert ended.code == 0
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "m").rglob("*")}
    assert len(modes) > 10
    assert {name for name, mode in modes.items() if mode & 0o077} == set()


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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize(
    "command",
    [
        "predict model train.conll",
        pytest.param("info model", marks=pytest.mark.slow),
        pytest.param("info model --json", marks=pytest.mark.slow),
        pytest.param("eval model test.conll", marks=pytest.mark.slow),
        pytest.param("eval --gold test.conll --pred test.conll --json", marks=pytest.mark.slow),
        pytest.param("benchmark model test.conll --rounds 1", marks=pytest.mark.slow),
        pytest.param("benchmark model test.conll --rounds 1 --json", marks=pytest.mark.slow),
    ],
)
def test_a_full_disk_behind_standard_output_is_one_line(model: Path, command: str) -> None:
    program = f"{sys.executable} -c 'from tagkit.cli.main import main; main()' {command}"
    for target, problem in (("/dev/full", "No space left on device"), ("&-", "it is closed")):
        ended = subprocess.run(
            f"{program} >{target}", shell=True, capture_output=True, text=True, timeout=120
        )
        assert ended.returncode == 1
        last = ended.stderr.splitlines()[-1]
        assert last == f"error: standard output: cannot be written: {problem}"
        assert "Traceback" not in ended.stderr
        assert "Exception ignored" not in ended.stderr


@pytest.mark.parametrize(
    ("command", "number"),
    [
        ("predict model - -o tagged", "SIGTERM"),
        pytest.param("predict model - -o tagged --workers 2", "SIGTERM", marks=pytest.mark.slow),
        pytest.param("predict model - -o tagged", "SIGHUP", marks=pytest.mark.slow),
        pytest.param("predict model - -o tagged", "SIGINT", marks=pytest.mark.slow),
        pytest.param("benchmark model test.conll --rounds 999", "SIGHUP", marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_a_command_with_its_number_and_leaves_nothing(
    model: Path, command: str, number: str
) -> None:
    before = sorted(Path().iterdir())
    # A process in the background of a shell ignores Ctrl-C, and so would what it starts.
    start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    start += "from tagkit.cli.main import main; main()"
    program = [sys.executable, "-c", start, *command.split()]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdin is not None
        assert running.stderr is not None
        running.stdin.write(b"Ada\n")
        running.stdin.flush()
        assert running.stderr.readline()  # how the input is read, or what is measured
        if command.startswith("predict"):
            (beside,) = set(Path().iterdir()) - set(before)
            while not beside.stat().st_size:  # workers have begun when something is written
                assert running.poll() is None
                time.sleep(0.05)
        running.send_signal(getattr(signal, number))
        said = running.stderr.read().decode()
        assert running.wait(timeout=60) == 128 + getattr(signal, number)
    assert "Traceback" not in said
    assert sorted(Path().iterdir()) == before


# In the midst of a command: `end` takes the place of a function that it calls.
SIGNALLED = """
import os, signal
def end(*arguments):
    found = call(*arguments)
    os.kill(os.getpid(), {number})
    return found
{replace}
"""
SPAWN = "from multiprocessing import util; call, util.spawnv_passfds = util.spawnv_passfds, end"
TO_JSON = "from tagkit.text import json_text; call, json_text.to_json = json_text.to_json, end"


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="wants signals of POSIX")
@pytest.mark.parametrize(
    ("command", "replace", "number"),
    [
        ("info model --json", TO_JSON, "SIGTERM"),
        pytest.param("info model --json", TO_JSON, "SIGHUP", marks=pytest.mark.slow),
        pytest.param("eval model test.conll --json", TO_JSON, "SIGTERM", marks=pytest.mark.slow),
        pytest.param("eval model test.conll --json", TO_JSON, "SIGHUP", marks=pytest.mark.slow),
        pytest.param(
            "benchmark model test.conll --rounds 1 --json", TO_JSON, "SIGTERM",
            marks=pytest.mark.slow,
        ),
        # While the first worker is being started.
        ("predict model test.conll -o tagged --workers 2", SPAWN, "SIGTERM"),
        pytest.param(
            "predict model test.conll -o tagged --workers 2", SPAWN, "SIGHUP",
            marks=pytest.mark.slow,
        ),
    ],
)  # fmt: skip
def test_a_signal_in_the_midst_of_a_command_is_one_line_and_its_status(
    model: Path, command: str, replace: str, number: str
) -> None:
    before = sorted(Path().rglob("*"))
    start = SIGNALLED.format(number=int(getattr(signal, number)), replace=replace)
    program = f"{start}from tagkit.cli.main import main; main()"
    # A process that is left would hold the pipes open until the time limit.
    ended = subprocess.run(
        [sys.executable, "-c", program, *command.split()],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert "Traceback" not in ended.stderr
    progress = (": read as ", " ...")  # of benchmark: what it measures
    said = [line for line in ended.stderr.splitlines() if not any(p in line for p in progress)]
    assert said == ["stopped"]
    assert (ended.returncode, ended.stdout) == (128 + getattr(signal, number), "")
    assert sorted(Path().rglob("*")) == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_folder_given_as_a_file_is_refused(tagkit: Program, model: Path) -> None:
    Path("folder").mkdir(exist_ok=True)
    ended = tagkit("predict", model, "folder")
    assert ended.err == (
        "error: folder: expected a folder with seq.in, with .ann files, or with a folder or file "
        "for each class, found none of these\n"
    )


def test_convert_writes_any_format_and_predict_eval_and_train_read_it(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    spans, pair = tmp_path / "test.jsonl", tmp_path / "test.ann"
    ended = tagkit("convert", "test.conll", spans, "--to", "jsonl-spans")
    assert (ended.code, ended.out) == (0, "")
    read_as, done = ended.err.splitlines()
    assert read_as == (
        "test.conll: read as columns: 2 columns separated by tabs, blank lines between sentences, "
        "tags of IOB2 (--input-format chooses another format)"
    )
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
    trained = tagkit("train", "--train", pair, "--dev", spans, "-o", tmp_path / "m", *_SMALL,
                     "--set=train.max_epochs=1", "--threads=1")  # fmt: skip
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
        (["nothing.conll", "new.jsonl"], "nothing.conll: no such file"),
        (["test.conll", "out.xyz"], "out.xyz: its name does not tell the format. Name one with"),
        (["test.conll", "out.csv"], "test.conll:1: csv needs a class for each text"),
        (["test.conll", "out", "--to", "conl"], "--to conl: expected one of columns, conllu"),
        (["test.conll", "out.conll", "--scheme", "iob9"], "--scheme: expected one of iob1, iob2"),
        (
            ["test.conll", "out.conll", "--input-format", "x"],
            "data.format = \"x\": expected 'auto'",
        ),
        (
            ["test.conll", ".", "--to", "brat"],
            ".: holds test.conll, which is read: name another fo",
        ),
        (["test.conll", "-", "--to", "brat"], "brat fills files: name a file or folder, and not -"),
        (["test.conll", ".", "--to", "slash"], ".: cannot be written: it is a folder, and the"),
        (["test.conll", "no/folder/x.ann"], "no/folder/x.ann: cannot be written: there is no fol"),
        (["test.conll", "no/folder/x.csv", "--to", "slash"], "no/folder/x.csv: cannot be written"),
    ],
)
def test_what_convert_cannot_do_is_told_in_a_line_and_leaves_nothing_behind(
    tagkit: Program, model: Path, arguments: list[str], message: str
) -> None:
    before = sorted(Path().rglob("*"))
    ended = tagkit("convert", *arguments)
    assert ended.code == 1
    assert ended.out == ""
    assert f"error: {message}" in ended.err.replace("configuration: ", "")
    assert "Traceback" not in ended.err
    assert sorted(Path().rglob("*")) == before


def test_misaligned_spans_are_listed_and_settled_as_the_option_says(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    spans = '[{"start": 1, "end": 4, "label": "LOC"}]'
    path.write_text(f'{{"text": "Oslo is far", "spans": {spans}}}\n' * 2, encoding="utf-8")
    refused = tagkit("convert", path, tmp_path / "a.conll")
    assert refused.code == 1
    told = "'slo' (LOC 1 4) does not fall on token edges: the tokens there are 'Oslo' (0 4)"
    assert refused.err.splitlines()[1:3] == [f"error: {path}:{n}: {told}" for n in (1, 2)]
    settled = tagkit("convert", path, tmp_path / "a.conll", "--on-misaligned", "expand")
    assert settled.err.splitlines()[1] == f"{path}:1: {told}; it becomes 'Oslo' (expand)"
    assert (tmp_path / "a.conll").read_text("utf-8") == "Oslo\tB-LOC\nis\tO\nfar\tO\n\n" * 2


def test_a_packed_output_is_the_same_bytes_each_time(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    for name in ("a.conll.gz", "b.conll.gz"):
        assert tagkit("convert", "test.conll", tmp_path / name).code == 0
    first, second = ((tmp_path / name).read_bytes() for name in ("a.conll.gz", "b.conll.gz"))
    assert first == second
    assert gzip.decompress(first) == Path("test.conll").read_bytes()


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


def test_check_reports_to_standard_output_and_fails_on_errors_alone(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    ended = tagkit("check", "train.conll", "dev.conll", "test.conll")
    assert ended.code == 0
    assert [line.split(":")[0] for line in ended.err.splitlines()] == [
        "train.conll", "dev.conll", "test.conll",
    ]  # fmt: skip
    assert ended.out.startswith("train.conll\n  format   columns\n  labels   IOB2 (all ")
    assert "fit to train on" in ended.out.splitlines()[-1]
    bad = tmp_path / "bad.conll"
    bad.write_text(Path("train.conll").read_text("utf-8") + "x\tI-LOC\n\ny\n", encoding="utf-8")
    ended = tagkit("check", bad, "--fix", tmp_path / "good.conll")
    assert ended.code == 1
    assert "is illegal in IOB2: 1 time" in ended.out
    assert f"wrote {tmp_path / 'good.conll'}; repairs:\n  I-LOC is now B-LOC: line" in ended.out
    facts = json.loads(tagkit("check", tmp_path / "good.conll", "--json").out)
    assert [f["kind"] for f in facts["findings"] if f["severity"] == "error"] == ["unreadable"]
    assert tagkit("check", "nothing").code == 1
    refused = tagkit("check", bad, "--fix", bad)
    assert refused.err.splitlines(keepends=True)[-1] == (
        f"error: {bad}: is read, and would be lost: name another file\n"
    )


@pytest.fixture(scope="module")
def intents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny corpus of texts with classes and a model of them."""
    folder = tmp_path_factory.mktemp("intents")
    files = tiny.classified(folder)
    with pytest.MonkeyPatch.context() as patch:
        train, dev, test = files.values()
        arguments = ["train", "--task", "classify", "--train", train, "--dev", dev, "--test", test]
        patch.setattr(sys, "argv", ["tagkit", *arguments, "-o", str(folder / "model"), *_SMALL])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
    return folder


def test_training_of_a_classifier_speaks_of_texts_and_classes(
    tagkit: Program, intents: Path, tmp_path: Path
) -> None:
    train, test = intents / "train.tsv", intents / "test.tsv"
    ended = tagkit(
        "train", "--task", "classify", "--train", train, "--test", test, "-o", tmp_path / "m",
        *_SMALL, "--set", "head.pooling=mean+max",
    )  # fmt: skip
    assert (ended.code, ended.out) == (0, "")
    assert re.search(r"train +\S+train.tsv +81 texts +\d+ tokens  3 classes\n", ended.err)
    assert re.search(r"dev +train.tsv \(split off\) +9 texts", ended.err)
    assert "model  BiLSTM with mean+max pooling, " in ended.err
    assert "epoch      loss  dev acc.        lr  tokens/s\n" in ended.err
    assert re.search(r"classes; accuracy [01]\.\d{4} of 20 texts\n", ended.err)


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


def test_eval_of_a_classifier_prints_its_matrix_and_files_are_compared(
    tagkit: Program, intents: Path, tmp_path: Path
) -> None:
    test = intents / "test.tsv"
    printed = tagkit("eval", intents / "model", test)
    assert printed.code == 0
    assert re.search(r"^classes; accuracy [01]\.\d{4} of 20 texts$", printed.out, re.M)
    scores = json.loads(tagkit("eval", intents / "model", test, "--json").out)
    cells = [cell for row in scores["confusion"].values() for cell in row.values()]
    assert sum(cells) == scores["texts"] == 20
    predicted = tmp_path / "found.jsonl"
    tagkit("predict", intents / "model", test, "--format", "jsonl", "-o", predicted)
    compared = json.loads(tagkit("eval", "--gold", test, "--pred", predicted, "--json").out)
    assert compared == scores


def test_a_matrix_is_printed_whole_or_as_its_largest_cells(tagkit: Program, tmp_path: Path) -> None:
    def compare(pairs: list[tuple[str, str]]) -> str:
        for name, side in (("gold", 0), ("found", 1)):
            rows = "".join(f"{pair[side]}\ttext {n}\n" for n, pair in enumerate(pairs))
            (tmp_path / f"{name}.tsv").write_text(f"label\ttext\n{rows}", encoding="utf-8")
        return tagkit("eval", "--gold", tmp_path / "gold.tsv", "--pred", tmp_path / "found.tsv").out

    small = compare([("a", "a"), ("a", "b"), ("b", "b"), ("b", "b")])
    rows = [re.findall(r"[\w\\ ]+", line) for line in small.split("\n") if "│" in line]
    assert [[cell.strip() for cell in row] for row in rows] == [["a", "1", "1"], ["b", "0", "2"]]
    names = [chr(ord("a") + n) for n in range(12)]
    large = compare([*zip(names, names[1:] + names[:1], strict=True), ("b", "c"), ("a", "a")])
    rows = [re.findall(r"\w+", line) for line in large.split("\n") if "│" in line]
    assert rows[0] == ["b", "c", "2"]
    assert len(rows) == 10
    right = compare([("a", "a"), ("b", "b")])
    assert "│" not in right


def test_info_tells_the_classes(tagkit: Program, intents: Path) -> None:
    out = tagkit("info", intents / "model").out
    assert re.search(r"^classes +greet, leave, order$", out, re.M)
    assert re.search(r"^test accuracy [01\d]+\.\d\d \(classes\)$", out, re.M)
    assert re.search(r"^train +\S+train.tsv: 90 texts, ", out, re.M)
    assert "reads" not in out


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
        "-o", tmp_path / "model", *_SMALL,
    )  # fmt: skip
    assert ended.code == 0
    assert "epoch      loss  dev mean        lr  tokens/s\n" in ended.err
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


@pytest.mark.slow
def test_benchmark_tells_speed_latency_memory_and_what_fewer_bits_cost(
    tagkit: Program, model: Path, home: Path
) -> None:
    found = json.loads(
        tagkit("benchmark", model, home / "test.conll", "--rounds", "1", "--json").out
    )
    assert (found["sentences"], found["tokens"]) == (20, 104)
    assert [speed["precision"] for speed in found["speeds"]] == ["fp32", "bf16", "int8"]
    report = json.loads(tagkit("eval", model, home / "test.conll", "--json").out)
    assert found["speeds"][0]["score"] == pytest.approx(report["micro"]["f1"])
    for speed in found["speeds"]:
        assert list(speed["tokens_per_s"]) == ["1", "32", "256"]
        assert all(rate > 0 for rate in speed["tokens_per_s"].values())
        assert 0 < speed["latency_ms"][0] <= speed["latency_ms"][1] <= speed["latency_ms"][2]
    assert min(found["torch_s"], found["startup_s"], found["command_s"]) > 0.3
    assert found["peak_mb"] > 100
    assert 0 < found["model_mb"] < 1
    refused = tagkit("benchmark", model, home / "none.conll")
    assert (refused.code, refused.err) == (1, f"error: {home}/none.conll: no such file\n")


def test_a_benchmark_is_printed_as_a_table_with_the_change_of_each_precision() -> None:
    speeds = (
        Speed("fp32", 0.9, {1: 10_000, 32: 50_000, 256: 90_000}, (0.5, 1.25, 2.0)),
        Speed("int8", 0.8951, {1: 11_000, 32: 60_000, 256: 99_000}, (0.4, 1.0, 1.5)),
    )
    lines = list(measured_lines(Measured(5000, 200, speeds, 2.0, 2.25, 3.5, 512.4, 1.84, 2)))
    assert [line.split() for line in lines[1:3]] == [
        ["fp32", "90.00", "+0.00", "10,000", "50,000", "90,000", "0.50", "1.25", "2.00"],
        ["int8", "89.51", "-0.49", "11,000", "60,000", "99,000", "0.40", "1.00", "1.50"],
    ]
    assert lines[0].index("p99") + 3 == len(lines[1])
    assert lines[4:] == [
        "tokens per second by sentences per batch; milliseconds for one sentence by itself",
        "corpus     200 sentences, 5,000 tokens",
        "threads    2",
        "start-up   2.25 s for one text, 0.25 s more than to import torch",
        "predict    3.50 s for the corpus, as a whole command",
        "memory     512 MB at its peak",
        "model      1.8 MB on disk",
    ]


@pytest.mark.parametrize(
    ("arguments", "without"),
    [
        (["convert", "test.conll", "test.jsonl", "--to", "jsonl-spans"], ["torch"]),
        (["check", "test.conll"], ["torch"]),
        (["predict", "model", "test.conll"], ["accelerate", "sklearn", "seqeval"]),
        (["eval", "model", "test.conll"], ["accelerate", "sklearn", "seqeval"]),
        (["eval", "--gold", "test.conll", "--pred", "test.conll"], ["torch", "seqeval"]),
    ],
)
def test_a_command_imports_no_more_than_it_needs(
    home: Path, model: Path, arguments: list[str], without: list[str]
) -> None:
    program = (
        f"import sys\nsys.argv = ['tagkit', *{arguments!r}]\n"
        "from tagkit.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert not ended.code\n"
        f"assert not {set(without)!r} & set(sys.modules)\n"
    )
    subprocess.run(
        [sys.executable, "-c", program], cwd=home, check=True, capture_output=True, timeout=120
    )


def test_training_twice_into_one_folder_is_refused_unless_that_is_said(
    model: Path, tagkit: Program
) -> None:
    files = ["--train", "train.conll", "--dev", "dev.conll", "-o", "twice", "--threads=1"]
    once = ["train", *files, "--set=train.max_epochs=1", *_SMALL[:-1], "-q"]
    assert tagkit(*once).code == 0
    refused = tagkit(*once)
    assert refused == Ended(
        1, "", "error: twice: holds a finished model; name another folder (-o), or replace it with "
        "--force\n"
    )  # fmt: skip
    assert tagkit(*once, "--force").code == 0
    assert tagkit(*once, "--resume").code == 0
    assert "--resume continues the run, --force starts a new one: name one" in tagkit(
        *once, "--force", "--resume"
    ).err  # fmt: skip


def test_several_seeds_are_told_with_mean_and_deviation(model: Path, tagkit: Program) -> None:
    files = ["--train", "train.conll", "--dev", "dev.conll", "--test", "test.conll", "-o", "many"]
    ended = tagkit("train", *files, "--seeds", "1,2", "--threads=1", *_SMALL)
    assert ended.code == 0
    assert "seed 1 (1 of 2)" in ended.err
    assert re.search(r"^ +standard deviation +[0-9.]+ +[0-9.]+$", ended.err, re.M)
    assert "saved many (" in ended.err
    assert tagkit("predict", "many", "test.conll").code == 0
    wrong = tagkit("train", *files, "--seeds", "1,x")
    assert wrong.err == 'error: configuration: train.seeds = "x": expected an integer\n'


def test_a_run_begins_with_another_model(model: Path, tagkit: Program) -> None:
    files = ["--train", "train.conll", "--dev", "dev.conll", "-o", "further", "--threads=1"]
    more = ["--set=train.max_epochs=1", "--set=train.lr=1e-9", "--init-from", str(model)]
    ended = tagkit("train", *files, *more)
    assert ended.code == 0
    assert re.search(r"best epoch 1, dev F1 (9[0-9]|100)\.", ended.err)


def test_a_search_without_optuna_says_what_to_install(
    model: Path, tagkit: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tagkit.cli.tune.find_spec", lambda name: None)
    ended = tagkit("tune", "--train", "train.conll", "-o", "nothing")
    assert ended == Ended(1, "", "error: tagkit tune: needs Optuna; pip install 'tagkit[tune]'\n")
    assert not Path("nothing").exists()
