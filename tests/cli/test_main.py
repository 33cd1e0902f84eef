"""The program as a whole: help, version, usage, what it imports."""

import os
import platform
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from program import Ended, Program
from says import Says, refuses
from typer.main import get_command

from tagkit import __version__
from tagkit.cli import main as main_module
from tagkit.cli.main import COMMANDS, _say_how_to_resume, app
from tagkit.cli.program.messages import use_flags
from tagkit.errors import Interrupted, TrainingError

GROUP: Any = typer.main.get_command(app)
SCALARS = [
    (command, max(param.opts, key=len))
    for command in COMMANDS
    for param in GROUP.get_command(None, command).params
    if param.param_type_name == "option" and not (param.is_flag or param.multiple)
]


def test_a_start_builds_one_command_of_all(
    tagkit: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = list[str]()
    made = typer.main.get_params_from_function
    monkeypatch.setattr(
        typer.main, "get_params_from_function",
        lambda function: built.append(function.__name__) or made(function),
    )  # fmt: skip
    assert tagkit("tag", "model").code == 1
    assert {name for name in built if name.endswith("_command")} == {"predict_command"}


@pytest.mark.parametrize(("command", "option"), SCALARS)
def test_an_option_of_one_value_that_is_given_twice_is_refused_in_every_command(
    tagkit: Program, command: str, option: str
) -> None:
    ended = tagkit(command, f"{option}=1", f"{option}=2")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == Says(option, "2 times")


def test_short_and_long_names_are_one_option_and_flags_may_be_repeated(
    tagkit: Program, tmp_path: Path
) -> None:
    ended = tagkit("predict", "model", "-o", "a", "--output", "b")
    assert ended.err == Says("--output", "2 times")
    gold = tmp_path / "both.conll"
    gold.write_text("Ada\tB-PER\tB-PER\n", encoding="utf-8")
    assert tagkit("eval", "--gold", gold, "--json", "--json").code == 0
    ended = tagkit("check", gold, "--set", "data.encoding=utf-8", "--set", "data.tag_column=1")
    assert ended.code == 0


MODELS = [
    command
    for command in COMMANDS
    if any(param.metavar == "MODEL" and param.param_type_name == "argument"
           for param in GROUP.get_command(None, command).params)
]  # fmt: skip


@pytest.mark.parametrize("command", MODELS)
@pytest.mark.parametrize("name", ["", " "])
def test_an_empty_name_of_a_model_is_not_the_current_folder(
    tagkit: Program, command: str, name: str
) -> None:
    rest = [] if command == "info" else ["test.conll"]
    assert tagkit(command, name, *rest) == Ended(1, "", Says("error: MODEL: ", "empty"))


def test_the_commands_of_models_are_known() -> None:
    assert {"predict", "eval", "generate", "calibrate", "benchmark", "info"} == {*MODELS}


def test_help_answers_in_under_0_4_seconds() -> None:
    program = [sys.executable, "-c", "from tagkit.cli.main import main; main()", "--help"]
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run(program, check=True, capture_output=True, timeout=20)
        times.append(time.perf_counter() - start)
    assert statistics.median(times) < 0.4


def test_help_and_a_mistake_in_the_configuration_import_neither_torch_nor_tokenizers() -> None:
    program = (
        "import sys\n"
        "from tagkit.cli.main import main\n"
        "for arguments in (['--help'], ['train', '--help'], ['train', '--set', "
        "'encoder.hiden=1']):\n"
        "    sys.argv = ['tagkit', *arguments]\n"
        "    try:\n        main()\n    except SystemExit:\n        pass\n"
        "slow = ('torch', 'seqeval', 'sklearn', 'syntok', 'regex')\n"
        "sys.exit(any(name in sys.modules for name in slow))"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=20)


def test_the_list_of_commands_imports_neither_pydantic_nor_rich() -> None:
    program = (
        "import sys\n"
        "from tagkit.cli.main import main\n"
        "sys.argv = ['tagkit', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "sys.exit(any(name in sys.modules for name in ('pydantic', 'rich', 'numpy')))"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=20)


@pytest.mark.parametrize(
    "command",
    ["train", "predict", "eval", "convert", "check", "calibrate", "benchmark", "config", "info"],
)
def test_every_command_has_help_with_an_example(tagkit: Program, command: str) -> None:
    ended = tagkit(command, "--help")
    assert ended.code == 0
    assert re.search(rf"Examples?:\n(.*\n)*?.*tagkit {command} ", ended.out)


def test_short_memory_ends_a_command_in_one_line_and_other_errors_of_torch_do_not(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(error: Exception) -> None:
        def app(*, obj: float) -> None:
            raise error

        monkeypatch.setattr(main_module, "app", app)

    full = "CUDA out of memory. Tried 20 GiB"
    for error, found in (
        (RuntimeError(f"{full}\nSee ..."), full), (MemoryError(), ""),
    ):  # fmt: skip
        fail(error)
        assert main_module._run(0.0) == 1
        assert capfd.readouterr().err == Says("error: ", "memory", found)
    fail(RuntimeError("shapes cannot be multiplied"))
    with refuses(RuntimeError, "shapes"):  # a mistake of ours, whose place counts
        main_module._run(0.0)


def test_a_run_that_has_done_nothing_is_not_to_be_resumed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # --resume would look for the run that --force was to replace.
    monkeypatch.setattr(sys, "argv", ["tagkit", "train", "--force"])
    _say_how_to_resume(Interrupted("stopped before the first step", is_saved=False))
    _say_how_to_resume(Interrupted("stopped after step 3"))
    use_flags({"resume": "--resume"})
    _say_how_to_resume(Interrupted("stopped; resume=True repeats the pass"))
    use_flags({})
    assert capsys.readouterr().err == (
        "stopped before the first step. To begin again: repeat the command\n"
        "stopped after step 3. To resume: tagkit train --resume\n"
        "stopped; --resume repeats the pass. To resume: tagkit train --resume\n"
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_resumed_by_its_flag_if_it_has_one(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["tagkit", command])
    _say_how_to_resume(Interrupted("stopped after step 3"))
    params = get_command(app).get_command(None, command).params  # type: ignore[attr-defined]
    has_flag = any("--resume" in param.opts for param in params)
    flag = " --resume" if has_flag else ""
    assert capsys.readouterr().err == f"stopped after step 3. To resume: tagkit {command}{flag}\n"
    assert has_flag == (command in ("train", "learning-curve", "predict"))


def test_version_is_told(tagkit: Program) -> None:
    assert tagkit("--version") == Ended(0, f"tagkit {__version__}\n", "")


def test_wrong_usage_ends_with_2(tagkit: Program) -> None:
    assert tagkit("predict").code == 2
    assert tagkit("train", "--no-such-option").code == 2
    assert tagkit("eval").code == 2
    assert tagkit("predict", "model", "--format", "xml").code == 2


def test_without_a_command_the_help_is_shown_line_by_line(tagkit: Program) -> None:
    ended = tagkit()
    assert ended.code == 2
    assert tagkit("--help").out.strip() == (ended.err + ended.out).strip()


@pytest.mark.parametrize(
    ("words", "option", "number"),
    [(("predict", "m", "--top"), "--top", 2**31),
     (("eval", "m", "f", "--threads"), "--threads", 10**20),
     (("generate", "m", "--max-units"), "--max-units", 10**30),
     (("audit", "f", "--repeats"), "--repeats", 2**31)],
)  # fmt: skip
def test_numbers_of_things_have_a_bound(
    tagkit: Program, words: tuple[str, ...], option: str, number: int
) -> None:
    ended = tagkit(*words, str(number))
    assert ended.code == 2
    assert Says(option, "2,147,483,647", str(number)[:3]).within(ended.err)


def test_commands_have_the_names_that_other_toolkits_give_them(
    tagkit: Program, model: Path
) -> None:
    assert tagkit("tag", model, stdin=b"Ada left.").out.startswith("Ada\tB-PER\n")
    assert tagkit("evaluate", model, "test.conll", "--json").code == 0


@pytest.mark.parametrize(
    ("commands", "without"),
    [
        # One process for all: what none of them together imports, none of them does.
        (["convert test.conll test.jsonl --to jsonl-spans --force", "check test.conll",
          "eval --gold test.conll --pred test.conll"], ["torch", "seqeval"]),
        pytest.param(
            ["predict model test.conll", "eval model test.conll"],
            ["sklearn", "seqeval"],
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ["train --train train.conll --dev dev.conll -o lean --set train.max_epochs=2"],
            ["matplotlib", "seqeval", "sklearn", "sympy", "torch._dynamo"],
            marks=pytest.mark.slow,
        ),
    ],
)  # fmt: skip
def test_commands_import_no_more_than_they_need(
    home: Path, model: Path, commands: list[str], without: list[str]
) -> None:
    program = (
        "import sys\n"
        "from tagkit.cli.main import main\n"
        f"for command in {commands!r}:\n"
        "    sys.argv = ['tagkit', *command.split()]\n"
        "    try:\n        main()\n"
        "    except SystemExit as ended:\n        assert not ended.code, command\n"
        f"    assert not {set(without)!r} & set(sys.modules), command\n"
    )
    subprocess.run(
        [sys.executable, "-c", program], cwd=home, check=True, capture_output=True, timeout=120
    )


@pytest.mark.parametrize(
    ("of_user", "found"),
    [
        ({}, ("32", None)),
        ({"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "7"}, ("7", None)),
        ({"DNNL_PRIMITIVE_CACHE_CAPACITY": "7"}, (None, "7")),  # the name of earlier versions
    ],
)
def test_a_command_keeps_few_kernels_unless_the_user_says_how_many(
    tagkit: Program,
    monkeypatch: pytest.MonkeyPatch,
    of_user: dict[str, str],
    found: tuple[str | None, str | None],
) -> None:
    names = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "DNNL_PRIMITIVE_CACHE_CAPACITY")
    # Set first, so that monkeypatch undoes what the command sets.
    for name in names:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    for name, value in of_user.items():
        monkeypatch.setenv(name, value)
    assert tagkit("--version").code == 0
    assert tuple(map(os.environ.get, names)) == found


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="heaps of threads are glibc's")
@pytest.mark.parametrize(("of_user", "heaps"), [({}, 1), ({"MALLOC_ARENA_MAX": "3"}, 3)])
def test_threads_of_a_command_share_a_heap_unless_the_user_says_how_many(
    of_user: dict[str, str], heaps: int, tmp_path: Path
) -> None:
    program = (
        "import ctypes, sys, threading\n"
        "from tagkit.cli.main import main\n"
        "sys.argv = ['tagkit', '--version']\n"
        "try:\n    main()\n"
        "except SystemExit:\n    pass\n"
        "libc = ctypes.CDLL(None)\n"
        "together = threading.Barrier(4)\n"
        "def take():\n"
        "    libc.malloc(5000)\n"
        "    together.wait()\n"
        "threads = [threading.Thread(target=take) for _ in range(4)]\n"
        "for thread in threads:\n    thread.start()\n"
        "for thread in threads:\n    thread.join()\n"
        "libc.fopen.restype = ctypes.c_void_p\n"
        f"file = ctypes.c_void_p(libc.fopen({str(tmp_path / 'heaps.xml')!r}.encode(), b'w'))\n"
        "libc.malloc_info(0, file)\n"
        "libc.fclose(file)\n"
    )
    kept = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    subprocess.run(
        [sys.executable, "-c", program], env=kept | of_user, check=True, capture_output=True,
        timeout=60,
    )  # fmt: skip
    assert (tmp_path / "heaps.xml").read_text().count("<heap nr=") == heaps


@pytest.mark.parametrize(
    ("command", "function"),
    [
        (["train"], "tagkit.training.trainer.train"),
        (["train", "--seeds", "1,2"], "tagkit.training.several.seeds.train_seeds"),
        (["tune", "--trials", "1"], "tagkit.training.several.tune.tune"),
    ],
)
def test_a_time_limit_counts_from_the_start_of_the_program(
    tagkit: Program, model: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], function: str
) -> None:
    def started(*_: object, started_s: float, **__: object) -> None:
        raise TrainingError(f"counts from {started_s}")

    if command[0] == "tune":
        pytest.importorskip("optuna")
    monkeypatch.setattr("tagkit.cli.main.time", SimpleNamespace(monotonic=lambda: 123.25))
    monkeypatch.setattr(function, started)
    ended = tagkit(*command, "--train", "train.conll", "-o", "limited", "--max-minutes", 1, "-q")
    assert ended == Ended(1, "", "error: counts from 123.25\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["convert", "test.conll", "NAME", "--to", "jsonl"],
        ["check", "test.conll", "--fix", "NAME"],
        ["eval", "model", "test.conll", "--html", "NAME"],
        ["audit", "test.conll", "-o", "NAME"],
        ["audit", "test.conll", "--weights", "NAME"],
        ["audit", "test.conll", "--html", "NAME"],
    ],
    ids=" ".join,
)
def test_the_name_of_an_output_that_is_one_file_does_not_end_in_a_slash(
    arguments: list[str], tagkit: Program, model: Path, tmp_path: Path
) -> None:
    named = f"{tmp_path}/new/"
    ended = tagkit(*(named if each == "NAME" else each for each in arguments))
    assert ended.code == 1
    assert ended.err.splitlines()[-1] == Says(f"error: {named}: ", "slash")
    assert not [*tmp_path.iterdir()]


def test_the_name_of_an_output_that_is_a_folder_may_end_in_a_slash(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    for number, arguments in enumerate(
        (["predict", model, "test.conll", "--format", "brat", "-o"],
         ["convert", "test.conll", "--to", "brat"],
         ["check", "test.conll", "dev.conll", "--fix"])
    ):  # fmt: skip
        ended = tagkit(*arguments, f"{tmp_path}/{number}/")
        assert ended.code == 0, ended.err
        assert len([*(tmp_path / f"{number}").iterdir()]) > 1
