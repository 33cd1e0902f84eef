"""`tagkit generate`."""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tagkit.cli.program.messages import is_terminal, with_flags
from tagkit.cli.program.option_fields import flags_of, given_flags, takes_options
from tagkit.cli.program.options import Encoding, Model, Predicting
from tagkit.cli.program.refusals import refuse
from tagkit.errors import FormatError
from tagkit.limits import BATCH_SIZE, MAX_UNITS
from tagkit.text.json_text import to_json
from tagkit.wording import LONE_SURROGATE, visible

if TYPE_CHECKING:  # their modules import torch
    from tagkit.corpus.source.source import Source
    from tagkit.inference.generate.generation_options import GenerationOptions
    from tagkit.inference.generate.language_model_reader import LanguageModelReader

EXAMPLES = """\
Examples:
  tagkit generate models/novel --prompt "It was a dark"
  tagkit generate models/novel --samples 3 --temperature 0.8 --top-p 0.9 --seed 7
  tagkit generate models/novel --prompt "It was" --beam 5 --samples 5 --json
  tagkit generate models/novel --score lines.txt
"""


@dataclass(frozen=True, kw_only=True)
class Generation:
    """How texts are generated; the defaults are those of `GenerationOptions`."""

    samples: Annotated[
        int | None,
        typer.Option(min=1, help="Number of texts.", metavar="N", show_default="1"),
    ] = None
    max_units: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Most units (words, characters or byte pairs) of a text; with --end length, the "
            "number of its units.",
            metavar="N",
            show_default=f"{MAX_UNITS}",
        ),
    ] = None
    end: Annotated[
        Literal["symbol", "halt", "length"] | None,
        typer.Option(
            help="What ends a text: symbol, the end of a line; halt, the model's halting "
            "probability; length, as predicted, or --max-units alone.",
            show_default="as the model was trained",
        ),
    ] = None
    temperature: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Divide scores by this before sampling: below 1 for more probable texts, above "
            "1 for more varied ones.",
            metavar="T",
            show_default="1",
        ),
    ] = None
    top_k: Annotated[
        int | None,
        typer.Option(
            min=1, help="Sample from the K most probable units.", metavar="K", show_default="all"
        ),
    ] = None
    top_p: Annotated[
        float | None,
        typer.Option(
            help="Sample from the most probable units, as few as together have probability P, "
            "above 0 and at most 1.",
            metavar="P",
            show_default="all",
        ),
    ] = None
    repetition_penalty: Annotated[
        float | None,
        typer.Option(
            help="Above 1, units that the text or the prompt has already become less probable.",
            metavar="R",
            show_default="1",
        ),
    ] = None
    greedy: Annotated[bool, typer.Option(help="Take the most probable unit each time.")] = False
    beam: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Search for the most probable text with a beam of N hypotheses.",
            metavar="N",
        ),
    ] = None
    length_penalty: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Hypotheses of a beam are compared by log probability / units ** A.",
            metavar="A",
            show_default="1",
        ),
    ] = None
    allow_unknown: Annotated[
        bool, typer.Option(help="Generate the unknown unit too, which is not text.")
    ] = False
    seed: Annotated[
        int | None, typer.Option(help="Random seed.", metavar="N", show_default="1")
    ] = None

    def given(self) -> dict[str, Any]:
        """The options that are given, by name."""
        values = vars(self).items()
        return {name: value for name, value in values if value is not None and value is not False}


@dataclass(frozen=True, kw_only=True)
class GenerateOptions:
    """The options of `tagkit generate`."""

    model: Model
    prompt: Annotated[
        str | None,
        typer.Option(help="Text to continue.", metavar="TEXT", show_default="none"),
    ] = None
    prompt_file: Annotated[
        str | None,
        typer.Option(
            help="File with the text to continue, without its last line end; - is standard input.",
            metavar="FILE",
        ),
    ] = None
    label: Annotated[
        str | None,
        typer.Option(
            help="Label of the texts, of a model that was trained with labels.", metavar="LABEL"
        ),
    ] = None
    generation: Generation
    score: Annotated[
        str | None,
        typer.Option(
            help="Generate nothing; print the log probability of each line of a file; - is "
            "standard input.",
            metavar="FILE",
        ),
    ] = None
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object per text or line.")
    ] = False
    encoding: Encoding = None
    prediction: Predicting


@takes_options
def generate_command(options: GenerateOptions) -> None:
    """Generate texts from a language model, or score lines.

    A text is printed as it is generated. Units are sampled, unless --greedy or --beam is given.
    """
    given = options.generation.given()
    _refuse_without_effect(options, given)
    from tagkit.config import load_config
    from tagkit.inference.generate.generation_options import options_of

    data = load_config(flags=flags_of(options)).data
    asked = options_of(given)  # before the model is loaded, which takes time
    from tagkit.inference.generate.text_generator import load_reader
    from tagkit.models.base.device import set_threads

    set_threads(options.prediction.threads)
    text = options.prompt or ""
    if options.prompt_file is not None:
        from tagkit.corpus.source.source import read_text

        text = read_text(options.prompt_file, data.encoding)
        text = text.replace("\r\n", "\n").removesuffix("\n")
    reader = load_reader(options.model, options.prediction.device, options.label)
    if options.score is None:
        _generate(reader, text, asked, as_json=options.as_json)
    else:
        _score(reader, options.score, data.encoding, as_json=options.as_json)


def _refuse_without_effect(options: GenerateOptions, given: Mapping[str, Any]) -> None:
    """Refuse what would have no effect, as an option that is ignored hides a mistake.

    Raises:
        typer.BadParameter: some is given, or a prompt that is no text.
    """
    from tagkit.inference.generate.generation_options import without_effect

    has_prompt, has_file = options.prompt is not None, options.prompt_file is not None
    if options.score is not None:
        texts = {"--prompt": has_prompt, "--prompt-file": has_file}
        texts |= given_flags(options.generation)
        refuse(texts, "is for texts that are generated, and --score scores a file")
    if problem := without_effect(given):
        raise typer.BadParameter(with_flags(problem))
    refuse(
        {"--prompt-file": has_prompt and has_file},
        "and --prompt are both given: leave out one of them",
    )
    refuse(
        {"--encoding": options.encoding is not None and not has_file and options.score is None},
        "is for --prompt-file and --score",
    )
    # A byte of the command line that is no UTF-8.
    if odd := LONE_SURROGATE.search(options.prompt or ""):
        found = f"the byte 0x{ord(odd[0]) & 0xFF:02x}"
        raise typer.BadParameter(f"--prompt: expected text in UTF-8, found {found}")


def _generate(
    reader: "LanguageModelReader", prompt: str, options: "GenerationOptions", *, as_json: bool
) -> None:
    """Print texts, each after the prompt that it continues, as they are generated."""
    from tagkit.inference.generate.generation import stream_texts, whole_prompt
    from tagkit.storage import open_output

    shown = whole_prompt(reader, prompt)
    with open_output(None) as write:
        begins = True
        for piece in stream_texts(reader, prompt, options):
            if as_json:
                if piece.done:
                    facts = {"sample": piece.sample + 1, "prompt": prompt, **piece.done.to_dict()}
                    write(to_json({**facts, "perplexity": piece.done.perplexity}) + "\n")
                continue
            text = (shown if begins else "") + piece.text + ("\n" if piece.done else "")
            write(_shown(text))
            begins = piece.done is not None


def _shown(text: str) -> str:
    """The text; for a terminal without characters that it would obey, such as ESC."""
    if not is_terminal(sys.stdout):
        return text
    return re.sub(r"[^\n\t]+", lambda found: visible(found[0]), text)


def _score(reader: "LanguageModelReader", path: str, encoding: str, *, as_json: bool) -> None:
    """Print the score of each line of a file."""
    from tagkit.corpus.source.source import Source
    from tagkit.inference.generate.line_scores import score_lines
    from tagkit.storage import open_output

    batches = _batches(Source(path, encoding), pairs=reader.delimiter is not None)
    # Read first: a file that cannot be opened leaves standard output empty.
    first = next(batches, [])
    with open_output(None) as write:
        if not as_json:
            write("log_probability\tunits\tper_unit\tperplexity\ttext\n")
        for scores in score_lines(reader, chain([first], batches)):
            for each in scores:
                if as_json:
                    write(to_json(each.to_dict()) + "\n")
                else:
                    figures = f"{each.log_probability:.4f}\t{each.units}\t{each.per_unit:.4f}"
                    write(f"{figures}\t{each.perplexity:.6g}\t{_shown(each.text)}\n")


def _batches(source: "Source", *, pairs: bool) -> Iterator[list[str]]:
    """The lines of a source, many at a time; fewer where somebody waits for the answer.

    Raises:
        FormatError: `pairs` are read, and a line is none.
    """
    from tagkit.text.pairs import pair_problem  # imports the tokenizers

    lines: list[str] = []
    for number, line in source.numbered():
        if pairs and (problem := pair_problem(line)):
            raise FormatError(source.name, number, problem)
        lines.append(line)
        if len(lines) == BATCH_SIZE or (source.drained and source.waits()):
            yield lines
            lines = []
    if lines:
        yield lines
