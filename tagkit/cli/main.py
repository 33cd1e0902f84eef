"""The `tagkit` program: its commands, and how it ends.

Exit status: 0 done; 1 refused input or failed; 2 wrong usage; 129, 130 or 143 ended by SIGHUP (its
terminal was closed), SIGINT (Ctrl-C) or SIGTERM. Whatever the status, no temporary file stays.

typer's classes are adapted: it shows an argument as `{FILE}` and `FILE <list[str]>`, and a default
in words as `(by name)`; most programs write `FILE` and `by name`, and so does this one.
"""

import atexit
import gc
import os
import re
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

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
from tagkit.cli.program import messages, option_fields, refusals
from tagkit.cli.program.messages import for_people
from tagkit.cli.program.process import (
    STOPPED_BY_CTRL_C,
    Ended,
    clean_up_on_signal,
    finish,
    prepare_streams,
    say,
    status_of,
)
from tagkit.errors import DataError, Interrupted, TagkitError
from tagkit.models.base.memory import is_out_of_memory
from tagkit.training.processes.launcher import is_alone, is_first
from tagkit.wording import clipped, joined, message_line, quoted, reason, visible

# Phrases of the library that checks the options' values, and what they mean.
_PHRASES = (
    (re.compile(r"^Value error, "), ""),
    (re.compile(r"Input should be a valid integer.*"), "expected a whole number"),
    (re.compile(r"Input should be a valid number.*"), "expected a number"),
    (re.compile(r"Input should be (?=greater|less)"), "expected a number "),
    (re.compile(r"Input should be "), "expected "),
)
_LARGEST = 2**31 - 1  # of a number of things
_TYPE = re.compile(r" <[^<>]*>$")  # after the name of an argument
# What typer adds to a help text: `[default: (by name); x>=0; required]`.
_EXTRAS = re.compile(r"(?P<text>.*?)  \[(?P<extras>.*)\]", re.DOTALL)
_CHOICES = "{choices}"  # in a help text: where those of the option of the configuration stand
# click's, which newer versions of typer carry inside themselves.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]


class Command(TyperCommand):
    """One command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; an option of one value that is given twice is refused.

        click would take the last value in silence, and the user would believe that both counted.
        """
        try:
            values, _, given = self.make_parser(ctx).parse_args(args=list(args))
        except _UsageError as error:
            self._name_remedy(ctx, args, error)
            raise
        counts: Counter[Any] = Counter(given if not ctx.resilient_parsing else ())
        for param, times in counts.items():
            name = max(param.opts, key=len)
            if param.param_type_name == "argument":
                if param.metavar == "MODEL":
                    _refuse_empty(values[param.name])
            # A flag that is given twice means what it means once.
            elif times > 1 and not (param.multiple or param.is_flag):
                ctx.fail(
                    f"{name} takes one value, and is given {times} times: leave out all but one"
                )
        rest = super().parse_args(ctx, args)
        for param in self.get_params(ctx):
            value = ctx.params.get(param.name)
            # No file has as many lines, and the libraries below count in 32 or 64 bits.
            if isinstance(value, int) and value > _LARGEST and param.name != "seed":
                name = max(param.opts, key=len)
                ctx.fail(f"{name}: expected at most {_LARGEST:,}, found {clipped(str(value))}")
        return list(rest)

    def _name_remedy(self, ctx: Any, args: list[str], error: Any) -> None:
        """Of an unknown option say what sets the option of the configuration that it means."""
        if (option := getattr(error, "option_name", None)) is None or "No such" not in str(error):
            return
        from tagkit.config import option_names

        # Of -epoch click has read -e.
        typed = next((each for each in args if each.startswith(option)), option).partition("=")[0]
        takes_set = any("--set" in param.opts for param in self.get_params(ctx))
        names = option_names() if takes_set else ()
        flags = option_fields.flags_by_name(ctx.command.callback)
        if remedy := refusals.remedy_for(typed, flags, names):
            ctx.fail(f"No such option: {typed}; use {remedy}")

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What follows the command's name in its usage: [OPTIONS] MODEL [FILE]..."""
        pieces = ["[OPTIONS]"]
        for param in self.get_params(ctx):
            if param.param_type_name == "argument":
                name = param.metavar if param.required else f"[{param.metavar}]"
                pieces.append(f"{name}..." if param.nargs != 1 else f"{name}")
        return pieces

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options, each with what it means."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            _complete(ctx, param)
            record = param.get_help_record(ctx)
            if record is not None:
                kind = "Arguments" if param.param_type_name == "argument" else "Options"
                sections[kind].append(_plain(kind, *record))
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def _refuse_empty(given: Any) -> None:
    """Refuse an empty name of a model's folder, as of an unset variable of a shell.

    Here, where it is still text: the path of an empty name is ".", the current folder.
    """
    names = given if isinstance(given, list | tuple) else [given]
    if any(isinstance(name, str) and not name.strip() for name in names):  # one may be missing
        raise DataError("MODEL: expected the folder of a model, found an empty name")


def _complete(ctx: Any, param: Any) -> None:
    """Give a flag without a help text that of the option that it sets, or its choices to one.

    Only here, where help is shown: the configuration is slow to import (pydantic), and
    `tagkit --help` does without it.
    """
    if param.param_type_name == "argument" or (param.help and _CHOICES not in param.help):
        return
    from tagkit.cli.program.completion import choices_of
    from tagkit.config import option_text

    flags = option_fields.flags_by_name(ctx.command.callback)
    *_, name = (name for name, flag in flags.items() if flag in param.opts)  # after the field
    if param.help:
        choices = [choice for choice in choices_of(name) if choice != "auto"]
        param.help = param.help.replace(_CHOICES, joined(choices))
        return
    param.help, default = option_text(name)
    if not isinstance(param.show_default, str):  # one command may choose a value of its own
        param.show_default = default or False


def _plain(kind: str, name: str, text: str) -> tuple[str, str]:
    """A line of the help without typer's own notation."""
    if kind == "Arguments":
        name = _TYPE.sub("", name)  # a metavar says what is meant: FILE
    found = _EXTRAS.fullmatch(text)
    if found is None:
        return name, text
    extras = found["extras"]
    # Usage shows by its brackets what may be left out.
    extras = re.sub(r"(^|; )required$", "", extras)
    extras = re.sub(r"^default: \((.*)\)(; [^;]*)?$", r"default: \1\2", extras)
    return name, f"{found['text']}  [{extras}]" if extras else found["text"]


class Commands(TyperGroup):
    """The commands, whose usage errors quote arguments safely."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the options before the command."""
        with _quoting_safely():
            return super().make_context(*args, **kwargs)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command, and remember its flags: messages name those that it has."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and command.callback is not None:
            messages.use_flags(option_fields.flags_by_name(command.callback))
        return name, command, rest

    def invoke(self, *args: Any, **kwargs: Any) -> Any:
        """Read the command's arguments, and run it."""
        with _quoting_safely():
            return super().invoke(*args, **kwargs)


@contextmanager
def _quoting_safely() -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        message = getattr(error, "message", None)
        # Without a command the message is the help, which has lines.
        if isinstance(message, str) and type(error).__name__ != "NoArgsIsHelpError":
            said = f"{_in_our_words(message)}{_found(error)}"
            error.message = message_line(said)  # type: ignore[attr-defined]
        raise


def _found(error: Exception) -> str:
    """', found 'x'' of the value of an option that is refused; empty for other errors."""
    # The finding of the library that checks the values (pydantic), which typer leaves out.
    details = getattr(error.__cause__, "errors", None)
    if details is None or not (found := details()):
        return ""
    return f", found {quoted(str(found[0]['input']))}" if found[0]["type"] != "value_error" else ""


def _in_our_words(message: str) -> str:
    for phrase, plain in _PHRASES:
        message = phrase.sub(plain, message)
    return message


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
