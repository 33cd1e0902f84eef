"""Commands and their outputs: nothing is lost or exposed, and nothing ends in a traceback."""

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from marks import mostly_slow
from says import Says

CORPUS = "Ada\tB-PER\nleft\tO\n\nRome\tB-LOC\n\n"
MAIN = "from tagkit.cli.main import main; main()"
FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="the system has no /dev/full")


Ended = subprocess.CompletedProcess[str]


@pytest.fixture(autouse=True)
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("train.conll")
    path.write_text(CORPUS, encoding="utf-8")
    return path


def tagkit(*arguments: str, before: str = "", shell: str = "") -> Ended:
    """The program in a process of its own, after some Python; `shell` follows the command."""
    words = [sys.executable, "-c", f"{before}\n{MAIN}", *arguments]
    command = ["sh", "-c", f'"$@" {shell}', "sh", *words] if shell else words
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    ended.stderr = without_notes(ended.stderr)
    return ended


def without_notes(text: str) -> str:
    """What was printed, but for the notes on what a file was recognised as."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if ": read as " not in line)


def left() -> list[str]:
    """What is in the folder, hidden files too."""
    return sorted(path.name for path in Path().iterdir())


def mode(path: str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


# Modes, links, devices


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ["convert", "train.conll", "out.jsonl", "--force"],
        ["check", "train.conll", "--fix", "out.jsonl", "--force"],
    ],
)
def test_a_0600_file_keeps_its_mode_and_a_new_one_gets_what_the_umask_gives(
    command: list[str],
) -> None:
    Path("out.jsonl").touch()
    os.chmod("out.jsonl", 0o600)
    ended = tagkit(*command)
    assert ended.returncode == 0, ended.stderr
    assert Path("out.jsonl").stat().st_size
    assert mode("out.jsonl") == 0o600
    os.remove("out.jsonl")
    for mask, expected in ((0o077, 0o600), (0o002, 0o664)):
        assert tagkit(*command, before=f"import os; os.umask({mask})").returncode == 0
        assert mode("out.jsonl") == expected
        os.remove("out.jsonl")


@pytest.mark.slow
def test_files_and_folders_of_several_copies_get_what_the_umask_gives() -> None:
    Path("dev.conll").write_text(CORPUS, encoding="utf-8")
    ended = tagkit(
        "check", "train.conll", "dev.conll", "--fix", "copies", before="import os; os.umask(0o077)"
    )
    assert (ended.returncode, mode("copies"), mode("copies/dev.conll")) == (0, 0o700, 0o600)
    ended = tagkit(
        "convert", "train.conll", "brat", "--to=brat", before="import os; os.umask(0o077)"
    )
    assert (ended.returncode, mode("brat"), mode("brat/00001.txt")) == (0, 0o700, 0o600)


def test_a_link_stays_and_its_target_is_written() -> None:
    Path("end.jsonl").write_text("old", encoding="utf-8")
    Path("middle.jsonl").symlink_to("end.jsonl")
    Path("first.jsonl").symlink_to(Path("middle.jsonl").absolute())
    assert tagkit("convert", "train.conll", "first.jsonl", "--force").returncode == 0
    assert (os.readlink("middle.jsonl"), Path("first.jsonl").is_symlink()) == ("end.jsonl", True)
    assert Path("end.jsonl").read_text("utf-8").startswith('{"tokens": ["Ada", "left"]')


@pytest.mark.slow
def test_the_target_of_a_dangling_link_is_made() -> None:
    Path("link.jsonl").symlink_to("new.jsonl")
    assert tagkit("convert", "train.conll", "link.jsonl").returncode == 0
    assert Path("link.jsonl").is_symlink()
    assert Path("new.jsonl").read_text("utf-8").startswith('{"tokens": ["Ada", "left"]')
    Path("gone.jsonl").symlink_to("nowhere/new.jsonl")
    ended = tagkit("convert", "train.conll", "gone.jsonl")
    nowhere = Path("nowhere").absolute()
    assert ended.stderr == Says("gone.jsonl", nowhere)


def test_links_in_a_circle_are_refused() -> None:
    Path("a.jsonl").symlink_to("b.jsonl")
    Path("b.jsonl").symlink_to("a.jsonl")
    ended = tagkit("convert", "train.conll", "a.jsonl")
    assert ended.stderr == Says("a.jsonl", "symbolic")


@pytest.mark.slow
def test_a_device_is_written_through_and_stays() -> None:
    try:
        os.mknod("null.jsonl", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        os.mknod("full.jsonl", stat.S_IFCHR | 0o666, os.makedev(1, 7))
    except OSError as error:
        pytest.skip(f"no device can be made here: {error}")
    assert tagkit("convert", "train.conll", "null.jsonl").returncode == 0
    ended = tagkit("convert", "train.conll", "full.jsonl")
    assert ended.stderr == Says("full.jsonl", "written")
    for name in ("null.jsonl", "full.jsonl"):
        assert stat.S_ISCHR(os.stat(name).st_mode)
    assert left() == ["full.jsonl", "null.jsonl", "train.conll"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_named_pipe_is_written_through_and_stays() -> None:
    os.mkfifo("pipe.jsonl")
    read: list[str] = []
    thread = threading.Thread(
        target=lambda: read.append(Path("pipe.jsonl").read_text("utf-8")), daemon=True
    )
    thread.start()
    ended = tagkit("convert", "train.conll", "pipe.jsonl")
    if not stat.S_ISFIFO(os.stat("pipe.jsonl").st_mode):  # else the thread ends by itself
        os.remove("pipe.jsonl")
        pytest.fail("the pipe was replaced")
    thread.join(timeout=20)
    assert ended.returncode == 0
    assert [json.loads(line)["tokens"] for line in read[0].splitlines()] == [
        ["Ada", "left"],
        ["Rome"],
    ]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="the system has no /dev/stdout")
def test_dev_stdout_is_standard_output_wherever_that_goes() -> None:
    words = ("convert", "train.conll", "/dev/stdout", "--to", "slash")
    assert tagkit(*words).stdout == "Ada/B-PER left/O\nRome/B-LOC\n"
    Path("all.txt").write_text("before\n", encoding="utf-8")
    assert tagkit(*words, shell=">> all.txt").returncode == 0
    assert Path("all.txt").read_text("utf-8") == "before\nAda/B-PER left/O\nRome/B-LOC\n"


def test_a_descriptor_of_more_digits_than_any_has_is_refused() -> None:
    name = f"/dev/fd/{'9' * 100}"
    ended = tagkit("convert", "train.conll", name, "--to", "slash")
    assert ended.returncode == 1
    assert ended.stderr == Says(name, "directory")


# Corpora that are there


@pytest.mark.slow
def test_convert_replaces_a_file_with_force_alone() -> None:
    Path("out.jsonl").write_text("mine", encoding="utf-8")
    ended = tagkit("convert", "train.conll", "out.jsonl")
    assert ended.returncode == 1
    assert ended.stderr == (Says("out.jsonl", "--force"))
    assert Path("out.jsonl").read_text("utf-8") == "mine"
    assert tagkit("convert", "train.conll", "out.jsonl", "--force").returncode == 0
    assert Path("out.jsonl").read_text("utf-8").startswith("{")


@pytest.mark.slow
def test_the_second_file_of_a_pair_is_not_replaced_either() -> None:
    Path("notes.txt").write_text("mine", encoding="utf-8")
    ended = tagkit("convert", "train.conll", "notes.ann")
    assert ended.returncode == 1
    assert Says("notes.txt", "written").within(ended.stderr)
    assert Path("notes.txt").read_text("utf-8") == "mine"
    assert left() == ["notes.txt", "train.conll"]
    assert tagkit("convert", "train.conll", "notes.ann", "--force").returncode == 0
    assert Path("notes.txt").read_text("utf-8") == "Ada left\nRome\n"


def test_a_file_that_appears_meanwhile_is_not_replaced() -> None:
    before = (
        "import os\nlink = os.link\n"
        "def late(*names):\n    open('out.jsonl', 'w').write('mine')\n    return link(*names)\n"
        "os.link = late"
    )
    ended = tagkit("convert", "train.conll", "out.jsonl", before=before)
    assert (ended.returncode, Path("out.jsonl").read_text("utf-8")) == (1, "mine")
    assert "error: out.jsonl: " in ended.stderr
    assert left() == ["out.jsonl", "train.conll"]


@pytest.mark.parametrize("how", mostly_slow(["hard link", "relative", "itself", "link"], always=2))
def test_an_input_is_never_replaced_by_whatever_name(how: str, tmp_path: Path) -> None:
    name = "train.conll"
    if how == "link":
        Path("other.conll").symlink_to(name)
        name = "other.conll"
    elif how == "hard link":
        os.link(name, "other.conll")
        name = "other.conll"
    elif how == "relative":
        name = f"../{tmp_path.name}/train.conll"
    same = "" if how == "itself" else " (train.conll)"
    for command in (["convert", "train.conll", name, "--scheme", "iobes", "--force"],
                    ["check", "train.conll", "--fix", name, "--force"]):  # fmt: skip
        ended = tagkit(*command)
        assert ended.returncode == 1
        assert Says(name, same).within(ended.stderr)
        assert Path("train.conll").read_text("utf-8") == CORPUS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "output"),
    [("notes.txt", "notes.ann"), ("notes.ann", "notes.txt"), ("notes.ann", "notes.ann")],
)
def test_the_two_files_of_a_pair_are_both_inputs_and_both_outputs(source: str, output: str) -> None:
    contents = {"notes.txt": "Ada left\n", "notes.ann": "T1\tPER 0 3\tAda\n"}
    for name, content in contents.items():
        Path(name).write_text(content, encoding="utf-8")
    for more in ([], ["--to", "slash"]):
        ended = tagkit("convert", source, output, "--force", *more)
        if (source, more) != ("notes.txt", ["--to", "slash"]):
            assert ended.returncode == 1
            assert "is an input" in ended.stderr
        assert {name: Path(name).read_text("utf-8") for name in contents} == contents


def test_a_source_is_no_part_of_the_pair_that_is_made_of_it() -> None:
    Path("notes.txt").write_text("Ada/B-PER left/O\n", encoding="utf-8")
    ended = tagkit("convert", "notes.txt", "notes.ann", "--input-format", "slash", "--force")
    assert (ended.returncode, left()) == (1, ["notes.txt", "train.conll"])
    assert ended.stderr == Says("notes.txt", "another")
    assert Path("notes.txt").read_text("utf-8") == "Ada/B-PER left/O\n"


def test_a_file_of_a_folder_that_is_read_is_not_replaced() -> None:
    for label in ("good", "bad"):
        Path("texts", label).mkdir(parents=True)
        Path("texts", label, "1.txt").write_text("a text", encoding="utf-8")
    ended = tagkit("convert", "texts", "texts/bad/1.txt", "--to", "tsv", "--force")
    assert ended.stderr == Says("1", "another")
    assert Path("texts/bad/1.txt").read_text("utf-8") == "a text"


def test_standard_input_is_an_input_too() -> None:
    ended = tagkit("convert", "-", "train.conll", "--scheme", "iobes", "--force",
                   shell="< train.conll")  # fmt: skip
    assert ended.returncode == 1
    assert Path("train.conll").read_text("utf-8") == CORPUS


def test_nothing_is_appended_to_an_input() -> None:
    ended = tagkit("convert", "train.conll", "-", "--to", "conllu", shell=">> train.conll")
    assert ended.returncode == 1
    assert ended.stderr == (Says("train.conll", "FILE"))
    assert Path("train.conll").read_text("utf-8") == CORPUS


@pytest.mark.parametrize(
    "order",
    mostly_slow([["train.conll", "dev.conll"], ["dev.conll", "train.conll"]], always=1),
)
def test_repair_replaces_no_file_that_is_there(order: list[str]) -> None:
    Path("dev.conll").write_text(CORPUS + "x\tI-PER\n", encoding="utf-8")
    ended = tagkit("check", order[1], "--fix", order[0])  # as if --fix mended in place
    assert ended.returncode == 1
    assert ended.stderr == (Says(order[0], "--force"))
    assert Path("train.conll").read_text("utf-8") == CORPUS
    assert Path("dev.conll").read_text("utf-8") == CORPUS + "x\tI-PER\n"


@pytest.mark.slow
def test_a_folder_of_copies_is_filled_but_its_files_are_not_replaced() -> None:
    Path("dev.conll").write_text(CORPUS, encoding="utf-8")
    Path("out").mkdir()
    Path("out/dev.conll").write_text("mine", encoding="utf-8")
    command = ("check", "train.conll", "dev.conll", "--fix", "out")
    ended = tagkit(*command)
    assert "error: out/dev.conll: " in ended.stderr
    assert sorted(os.listdir("out")) == ["dev.conll"]
    assert Path("out/dev.conll").read_text("utf-8") == "mine"
    assert tagkit(*command, "--force").returncode == 0
    assert Path("out/dev.conll").read_text("utf-8") == CORPUS
    refused = tagkit("check", "train.conll", "dev.conll", "--fix", ".", "--force")
    assert refused.stderr == Says("train.conll", "another")


@pytest.mark.slow
def test_a_folder_is_never_replaced() -> None:
    Path("brat").mkdir()
    assert (
        tagkit("convert", "train.conll", "brat", "--to=brat").returncode == 0
    )  # an empty one is filled
    before = sorted(os.listdir("brat"))
    ended = tagkit("convert", "train.conll", "brat", "--to=brat", "--force")
    assert ended.stderr == Says("already")
    assert sorted(os.listdir("brat")) == before == ["00001.ann", "00001.txt", "00002.ann",
                                                    "00002.txt"]  # fmt: skip


@pytest.mark.slow
def test_a_folder_that_holds_the_input_is_not_to_be_removed() -> None:
    assert tagkit("convert", "train.conll", "brat", "--to=brat").returncode == 0
    for output in ("brat", "brat/../brat", "."):
        ended = tagkit("convert", "brat", output, "--to=brat")
        assert ended.returncode == 1
        assert ended.stderr.startswith(f"error: {output}: holds brat/0000")
        assert Says("another") == ended.stderr


@pytest.mark.parametrize(
    ("command", "option"),
    [(["convert", "train.conll", ""], "OUT"), (["check", "train.conll", "--fix", ""], "--fix")],
)
def test_an_empty_name_of_an_output_is_refused(command: list[str], option: str) -> None:
    ended = tagkit(*command)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == Says(option, "folder")
    assert left() == ["train.conll"]


# Places that cannot be written are refused before any work is done


@pytest.mark.parametrize(
    ("name", "message"),
    mostly_slow(
        [
            ("no/x.jsonl", "no/x.jsonl: "),
            ("folder", "folder: "),
            ("train.conll/x.jsonl", "train.conll/x.jsonl: "),
            ("a" * 300, "File name too long"),
        ],
        always=2,
    ),
)
def test_a_place_that_cannot_be_written_is_named(name: str, message: str) -> None:
    Path("folder").mkdir()
    ended = tagkit("convert", "train.conll", name, "--to", "slash")
    assert (ended.returncode, len(ended.stderr.splitlines())) == (1, 1)
    assert message in ended.stderr


@pytest.mark.parametrize("command", ["convert", "check"])
def test_the_output_is_looked_at_before_the_input(command: str) -> None:
    Path("train.conll").write_bytes(b"\xff\xfe\x00")  # reading would fail
    option = ["--fix"] if command == "check" else []
    ended = tagkit(command, "train.conll", *option, "no/out.conll")
    assert "error: no/out.conll: " in ended.stderr
    assert ended.stdout == ""


def test_a_name_of_255_bytes_is_written() -> None:
    name = "a" * 249 + ".jsonl"
    assert tagkit("convert", "train.conll", name).returncode == 0
    assert left() == [name, "train.conll"]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "setuid"), reason="the system has no users")
def test_a_folder_without_permission_is_named_also_behind_a_link(tmp_path: Path) -> None:
    Path("locked").mkdir(mode=0o555)
    Path("link").symlink_to("locked")
    Path("mine.jsonl").touch()
    os.chmod("mine.jsonl", 0o444)
    before = ""
    if os.geteuid() == 0:  # whom no mode keeps out: go on as another user, with all imported
        for folder in (tmp_path, *tmp_path.parents[:3]):  # the last one is of a worker of xdist
            folder.chmod(folder.stat().st_mode | 0o055)
        # Packages that are imported late may lie where the other user cannot read.
        before = (
            "import contextlib, io, os, sys, tagkit.cli.main, tagkit.cli.program.console\n"
            "import tagkit.corpus.convert.convert, tagkit.corpus.formats.folders.file_sets\n"
            "given, words = sys.argv, 'convert train.conll warm --to slash'\n"
            "sys.argv = ['tagkit', *words.split()]\n"
            "with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(SystemExit):\n"
            "    tagkit.cli.main.main()\n"
            "os.remove('warm'); sys.argv = given; os.setuid(65534)"
        )
    for name in ("locked/x.jsonl", "link/x.jsonl"):
        ended = tagkit("convert", "train.conll", name, before=before)
        locked = tmp_path / "locked"
        assert ended.stderr == (Says(name, locked))
    ended = tagkit("convert", "train.conll", "mine.jsonl", "--force", before=before)
    assert "mine.jsonl: " in ended.stderr


# Standard streams


@needs_full
@pytest.mark.parametrize(
    "command",
    mostly_slow(
        [["check", "train.conll"], ["convert", "train.conll", "-", "--to", "slash"], ["--help"],
         ["check", "train.conll", "--json"], ["convert", "--help"], ["--version"]],
        always=1,
    ),
)  # fmt: skip
def test_a_full_disk_behind_standard_output_is_one_line(command: list[str]) -> None:
    for shell, problem in (
        (">/dev/full", "No space left on device"),
        (">&-", "Bad file descriptor"),
    ):
        ended = tagkit(*command, shell=shell)
        assert ended.returncode == 1
        assert ended.stderr == Says(problem, "standard")


@pytest.mark.slow
@needs_full
@pytest.mark.parametrize("shell", ["2>/dev/full", "2>&-"])
def test_nobody_needs_to_read_the_messages(shell: str) -> None:
    ended = tagkit("convert", "train.conll", "out.slash", "--to", "slash", shell=shell)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert Path("out.slash").read_text("utf-8") == "Ada/B-PER left/O\nRome/B-LOC\n"
    assert tagkit("convert", "nothing", "out", shell=shell).returncode == 1


@pytest.mark.slow
def test_a_closed_standard_input_is_one_line() -> None:
    ended = tagkit("convert", "-", "out.jsonl", shell="<&-")
    assert (ended.returncode, left()) == (1, ["train.conll"])
    assert ended.stderr == "error: standard input: is closed; name a file\n"
    # An output is not taken for one of the streams because it has got their number.
    ended = tagkit("convert", "train.conll", "out.jsonl", shell="<&- >&- 2>&-")
    assert ended.returncode == 0
    assert len(Path("out.jsonl").read_text("utf-8").splitlines()) == 2


# What is no text


@pytest.mark.parametrize(
    ("encoding", "content"),
    mostly_slow(
        [("utf-7", b"a\tO\n+2AA-\tO\n"), ("unicode_escape", b"a\tO\n\\ud800\tO\n")], always=1
    ),
)
def test_half_of_a_surrogate_pair_is_refused_with_its_line(encoding: str, content: bytes) -> None:
    Path("odd.conll").write_bytes(content)
    ended = tagkit("convert", "odd.conll", "-", "--to", "slash", "--encoding", encoding)
    assert ended.stderr == Says("error: odd.conll:2: ", "U+D800", "--encoding")
    ended = tagkit("check", "odd.conll", "--encoding", encoding)
    assert ended.returncode == 1
    assert "odd.conll:2: " in ended.stdout


@pytest.mark.slow
def test_a_file_name_that_is_no_text_is_read_written_and_shown() -> None:
    name = os.fsdecode(b"caf\xe9.conll")
    try:
        Path("train.conll").rename(name)
    except OSError as error:
        pytest.skip(f"the file system takes no such name: {error}")
    ended = tagkit("check", name)
    assert (ended.returncode, ended.stdout.splitlines()[0]) == (0, "caf\\udce9.conll")
    facts = json.loads(tagkit("check", name, "--json").stdout)
    assert facts["files"][0]["file"] == name
    copy = os.fsdecode(b"copi\xe9.conll")
    ended = tagkit("convert", name, copy)
    assert (ended.returncode, Path(copy).exists()) == (0, True)
    ended = tagkit("train", "--train", name, "-o", "model")
    assert ended.stderr == (Says("--train", '"caf\\udce9.conll"', "UTF", "8"))


def test_what_standard_output_cannot_encode_is_escaped_as_json_has_it() -> None:
    Path("train.conll").write_text("日😀\tB-e😀\n", encoding="utf-8")
    ended = tagkit("check", "train.conll", "--json",
                   before="import sys; sys.stdout.reconfigure(encoding='latin-1')")  # fmt: skip
    assert "\\ud83d\\ude00" in ended.stdout
    assert json.loads(ended.stdout)["files"][0]["labels"] == {"e😀": 1}


# Signals

# In the midst of the last step: all is written beside its place.
SIGNALLED = """
import os, signal
def end(*_): signal.raise_signal({number}); return signal.pause()
os.replace = os.link = os.rename = end
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of a shell
"""


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGTERM, 143),
        pytest.param(signal.SIGHUP, 129, marks=pytest.mark.slow),
        (signal.SIGINT, 130),
    ],
)
@pytest.mark.parametrize(
    "command",
    mostly_slow(  # one file, and a folder
        (
            words.split()
            for words in (
                "convert train.conll out.jsonl", "convert train.conll brat --to=brat",
                "convert train.conll notes.ann", "check train.conll --fix out.conll",
            )
        ),
        always=2,
    ),
)  # fmt: skip
def test_a_signal_leaves_no_temporary_file_and_is_the_status(
    number: signal.Signals, status: int, command: list[str]
) -> None:
    ended = tagkit(*command, before=SIGNALLED.format(number=int(number)))
    assert ended.returncode == status
    assert "Traceback" not in ended.stderr
    assert left() == ["train.conll"]


def test_nohup_is_respected() -> None:
    before = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    before += "import os; link = os.link\n"
    before += "os.link = lambda *names: [signal.raise_signal(signal.SIGHUP), link(*names)]"
    assert tagkit("convert", "train.conll", "out.jsonl", before=before).returncode == 0
    assert left() == ["out.jsonl", "train.conll"]


@pytest.mark.slow
@pytest.mark.parametrize("output", ["out.jsonl", "brat"])
def test_what_a_killed_process_left_is_removed_by_the_next_one(output: str) -> None:
    killed = SIGNALLED.format(number=int(signal.SIGKILL))
    command = ("convert", "train.conll", output, *(["--to=brat"] if output == "brat" else []))
    Path(".tagkit-notes.writing").touch()  # not ours
    assert tagkit(*command, before=killed).returncode == -signal.SIGKILL
    assert len(left()) == 3
    assert tagkit("convert", "train.conll", "other.jsonl").returncode == 0
    assert len(left()) == 4  # it may belong to whoever writes the first one
    assert tagkit(*command).returncode == 0
    assert left() == sorted([".tagkit-notes.writing", "other.jsonl", output, "train.conll"])
