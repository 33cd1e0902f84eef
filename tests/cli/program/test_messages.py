"""Messages of the library name parameters; the command line puts its flags in their place."""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st
from kinds import TAGS
from says import Says
from typer.main import get_command

import tagkit
from tagkit.cli.commands.train import train_command
from tagkit.cli.main import ALIASES, COMMANDS, app, main
from tagkit.cli.program import messages
from tagkit.cli.program.messages import (
    cells,
    for_terminal,
    has_colours,
    short_paths,
    shown_time,
    width_of,
    wrapped,
)
from tagkit.cli.program.option_fields import flags_by_name
from tagkit.config import Config, load_config, option_text, options_of
from tagkit.corpus.formats.table import FORMATS
from tagkit.corpus.splits.splits import read_split
from tagkit.errors import TagkitError
from tagkit.training.trainer import train


class Screen(io.StringIO):
    """A terminal without a size of its own."""

    def isatty(self) -> bool:
        return True


def test_a_line_is_broken_at_blanks_and_the_next_one_is_indented() -> None:
    text = "error: corpora/train.conll:12: expected 3 columns, found 2"
    assert wrapped(text, 40) == [
        "error: corpora/train.conll:12: expected",
        "  3 columns, found 2",
    ]
    assert wrapped(text, None) == wrapped(text, 58) == [text]


def test_the_text_of_a_second_column_stays_in_its_column() -> None:
    assert wrapped("vocabulary  1,203 trained words, 48 characters", 32) == [
        "vocabulary  1,203 trained words,",
        "            48 characters",
    ]
    assert wrapped("       train, dev: read as columns: tags of IOB2", 30) == [
        "       train, dev: read as",
        "         columns: tags of IOB2",
    ]


def test_a_path_is_never_broken_even_if_it_is_longer_than_a_line() -> None:
    path = "folder/" * 6 + "train.conll"
    assert wrapped(f"error: {path}: no such file", 30) == ["error:", f"  {path}:", "  no such file"]


def test_a_quoted_path_with_blanks_is_one_word() -> None:
    assert wrapped("Next: tagkit predict 'my models/of May' FILE", 36) == [
        "Next: tagkit predict",
        "  'my models/of May' FILE",
    ]
    # A long one is broken like any text, and an apostrophe begins no quotation.
    assert wrapped(f"found '{'a ' * 40}'", 21)[0] == "found 'a a a a a a a"
    assert wrapped("the users' words and the models' words", 24) == [
        "the users' words and the",
        "  models' words",
    ]


@given(st.text(alphabet="ab \u00e9\u0301日'().,", max_size=120), st.integers(20, 60))
def test_wrapping_loses_no_word_and_fits_where_words_do(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert " ".join(lines).split() == text.split()
    for line in lines:
        assert cells(line) <= width or len(line.split()) == 1 or "'" in line


def test_wide_characters_take_two_cells_and_combining_ones_none() -> None:
    assert [cells(text) for text in ("abc", "日本", "e\u0301")] == [3, 4, 1]
    assert wrapped("日本語 日本語 日本語 日本語", 20) == ["日本語 日本語 日本語", "  日本語"]


def test_a_file_gets_whole_lines_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    line = f"error: {'word ' * 20}end"
    assert for_terminal(line, io.StringIO()) == line
    assert width_of(io.StringIO()) is width_of(None) is None
    closed = io.StringIO()
    closed.close()  # `isatty` of a closed stream raises
    assert not has_colours(closed)


def test_a_terminal_gets_an_error_in_red_and_a_warning_in_yellow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert for_terminal("error: no.conll: no such file anywhere", Screen()) == (
        "\x1b[1;31merror:\x1b[0m no.conll: no such file\n  anywhere"
    )
    path = "folder/" * 6  # which stands on a line of its own
    assert for_terminal(f"error: {path}", Screen()) == f"\x1b[1;31merror:\x1b[0m\n  {path}"
    assert for_terminal("warning: few", Screen()) == "\x1b[33mwarning:\x1b[0m few"
    assert for_terminal("a warning: few", Screen()) == "a warning: few"
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert for_terminal("error: x", Screen()) == "error: x"


def test_a_width_that_is_no_number_is_that_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, expected in (("120", 120), ("0", 80), ("x", 80), ("", 80)):
        monkeypatch.setenv("COLUMNS", value)
        assert width_of(Screen()) == expected


def test_a_path_is_shown_by_its_name_where_that_tells_it_apart() -> None:
    assert short_paths(["a/b/train.conll", "a/b/dev.conll"]) == {
        "a/b/train.conll": "train.conll", "a/b/dev.conll": "dev.conll",
    }  # fmt: skip
    assert short_paths(["d/train/seq.in", "d/dev/seq.in", "d/test.in"]) == {
        "d/train/seq.in": "d/train/seq.in", "d/dev/seq.in": "d/dev/seq.in", "d/test.in": "test.in",
    }  # fmt: skip
    assert short_paths(["standard input", "d/a", "d/a"])["d/a"] == "a"
    assert short_paths(["/"]) == {"/": "/"}


def test_times_are_shown_in_minutes_and_hours() -> None:
    shown = [shown_time(seconds) for seconds in (0, 7.4, 59.6, 754, 3600, 86_399, -3)]
    assert shown == ["0:00", "0:07", "1:00", "12:34", "1:00:00", "23:59:59", "0:00"]


PACKAGE = Path(tagkit.__file__).parent
FLAG = re.compile(r"(?<![-\w])--[a-z][a-z-]*|(?<![-\w])-o\b")
# Of a search these are other folders and other limits.
_OWN = (("tune", "output.dir"), ("tune", "train.max_minutes"))
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs `tagkit`; exit status, standard output and standard error."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tagkit", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = (part.decode() for part in capsysbinary.readouterr())
        return int(ended.value.code or 0), out, err

    return call


@pytest.fixture
def flags(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Takes the flags of a command as those of the one that runs."""
    monkeypatch.setattr(messages, "_flags", messages._flags)
    return lambda name: messages.use_flags(flags_by_name(COMMANDS[name][0]))


@pytest.mark.parametrize(
    ("command", "named", "expected"),
    [
        ("train", "force=True", "--force"),
        ("train", "output.dir", "-o"),
        ("train", "(output.dir)", "(-o)"),
        ("train", "output.dir=.", "-o ."),
        ("train", "data.format", "--input-format"),
        ("train", "data.format.", "--input-format."),
        ("train", "data.format=columns", "--input-format columns"),
        ("train", "data.header=no", "--set data.header=no"),
        ("train", "data.headers=no", "data.headers=no"),
        ("predict", "data.label_column=0", "data.label_column=0"),
        ("train", "data.header", "data.header"),
        ("benchmark", "data.on_misaligned", "data.on_misaligned"),
        ("convert", "to=odd", "--to odd"),
        ("tune", "spaces=...", "--search"),
        ("predict", "max_length", "--max-length"),
        ("predict", "the top of it", "the top of it"),
        ("info", "unheard=True", "unheard=True"),
    ],
)
def test_an_option_is_named_by_the_flag_of_the_command_that_runs(
    flags: Callable[[str], None], command: str, named: str, expected: str
) -> None:
    flags(command)
    assert messages.with_flags(f"a --force {named}") == f"a --force {expected}"
    assert messages.with_flags(expected) == expected  # a sentence may pass twice


def test_an_option_of_a_file_keeps_its_name_there(flags: Callable[[str], None]) -> None:
    flags("train")
    text = "c.toml: train.seed = -3: expected 0 or more; did you mean train.seeds?"
    assert messages.with_flags(text) == text
    assert messages.with_flags(text.removeprefix("c.toml: ")).startswith("--seed = -3: ")


NAMES = st.sampled_from(["data.format", "force=True", "output.dir", "max_length", "data.header=no"])


@given(NAMES, st.text(max_size=5), st.sampled_from(["{}.conll", "d/{}", "{}/d", "x{}", "{}:7"]))
def test_what_a_message_quotes_or_names_as_a_file_is_left_alone(
    name: str, around: str, file: str
) -> None:
    messages.use_flags(flags_by_name(train_command) | {"max_length": "--max-length"})
    try:
        value = f"{around}{name}{around} {name}"
        if "=" not in name:  # no file is called so
            text = f"{file.format(name)}: expected a tag, found {value!r}"
            assert messages.with_flags(text) == text
        assert messages.with_flags(repr(value)) == repr(value)
    finally:
        messages.use_flags({})


def test_a_caller_in_python_reads_parameters_and_a_user_of_the_command_flags(
    tmp_path: Path, run: Run
) -> None:
    tiny.corpus(tmp_path)
    corpus = tmp_path / "force=True.conll"
    corpus.write_text("a B-X\n")
    with pytest.raises(TagkitError) as caught:
        train(
            load_config(flags={"data.train_file": str(corpus), "output.dir": str(tmp_path / "m")})
        )
    assert str(caught.value) == (
        f"{corpus}: one sentence is not enough to split off a dev corpus; name one with "
        "data.dev_file"
    )
    code, _, err = run("train", "--train", corpus, "-o", tmp_path / "m")
    assert code == 1
    assert err.endswith(
        f"error: {corpus}: one sentence is not enough to split off a dev corpus; name one with "
        "--dev\n"
    )


def test_notes_and_findings_name_flags_as_errors_do(tmp_path: Path, run: Run) -> None:
    corpus = tmp_path / "data.format.conll"
    corpus.write_text("a O\nb B-x\n\nc O\n\n")
    notes: list[str] = list(read_split(str(corpus), Config().data, TAGS, None).notes)
    assert [note for note in notes if "(data.format chooses another format)" in note]
    _, _, err = run("convert", corpus, tmp_path / "out.jsonl")
    assert f"{corpus}: read as columns: " in err
    assert "(--input-format chooses another format)" in err
    texts = tmp_path / "texts.txt"
    texts.write_text("Plain text without any label.\nAnother line of it.\n")
    code, out, _ = run("check", texts)
    assert code == 1
    assert out == Says(
        f"error:   {texts}: ", "(--input-format text is for", "--input-format chooses"
    )
    code, out, _ = run("check", texts, "--input-format", "text")
    assert (code, "error" in out, "verdict: 1 note: fit to train on\n" in out) == (0, False, True)


def texts_of(module: Path) -> Iterator[tuple[int, str]]:
    """Every string, docstring and comment of a module, with its line."""
    source = module.read_text("utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    if not FLAG.search(source):  # no comment names one, and tokenising takes most of the time
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def test_the_library_names_no_flags_of_the_command_line() -> None:
    found = [
        f"{module.relative_to(PACKAGE)}:{line}: {text[:80]}"
        for module in PACKAGE.rglob("*.py")
        if "cli" not in module.relative_to(PACKAGE).parts
        for line, text in texts_of(module)
        # A string that is a flag and nothing else starts a command: see `tagkit benchmark`.
        # A variable of a style sheet begins with two hyphens too.
        if FLAG.search(text) and not FLAG.fullmatch(text) and module.name != "colours.py"
    ]
    assert found == []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_flags_of_a_command_are_those_that_it_takes_and_their_options_exist(name: str) -> None:
    command = get_command(app).get_command(None, name)  # type: ignore[attr-defined]
    found = flags_by_name(command.callback)
    assert {*found.values()} == {
        param.opts[-1] for param in command.params if param.opts[0].startswith("-")
    }
    assert {each for each in found if "." in each} <= {*options_of(Config)}


def test_a_value_of_the_command_line_is_named_as_typed_and_not_said_to_stand_in_the_file(
    run: Run, tmp_path: Path
) -> None:
    config = tmp_path / "c.toml"
    config.write_text("[encoder]\nhidden = 0\n", encoding="utf-8")
    given = ("--config", config, "--seed", -3, "--set", "train.lr=fast", "--set", "train.sed=1")
    code, out, err = run("train", *given)
    assert (code, out) == (1, "")
    assert err.splitlines() == [
        Says(f"error: {config}: encoder.hidden = 0: "),
        Says("error: unknown option train.sed; ", "train.seed"),
        Says('error: train.lr = "fast": '),
        Says("error: --seed = -3: "),
    ]


@pytest.mark.parametrize("command", [*COMMANDS])
def test_a_flag_of_an_option_shows_the_help_and_default_of_the_option(
    run: Run, command: str
) -> None:
    shown = re.sub(r"-\s+", "-", " ".join(run(command, "--help")[1].split()))
    params = get_command(app).get_command(None, command).params  # type: ignore[attr-defined]
    flags = {flag for param in params if not param.help for flag in param.opts}
    of_config = options_of(Config)
    given = flags_by_name(COMMANDS[command][0])
    names = [name for name, flag in given.items() if flag in flags and name in of_config]
    assert len(names) >= {"train": 15, "tune": 5, "eval": 4}.get(command, 0)
    for name in names:
        text, default = option_text(name)
        if (command, name) == ("config", "task"):
            default = "the task that the corpus is for"
        ending = f" [default: {default}" if default else ""  # a range may follow
        assert f"{text}{ending}" in shown, name


@pytest.mark.parametrize("command", ["train", "check", "predict", "eval", "convert", "benchmark"])
def test_the_help_names_every_format_of_the_table(run: Run, command: str) -> None:
    shown = re.sub(r"-\s+", "-", " ".join(run(command, "--help")[1].split()))
    found = re.search(r"Format of the input: (.*?)\. +\[default: recognised\]", shown)
    assert found is not None
    assert {*re.split(", | or ", found[1])} == {*FORMATS, "jsonl"}


# The flags of commands that read a model are of their own, and have no configuration behind them.
@pytest.mark.parametrize("command", ["train", "tune", "learning-curve"])
def test_no_flag_repeats_the_help_of_its_option(command: str) -> None:
    params = get_command(app).get_command(None, command).params  # type: ignore[attr-defined]
    texts = {option.help for option in options_of(Config).values()}
    for param in params:
        assert param.help not in texts, param.opts


def test_every_command_file_is_a_row_of_the_table() -> None:
    files = {
        module.stem
        for module in (PACKAGE / "cli" / "commands").glob("*.py")
        if f"def {module.stem}_command(" in module.read_text("utf-8")
    }
    assert {name.replace("_", "-") for name in files} == {*COMMANDS}
    assert {*ALIASES.values()} <= files


@pytest.mark.parametrize("command", [*COMMANDS, *ALIASES])
def test_help_has_an_example_and_none_of_typers_signs(run: Run, command: str) -> None:
    code, out, _ = run(command, "--help")
    assert code == 0
    assert re.search(rf"^ +(.*\| )?tagkit {ALIASES.get(command, command)}\b", out, re.M)
    assert not re.search(r"<(path|str|int|list|float)|\{[A-Z]|default: \(", out)
    assert "[OPTIONS]" in out.splitlines()[0]


def test_the_list_of_commands_says_of_each_what_it_does_in_a_whole_sentence(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    rows = re.findall(r"^  ([a-z-]+) +(\S.*)$", out.partition("Commands:\n")[2], re.M)
    assert [name for name, _ in rows] == list(COMMANDS)
    assert all(text.endswith(".") and not text.endswith("...") for _, text in rows)
