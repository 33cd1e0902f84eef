"""The `tagkit` program: its commands, and how it ends.

Exit status: 0 done; 1 refused input or failed; 2 wrong usage; 129, 130 or 143 ended by SIGHUP (its
terminal was closed), SIGINT (Ctrl-C) or SIGTERM. Whatever the status, no temporary file stays.
"""

import atexit
import gc
import os
import shlex
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any

import typer
import typer.main

from tagkit import __version__
from tagkit.cli.commands import (
    audit,
    benchmark,
    calibrate,
    check,
    config,
    convert,
    eval,
    generate,
    info,
    learning_curve,
    predict,
    train,
    tune,
)
from tagkit.cli.program.messages import for_people
from tagkit.cli.program.parser import Command, Commands
from tagkit.cli.program.process import (
    STOPPED_BY_CTRL_C,
    Ended,
    clean_up_on_signal,
    finish,
    prepare_streams,
    say,
    status_of,
)
from tagkit.errors import Interrupted, TagkitError
from tagkit.models.base.memory import is_out_of_memory
from tagkit.training.processes.launcher import is_alone, is_first
from tagkit.wording import reason, visible

_M_ARENA_MAX = -8  # of glibc's malloc.h

# A new command is a module of its own, and its row here.
COMMANDS: dict[str, tuple[Callable[..., None], str]] = {
    "train": (train.train_command, train.EXAMPLES),
    "predict": (predict.predict_command, predict.EXAMPLES),
    "eval": (eval.eval_command, eval.EXAMPLES),
    "generate": (generate.generate_command, generate.EXAMPLES),
    "convert": (convert.convert_command, convert.EXAMPLES),
    "check": (check.check_command, check.EXAMPLES),
    "calibrate": (calibrate.calibrate_command, calibrate.EXAMPLES),
    "audit": (audit.audit_command, audit.EXAMPLES),
    "benchmark": (benchmark.benchmark_command, benchmark.EXAMPLES),
    "tune": (tune.tune_command, tune.EXAMPLES),
    "learning-curve": (learning_curve.learning_curve_command, learning_curve.EXAMPLES),
    "config": (config.config_command, config.EXAMPLES),
    "info": (info.info_command, info.EXAMPLES),
}
# What CRFsuite and spaCy call them.
ALIASES = {"tag": "predict", "evaluate": "eval"}


def _built(name: str) -> Any:
    """The command of a name or an alias, as typer makes it of a function's annotations."""
    function, examples = COMMANDS[ALIASES.get(name, name)]
    # A backspace, on a line of its own, keeps click from joining the lines below it.
    epilog = f"\b\n{examples}"
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, cls=Command, hidden=name in ALIASES, epilog=epilog)(function)
    return typer.main.get_command(alone)


class _Tagkit(Commands):
    """All commands, each built when it is asked for: all of them took 40 ms of each start."""

    def __init__(self, **attributes: Any) -> None:
        """Their names, in the order of the help."""
        super().__init__(**attributes)
        self.commands: Any = dict.fromkeys((*COMMANDS, *ALIASES))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name; None if there is none."""
        return _built(cmd_name) if cmd_name in self.commands else None


app = typer.Typer(
    name="tagkit",
    cls=_Tagkit,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tagkit {__version__}")
        raise typer.Exit


@app.callback(epilog="Example: tagkit train --train train.conll --dev dev.conll -o models/mine")
def tagkit(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Train taggers, text classifiers and language models, apply them, and score them."""


def main() -> None:
    """Run the program; an error that the user can correct is one line, never a traceback."""
    # The clock of a time limit: importing torch, within a command, counts.
    started_s = time.monotonic()
    # Threads that wait by spinning take the cores from whatever else runs: with two busy cores
    # training was three times as fast with this. torch's OpenMP reads it when torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # The modules of torch are 190,000 objects. With Python's own threshold the collector searches
    # them again and again while they are imported, which is a tenth of the start.
    gc.set_threshold(50_000, *gc.get_threshold()[1:])
    _limit_kernel_cache()
    _share_heap()
    # At the end Python would search all of torch's objects for garbage, for a second or more.
    atexit.register(gc.freeze)
    prepare_streams()
    status = _run(started_s)
    if (error := finish(sys.stdout)) and status == 0:
        status = _failed(error)
    finish(sys.stderr)
    sys.exit(status)


def _limit_kernel_cache() -> None:
    """Let oneDNN, which reads this when torch is imported, keep few kernels.

    By default it keeps 1,024, one for each shape of a batch. Shapes seldom occur twice: an epoch of
    CoNLL-2000 took 290 MB more at equal speed. 32 are enough for the kernels of one step.
    """
    # The second is oneDNN's name for it from before 2021, which it still reads.
    if not {"ONEDNN_PRIMITIVE_CACHE_CAPACITY", "DNNL_PRIMITIVE_CACHE_CAPACITY"} & os.environ.keys():
        os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] = "32"


def _share_heap() -> None:
    """Let all threads take memory from one heap, where the C library is glibc.

    By default each thread has a heap of its own, and keeps what it has freed: training on
    CoNLL-2000 with two threads took 23 MB more, at equal speed.
    """
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        import ctypes  # torch imports it anyway

        # Other C libraries lack the function.
        with suppress(AttributeError, OSError):
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def _run(started_s: float) -> int:
    """Run the command; its exit status. `context.obj` of a command is when the program started."""
    try:
        os.getcwd()
    except OSError:  # of which torch's libraries end the process with words of their own
        say("error: the current folder was removed: change to another one, and repeat the command")
        return 1
    try:
        with clean_up_on_signal():
            app(obj=started_s)
    except SystemExit as ended:  # click's own way
        if ended.code == STOPPED_BY_CTRL_C:  # which typer has made of a KeyboardInterrupt
            say("stopped")
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except Interrupted as error:
        _say_how_to_resume(error)
        return status_of(error)
    except TagkitError as error:
        for line in error.lines:
            say(f"error: {for_people(line)}")
    except (KeyboardInterrupt, Ended) as error:
        say("stopped")
        return status_of(error)
    except OSError as error:
        return _failed(error)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        # The rest of torch's message is advice on its allocator.
        found = str(error).strip().partition("\n")[0] or "the system has no more"
        say(f"error: too little memory: {for_people(found)}")
    return 1


def _failed(error: OSError) -> int:
    """Report what the system refused."""
    # The reader of our output may have ended (`| head`), which is no error.
    if not isinstance(error, BrokenPipeError):
        # An error without a file name comes from printing.
        name = "standard output" if error.filename is None else os.fsdecode(error.filename)
        done = "written" if error.filename is None else "used"
        say(for_people(f"error: {name}: cannot be {done}: {reason(error)}"))
    return 1


def _say_how_to_resume(error: Interrupted) -> None:
    if not is_first():  # of several processes only the first reports
        return
    stopped = for_people(error.lines[0])
    if not error.is_saved:  # --resume would look for the run that was there before
        say(f"{stopped}. To begin again: repeat the command")
        return
    if not is_alone():
        say(f"{stopped}. To resume: the same command with --resume")
        return
    options = [word for word in sys.argv[1:] if word not in ("--resume", "--force")]
    row = COMMANDS.get(options[0])
    # The same `tune` command resumes its search.
    if row is not None and "resume" in row[0].__annotations__:
        options.append("--resume")
    say(f"{stopped}. To resume: {visible(shlex.join(['tagkit', *options]))}")
