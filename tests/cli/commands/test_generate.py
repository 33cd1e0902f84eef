"""`tagkit generate`, with a toy model in place of a trained one."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest
from program import Program
from says import Says
from toy_language_model import UNKNOWN, ToyReader

from tagkit import storage
from tagkit.inference.generate.generation import generate_texts
from tagkit.inference.generate.generation_options import GenerationOptions

Use = Callable[[ToyReader], None]


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Use:
    """Has the command load this model, whatever folder is named."""

    def give(reader: ToyReader) -> None:
        module = ModuleType("tagkit.inference.generate.text_generator")
        module.load_reader = lambda path, device, label: reader  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)

    give(ToyReader())
    return give


@pytest.mark.usefixtures("use")
def test_texts_are_printed_after_their_prompt_and_nothing_else(tagkit: Program) -> None:
    ended = tagkit("generate", "m", "--prompt", "the", "--greedy")
    assert (ended.code, ended.out, ended.err) == (0, "the cat sat\n", "")
    ended = tagkit("generate", "m", "--prompt", "the", "--beam", "8", "--samples", "2")
    assert ended.out == "the cat sat\nthe cat ran off\n"
    sampled = tagkit("generate", "m", "--samples", "5", "--seed", "4", "--top-k", "3")
    texts = generate_texts(ToyReader(), "", GenerationOptions(samples=5, seed=4, top_k=3))
    assert sampled.out == "".join(f"{each.text}\n" for each in texts)
    again = tagkit("generate", "m", "--samples", "5", "--seed", "5", "--top-k", "3")
    assert again.out != sampled.out


@pytest.mark.usefixtures("use")
def test_each_text_is_a_json_object_with_json(tagkit: Program) -> None:
    arguments = ["--prompt", "the", "--samples", "3", "--seed", "4", "--temperature", "2"]
    found = [
        json.loads(line) for line in tagkit("generate", "m", *arguments, "--json").out.splitlines()
    ]
    options = GenerationOptions(samples=3, seed=4, temperature=2)
    for number, (row, text) in enumerate(
        zip(found, generate_texts(ToyReader(), "the", options), strict=True), 1
    ):
        assert row == {
            "sample": number, "prompt": "the", "text": text.text, "units": text.units,
            "log_probability": text.log_probability, "ended": text.ended,
            "perplexity": text.perplexity,
        }  # fmt: skip


@pytest.mark.usefixtures("use")
def test_a_prompt_may_be_a_file_or_standard_input(tagkit: Program, tmp_path: Path) -> None:
    file = tmp_path / "prompt.txt"
    file.write_bytes(b"a dog\r\nthe\r\n")
    expected = "a dog\nthe cat sat\n"
    assert tagkit("generate", "m", "--prompt-file", file, "--greedy").out == expected
    ended = tagkit("generate", "m", "--prompt-file", "-", "--greedy", stdin=file.read_bytes())
    assert ended.out == expected
    ended = tagkit("generate", "m", "--prompt-file", tmp_path / "none")
    assert (ended.code, ended.err) == (1, Says(tmp_path))


def test_a_text_is_written_as_it_is_generated(
    tagkit: Program, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = ToyReader("é€\n" * 3, "byte")
    use(reader)
    written: list[tuple[int, str]] = []
    original = storage.open_output

    @contextmanager
    def watched(path: Path | None) -> Iterator[Callable[[str], None]]:
        with original(path) as write:

            def noting(text: str) -> None:
                written.append((reader.read_units, text))
                write(text)

            yield noting

    monkeypatch.setattr(storage, "open_output", watched)
    assert tagkit("generate", "m", "--greedy").out == "é€\n"
    # Each character after its last byte, and a step for each byte and for the end.
    assert written == [(2, "é"), (5, "€"), (6, "\n")]


@pytest.mark.usefixtures("use")
def test_a_file_that_cannot_be_scored_leaves_the_output_empty(
    tagkit: Program, tmp_path: Path
) -> None:
    file = tmp_path / "lines.txt"
    ended = tagkit("generate", "m", "--score", file)
    assert (ended.code, ended.out, ended.err) == (1, "", Says(file))
    file.write_bytes(b"the cat\n\xff\n")
    ended = tagkit("generate", "m", "--score", file)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"error: {file}:2: ")
    file.write_bytes(b"")
    ended = tagkit("generate", "m", "--score", file)
    assert (ended.code, ended.out) == (0, "log_probability\tunits\tper_unit\tperplexity\ttext\n")


@pytest.mark.usefixtures("use")
def test_lines_are_scored_and_blank_ones_keep_their_place(tagkit: Program, tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("the cat sat\n\na bird sat\n", "utf-8")
    ended = tagkit("generate", "m", "--score", file)
    assert (ended.code, ended.err) == (0, "")
    header, *rows = [line.split("\t") for line in ended.out.splitlines()]
    assert header == ["log_probability", "units", "per_unit", "perplexity", "text"]
    assert [(row[1], row[4]) for row in rows] == [
        ("4", "the cat sat"),
        ("1", ""),
        ("4", "a bird sat"),
    ]
    found = [json.loads(line) for line in tagkit(
        "generate", "m", "--score", "-", "--json", stdin=file.read_bytes()
    ).out.splitlines()]  # fmt: skip
    assert [f"{each['log_probability']:.4f}" for each in found] == [row[0] for row in rows]
    assert [each["unknown"] for each in found] == [0, 0, 1]
    for row, each in zip(rows, found, strict=True):
        assert float(row[3]) == pytest.approx(each["perplexity"], rel=1e-5)


def test_lines_that_are_no_pairs_are_not_scored_by_a_model_of_pairs(
    tagkit: Program, use: Use, tmp_path: Path
) -> None:
    reader = ToyReader()
    reader.delimiter = UNKNOWN
    use(reader)
    file = tmp_path / "pairs.tsv"
    file.write_text("the\tcat\n\nthe cat\n", "utf-8")
    ended = tagkit("generate", "m", "--score", file)
    assert (ended.code, ended.out, ended.err) == (
        1, "", Says(file, "3", "'the cat'"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("--score f --prompt a", Says("--prompt", "--score")),
        ("--score f --seed 2", Says("--seed", "--score")),
        ("--beam 3 --top-p 0.5", Says("--top-p", "--beam")),
        ("--beam 3 --repetition-penalty 2", Says("--repetition-penalty", "--beam")),
        ("--greedy --temperature 0.5", Says("--temperature", "--greedy")),
        ("--greedy --samples 2", Says("--samples", "--greedy")),
        ("--temperature 0 --samples 2", Says("--samples", "--temperature", "0")),
        ("--temperature 0 --top-k 3", Says("--top-k", "--temperature", "0")),
        ("--temperature 0.0 --seed 3", Says("--seed", "--temperature", "0")),
        ("--greedy --temperature 0", Says("--temperature", "--greedy")),
        ("--prompt a --prompt-file b", Says("--prompt-file", "--prompt")),
        ("--encoding latin-1", Says("--encoding", "--prompt-file", "--score")),
    ],
)  # fmt: skip
def test_options_without_an_effect_are_refused_before_a_model_is_loaded(
    tagkit: Program, arguments: str, error: Says
) -> None:
    ended = tagkit("generate", "none", *arguments.split())
    assert (ended.code, ended.out) == (2, "")
    assert error == " ".join(ended.err.split())


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("--top-p 0", Says("--top-p: ", "0.0")),
        ("--top-p 1.5", Says("--top-p: ", "1.5")),
        ("--seed -1", Says("--seed: ", "2**63", "-1")),
        ("--repetition-penalty -1", Says("--repetition-penalty: ", "-1.0")),
        ("--temperature inf", Says("--temperature: ", "inf")),
        ("--beam 1001", Says("--beam: ", "1,000", "1001")),
        ("--samples 10001", Says("--samples: ", "10,000", "10001")),
    ],
)
@pytest.mark.usefixtures("use")
def test_values_without_a_meaning_are_refused_by_their_flag(
    tagkit: Program, arguments: str, error: Says
) -> None:
    ended = tagkit("generate", "m", *arguments.split())
    assert (ended.code, ended.out, ended.err) == (1, "", error)


def test_a_terminal_gets_no_control_characters_and_a_pipe_the_text_as_it_is(
    tagkit: Program, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "\x1b[2Ja\tb"
    use(ToyReader(text, "character"))
    assert tagkit("generate", "m", "--beam", "3", "--length-penalty", "0").out == f"{text}\n"
    monkeypatch.setattr("tagkit.cli.commands.generate.is_terminal", lambda stream: True)
    ended = tagkit("generate", "m", "--beam", "3", "--length-penalty", "0")
    assert ended.out == "\\x1b[2Ja\tb\n"


def test_a_prompt_that_is_not_utf_8_is_refused_before_a_model_is_loaded(tagkit: Program) -> None:
    # Python reads a byte of the command line that is no UTF-8 as half of a surrogate pair.
    ended = tagkit("generate", "none", "--prompt", "a\udcff")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == Says("--prompt", "UTF-8", "0xff")
