"""Prefixes are continued as single steps would, in any company and in their order."""

import json
import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from kinds import asked
from random_language_model import UNITS, context_of
from says import Says, refuses

from tagkit.corpus.formats.table import targets
from tagkit.corpus.records.dataset import Split
from tagkit.corpus.records.unit_lines import UnitLines
from tagkit.corpus.source.text_lines import TextLines
from tagkit.errors import DataError, FormatError
from tagkit.inference.predict.predictor import Predictor
from tagkit.inference.stream.annotate import Annotator, AnswerOptions
from tagkit.inference.stream.stream import SerialWorker, StreamOptions, annotate_file
from tagkit.models.answers.kind import Style
from tagkit.models.language.continuation import Continuation, PrefixReader
from tagkit.models.language.reader import Reader
from tagkit.models.language.text_scoring import units_of
from tagkit.nn.generation.path_score import path_log_probs
from tagkit.text.pairs import DELIMITER

PREFIXES = [" ".join(units) for count in (1, 2, 3) for units in product("abc", repeat=count)]


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    return predictor_of("data.pairs=true", "data.context=line")


def predictor_of(*options: str) -> Predictor:
    context = context_of(*options)
    return Predictor(context.model, context.vocabulary, context.config, torch.device("cpu"))


def reader_of(predictor: Predictor, **options: int) -> PrefixReader:
    given = {"beam": 0, "max_units": 5, "batch_size": 4, **options}
    return PrefixReader(predictor._context, **given)


def by_hand(predictor: Predictor, prefix: str, most: int) -> tuple[str, float]:
    """The most probable unit each time, one step after another, and their log probability."""
    reader = Reader(predictor.model, predictor.vocabulary, predictor.config.data)  # type: ignore[arg-type]
    state, found, total = reader.begin(), [], 0.0
    read = [reader.end, *reader.cut(prefix), UNITS.index(DELIMITER) + 1]
    while len(found) < most:
        for unit in read:
            output = reader.step(torch.tensor([unit]), state)
            state = output.state
        allowed = output.log_probs[0].clone()
        allowed[[0, UNITS.index(DELIMITER) + 1]] = -torch.inf
        best = int(allowed.argmax())
        total += float(output.log_probs[0, best])
        if best == reader.end:
            break
        read, found = [best], [*found, UNITS[best - 1]]
    return " ".join(found), total


@pytest.mark.parametrize("batch_size", [1, 4, 100])
def test_the_most_probable_unit_is_taken_each_time(predictor: Predictor, batch_size: int) -> None:
    found = reader_of(predictor, batch_size=batch_size).continued(PREFIXES)
    assert [each.source for each in found] == PREFIXES
    for each in found:
        text, log_probability = by_hand(predictor, each.source, 5)
        assert each.text == text
        assert each.log_probability == pytest.approx(log_probability)
    assert {each.ended for each in found} == {"symbol", "length"}


def test_a_beam_of_all_texts_finds_the_best_one_by_its_mean(predictor: Predictor) -> None:
    reader = Reader(predictor.model, predictor.vocabulary, predictor.config.data)  # type: ignore[arg-type]
    delimiter = torch.tensor([UNITS.index(DELIMITER) + 1])
    letters = reader.cut("a b c")
    end = reader.end
    texts = [(end,), *((one, other) for one in letters for other in (*letters, end))]
    for prefix in PREFIXES[:12]:
        state = reader.read(torch.tensor([[end, *reader.cut(prefix)]]), reader.begin())
        log_probs = path_log_probs(reader.step, delimiter, state, texts, by_halt=False)
        means = {text: each / len(text) for text, each in zip(texts, log_probs, strict=True)}
        best = max(texts, key=means.__getitem__)
        (found,) = reader_of(predictor, beam=50, max_units=2).continued([prefix])
        assert found.text == reader.text([unit for unit in best if unit != end])
        assert found.units == len(best)
        assert found.log_probability == pytest.approx(means[best] * len(best))


def test_the_share_of_exact_matches_is_that_of_what_is_predicted(
    predictor: Predictor, tmp_path: Path
) -> None:
    found = reader_of(predictor).continued(PREFIXES)
    lines = [line_of(each) if number % 3 else f"{each.source}\tc c c c"
             for number, each in enumerate(found)
             if each.text and each.ended == "symbol"]  # fmt: skip
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{line}\n" for line in lines))
    units = UnitLines(TextLines(str(path)), units_of(predictor.vocabulary))
    report = predictor.score(Split(path=str(path), sentences=units, detection=None))
    again = reader_of(predictor).continued([line.partition("\t")[0] for line in lines])
    same = sum(line_of(each) == line for each, line in zip(again, lines, strict=True))
    assert 0 < same < len(lines)
    assert report.parts()["exact_match"] == same / len(lines)


READING = StreamOptions("text", "utf-8", 512, lambda _: None, lambda *_: None)


def options(**changes: Any) -> AnswerOptions:
    return asked(**{"output_format": "auto", "batch_size": 4, "max_units": 5, **changes})


def line_of(found: Continuation) -> str:
    return f"{found.source}\t{found.text}"


def lines_for(predictor: Predictor, path: Path, settings: AnswerOptions) -> Iterator[str]:
    annotator = Annotator(predictor, settings)
    worker = SerialWorker(annotator)
    outputs = annotate_file(worker, predictor.config, annotator.style, str(path), READING)
    for output in outputs:
        yield from output.text.splitlines()


def test_a_file_of_prefixes_or_of_pairs_is_continued_line_by_line(
    predictor: Predictor, tmp_path: Path
) -> None:
    path = tmp_path / "prefixes.txt"
    path.write_text("a b\n\nc\tanything\na <sep> </s> b\r\n")
    expected = [by_hand(predictor, prefix, 5)[0] for prefix in ("a b", "c", "a ? ? b")]
    assert [*lines_for(predictor, path, options())] == [
        f"a b\t{expected[0]}", "", f"c\t{expected[1]}", f"a <sep> </s> b\t{expected[2]}"
    ]  # fmt: skip
    lines = lines_for(predictor, path, options(output_format="jsonl"))
    rows = [json.loads(line) for line in lines if line]
    assert [row["continuation"] for row in rows] == expected
    assert " ".join(rows[0]) == "prefix continuation units log_probability ended perplexity"
    mean = rows[0]["log_probability"] / rows[0]["units"]
    assert rows[0]["perplexity"] == pytest.approx(math.exp(-mean))


@pytest.mark.parametrize("line", ["a\tb\tc", "\tb"])
def test_a_line_without_one_prefix_is_named_after_the_answers_before_it(
    predictor: Predictor, tmp_path: Path, line: str
) -> None:
    path = tmp_path / "prefixes.txt"
    path.write_text(f"a\n{line}\nb\n")
    found = lines_for(predictor, path, options())
    assert next(found) == f"a\t{by_hand(predictor, 'a', 5)[0]}"
    with refuses(FormatError, path, "2", "prefix"):
        next(found)


def test_a_line_of_json_lines_is_no_prefix_unless_a_tab_says_so(
    predictor: Predictor, tmp_path: Path
) -> None:
    path = tmp_path / "prefixes.jsonl"
    record = '{"text": "a b"}'
    path.write_text(f"{record}\n")
    with pytest.raises(FormatError) as caught:
        [*lines_for(predictor, path, options())]
    assert str(caught.value) == (Says(path, "1", "JSON", record))
    path.write_text(f"[{record}]\n")
    with refuses(FormatError, "JSON"):
        [*lines_for(predictor, path, options())]
    # What only begins like a record is text.
    path.write_text(f"{record}\t\n{{a b\n{{}} a\n[1]\n")
    found = lines_for(predictor, path, options(output_format="jsonl"))
    assert [json.loads(line)["prefix"] for line in found if line] == [record, "{a b", "{} a", "[1]"]


def test_programs_get_the_continuations_of_the_command(predictor: Predictor) -> None:
    found = predictor.predict(["a b", "", "c\tb"], max_units=5, batch_size=1)
    expected = [by_hand(predictor, prefix, 5)[0] for prefix in ("a b", "c")]
    assert [(each.source, each.text) for each in found] == [
        ("a b", expected[0]), ("", ""), ("c", expected[1])
    ]  # fmt: skip
    assert [*predictor.stream(iter(["a b"]), max_units=5)] == [found[0]]
    with refuses(DataError, "prefix"):
        predictor.predict("a\tb\tc")


def test_continuations_are_shown_to_people(predictor: Predictor) -> None:
    kind = predictor.answers
    answer = predictor.predict("c b", max_units=5)
    assert answer.text
    (piece,) = kind.shown(answer, Style("show", kind)).pieces
    assert piece.text == f"c b \u2192 {answer.text}"
    pieces = targets()["html"].write(iter([answer]), kind.writing(single=True, note=print))
    page = "".join(piece.text for piece in pieces)
    assert "c b" in page
    assert answer.text in page


def test_it_has_no_taggings(predictor: Predictor) -> None:
    with refuses(DataError, "annotates"):
        predictor.n_best("a b")


def test_options_that_have_no_meaning_are_refused(predictor: Predictor) -> None:
    for name, value in (("confidence", True), ("top", 2), ("threshold", 0.0), ("coverage", 0.9)):
        with refuses(DataError, name, "continues"):
            Annotator(predictor, options(**{name: value}))
    with refuses(DataError, "output_format=columns"):
        Annotator(predictor, options(output_format="brat"))
    with refuses(DataError, "data.format=conllu"):
        predictor.answers.input_format("conllu")
    with refuses(DataError, "beam", "0", "-1", "number"):
        predictor.predict("a", beam=-1)
    plain = predictor_of()
    with refuses(DataError, "max_units", "write strings"):
        Annotator(plain, options())
    with refuses(DataError, "annotates"):
        plain.predict("a")
