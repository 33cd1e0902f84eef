"""The `tagkit` program: its commands, and how it ends.

Exit status: 0 done, 1 refused input or failed, 2 wrong usage, 130 stopped by Ctrl-C or SIGTERM.
"""

import os
import shlex
import sys
from typing import Annotated

import typer

from tagkit import __version__
from tagkit.cli import benchmark, check, convert, eval, info, predict, train, tune
from tagkit.cli.messages import Commands, show_error
from tagkit.errors import Interrupted, TagkitError
from tagkit.wording import visible

app = typer.Typer(
    name="tagkit",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("train", epilog=train.EXAMPLES)(train.train_command)
app.command("predict", epilog=predict.EXAMPLES)(predict.predict_command)
app.command("eval", epilog=eval.EXAMPLES)(eval.eval_command)
app.command("convert", epilog=convert.EXAMPLES)(convert.convert_command)
app.command("check", epilog=check.EXAMPLES)(check.check_command)
app.command("benchmark", epilog=benchmark.EXAMPLES)(benchmark.benchmark_command)
app.command("tune", epilog=tune.EXAMPLES)(tune.tune_command)
app.command("info", epilog=info.EXAMPLES)(info.info_command)
# What CRFsuite and spaCy call them.
app.command("tag", hidden=True, epilog=predict.EXAMPLES)(predict.predict_command)
app.command("evaluate", hidden=True, epilog=eval.EXAMPLES)(eval.eval_command)


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
    """Train taggers and text classifiers on your own corpora, apply them, and score them."""


def main() -> None:
    """Run the program; errors that the user can mend end in one line, never in a traceback."""
    # Threads that wait by spinning take the cores from whatever else runs: with two busy cores
    # training was three times as fast with this. torch's OpenMP reads it when torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        app()
    except Interrupted as error:
        if os.environ.get("RANK", "0") != "0":  # of several processes the first one talks
            sys.exit(130)
        if os.environ.get("WORLD_SIZE", "1") != "1":
            typer.echo(f"{error}. To go on: the same command with --resume", err=True)
            sys.exit(130)
        options = [word for word in sys.argv[1:] if word not in ("--resume", "--force")]
        if options[0] == "train":  # a search goes on by itself
            options.append("--resume")
        command = visible(shlex.join(["tagkit", *options]))
        typer.echo(f"{error}. To go on: {command}", err=True)
        sys.exit(130)
    except TagkitError as error:
        show_error(error)
        sys.exit(1)
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`). Python would complain again on closing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
