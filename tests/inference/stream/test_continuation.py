"""Prefixes are continued as single steps would, in any company and in their order."""

import json
import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from random_language_model import UNITS, context_of
from says import Says, refuses

from tagkit.corpus.records.dataset import Split
from tagkit.corpus.records.unit_lines import UnitLines
from tagkit.corpus.source.text_lines import TextLines
from tagkit.errors import DataError, FormatError
from tagkit.inference.generate.language_model import Reader
from tagkit.inference.predict.predictor import Predictor
from tagkit.inference.stream.annotate import AnswerOptions
from tagkit.inference.stream.continuation import PrefixAnnotator, PrefixReader, annotator_of
from tagkit.inference.stream.stream import StreamOptions, annotate_file
from tagkit.inference.stream.workers import SerialWorker
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
    return PrefixReader(predictor, **{"beam": 0, "max_units": 5, "batch_size": 4, **options})


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
    assert [each.prefix for each in found] == PREFIXES
    for each in found:
        text, log_probability = by_hand(predictor, each.prefix, 5)
        assert each.generated.text == text
        assert each.generated.log_probability == pytest.approx(log_probability)
    assert {each.generated.ended for each in found} == {"symbol", "length"}


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
        assert found.generated.text == reader.text([unit for unit in best if unit != end])
        assert found.generated.units == len(best)
        assert found.generated.log_probability == pytest.approx(means[best] * len(best))


def test_the_share_of_exact_matches_is_that_of_what_is_predicted(
    predictor: Predictor, tmp_path: Path
) -> None:
    found = reader_of(predictor).continued(PREFIXES)
    lines = [each.line() if number % 3 else f"{each.prefix}\tc c c c"
             for number, each in enumerate(found)
             if each.generated.text and each.generated.ended == "symbol"]  # fmt: skip
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{line}\n" for line in lines))
    units = UnitLines(TextLines(str(path)), units_of(predictor.vocabulary))
    report = predictor.score(Split(path=str(path), sentences=units, detection=None))
    again = reader_of(predictor).continued([line.partition("\t")[0] for line in lines])
    same = sum(each.line() == line for each, line in zip(again, lines, strict=True))
    assert 0 < same < len(lines)
    assert report.parts()["exact_match"] == same / len(lines)


READING = StreamOptions("text", "utf-8", 512, lambda _: None, lambda *_: None)


def options(**changes: Any) -> AnswerOptions:
    given = {"output_format": "auto", "confidence": False, "top": 0, "threshold": None,
             "batch_size": 4, "max_length": None, "max_units": 5}  # fmt: skip
    return AnswerOptions(**{**given, **changes})


def lines_for(predictor: Predictor, path: Path, settings: AnswerOptions) -> Iterator[str]:
    annotator = annotator_of(predictor, settings)
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


def test_prefixes_are_no_texts_to_be_annotated(predictor: Predictor) -> None:
    for annotate in (predictor.predict, predictor.n_best):
        with pytest.raises(DataError) as caught:
            annotate("a b")
        assert str(caught.value) == (
            "this is a language model, which annotates nothing: tagkit predict continues prefixes, "
            "and tagkit eval scores pairs"
        )


def test_options_that_have_no_meaning_are_refused(predictor: Predictor) -> None:
    for name, value in (("confidence", True), ("top", 2), ("threshold", 0.0), ("coverage", 0.9)):
        with refuses(DataError, name, "continues"):
            PrefixAnnotator(predictor, options(**{name: value}))
    with refuses(DataError, "output_format=jsonl", "columns"):
        PrefixAnnotator(predictor, options(output_format="html"))
    with refuses(DataError, "data.format=conllu"):
        PrefixAnnotator(predictor, options()).input_format("conllu")
    with refuses(DataError, "beam", "0", "-1", "number"):
        reader_of(predictor, beam=-1)
    plain = predictor_of()
    with refuses(DataError, "max_units", "data.pairs=true"):
        annotator_of(plain, options())
    with refuses(DataError, "data.pairs=true", "language"):
        reader_of(plain)
