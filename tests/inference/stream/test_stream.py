"""Files -> tagged lines: chunks, order, memory, and what is text or columns."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st
from kinds import asked
from peaks import peak_mb
from says import Says, refuses

from tagkit.corpus.formats.recognition import recognise_lines
from tagkit.errors import DataError, FormatError
from tagkit.inference.predict.predictor import Predictor, chunks_of
from tagkit.inference.stream.annotate import Annotator, AnswerOptions
from tagkit.inference.stream.chunks import Chunk, Lines, Output
from tagkit.inference.stream.journal import Journal
from tagkit.inference.stream.stream import (
    DocumentChunks,
    SerialWorker,
    StreamOptions,
    _chunks,
    _outputs,
    annotate_file,
)
from tagkit.inference.stream.workers import WorkerConfig, WorkerPool
from tagkit.text.records import Sentence
from tagkit.training.trainer import train


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    return train(tiny.config(tmp_path_factory.mktemp("stream"))).predictor


READING = StreamOptions("auto", "utf-8", 512, lambda _: None, lambda *_: None)


def options(**changes: object) -> AnswerOptions:
    return asked(**{"batch_size": 4, **changes})  # type: ignore[arg-type]


def tag(
    predictor: Predictor,
    path: Path,
    settings: AnswerOptions,
    reading: StreamOptions = READING,
) -> Iterator[str]:
    annotator = Annotator(predictor, settings)
    style = annotator.style
    worker = SerialWorker(annotator)
    for chunk in annotate_file(worker, predictor.config, style, str(path), reading):
        yield chunk.text


def tag_together(predictor: Predictor, path: Path, settings: AnswerOptions) -> Iterator[str]:
    config = WorkerConfig(Path(predictor.config.output.dir), "cpu", "fp32", 1, settings)
    annotator = Annotator(predictor, settings)
    with WorkerPool(2, config, annotator.annotate) as pool:
        for chunk in annotate_file(pool, predictor.config, annotator.style, str(path), READING):
            yield chunk.text


@given(st.lists(st.integers(0, 30_000), max_size=30))
def test_windows_hold_all_items_in_order_and_not_too_many_words(words: list[int]) -> None:
    items = list(enumerate(words))
    chunks = list(_chunks(items, words))
    assert [item for chunk in chunks for item in chunk] == items
    for chunk in chunks:
        assert len(chunk) == 1 or sum(count for _, count in chunk) <= 20_000


@pytest.mark.parametrize(
    ("name", "lines", "expected"),
    [
        ("x.txt", ["Any flight from Oslo?"], False),
        ("x.txt", ["Ada visits Rome.", "Ben visits Lima."], False),  # equally many words
        ("x.txt", ["Oslo", "Rome", "Lima"], False),
        ("x.txt", ["One text.", "", "Another text.", ""], False),
        ("x.txt", ["Ada\tN", "runs\tV"], True),
        ("x.txt", ["Ada runs.\tBen sits.", "One text.\tAnother."], False),
        ("x.txt", ["Ada N", "runs V", "", "Ben N", "sits V"], True),
        ("x.txt", ["Ada", "runs", ""], False),
        ("x.txt", ["Ada", "runs", "", "Ben"], True),
        ("x.txt", ["-DOCSTART-", "", "Ada N", "runs V", ""], True),
        ("x.txt", ["Ada N", "runs", ""], False),
        ("x.txt", ["# only a heading"], False),
        ("x.conll", ["Ada N"], True),
        ("X.CONLLU", ["# text = Ada"], True),
    ],
)
def test_text_and_columns_are_distinguished(name: str, lines: list[str], expected: bool) -> None:
    found = recognise_lines(name.lower(), lines, name, raw=True).name
    assert (found in ("columns", "conllu")) is expected


@pytest.mark.slow
def test_a_long_input_is_tagged_as_its_parts_are(predictor: Predictor, tmp_path: Path) -> None:
    lines = [" ".join(w.split("\t")[0] for w in s) for s in tiny.lines(3000, 7)]
    path = tmp_path / "long.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    pieces = list(tag(predictor, path, options(output_format="jsonl", batch_size=64)))
    assert len(pieces) > 1  # not all at once
    records = [json.loads(line) for line in "".join(pieces).splitlines()]
    assert [record["text"] for record in records] == lines
    assert [record["line"] for record in records] == list(range(1, 3001))
    for record in records[::500]:
        alone = predictor.predict(record["text"])
        assert [t.tag for t in alone.tokens] == [t["tag"] for t in record["tokens"]]


class LateWorkers:
    """Workers that answer when nothing more is to come."""

    def __init__(self) -> None:
        self.outputs: list[Output] = []

    def submit(self, chunk: Chunk) -> Iterator[Output]:
        self.outputs.append(Output("x", f"{len(self.outputs)}", (), 0, 1))
        return iter(())

    def drain(self) -> Iterator[Output]:
        return iter([self.outputs.pop(0) for _ in [*self.outputs]])


def test_an_output_comes_with_the_place_where_its_own_window_was_read() -> None:
    source = SimpleNamespace(bytes_read=0, waits=lambda: False)

    def chunks() -> Iterator[Chunk]:
        for place in (100, 250, 400):
            source.bytes_read = place
            yield Lines("x", [])

    style = cast(Any, SimpleNamespace(row=None))
    found = [*_outputs(LateWorkers(), chunks(), cast(Any, source), Journal(), style)]
    places = [(output.text, place) for output, place, _ in found]
    assert places == [("0", 100), ("1", 250), ("2", 400)]


def test_progress_says_which_part_of_a_file_is_done(predictor: Predictor, tmp_path: Path) -> None:
    path = tmp_path / "long.conll"
    # Comments are bytes that take no time.
    path.write_text(f"# {'so it was said ' * 80}\nAda N\nleft V\n\n" * 400, encoding="utf-8")
    places: list[tuple[int, int]] = []
    annotator = Annotator(predictor, options())
    reading = replace(READING, progress=lambda *given: places.append(given))
    pool = SerialWorker(annotator)
    for _ in annotate_file(pool, predictor.config, annotator.style, str(path), reading):
        pass
    size = path.stat().st_size
    tokens, done = zip(*places, strict=True)
    assert sum(tokens) == 800
    assert done[-1] == size
    assert list(done) == sorted(done)
    assert 0 < done[0] < size / 2


def test_columns_become_json_with_the_line_of_their_first_token(
    predictor: Predictor, tmp_path: Path
) -> None:
    path = tmp_path / "in.conll"
    path.write_text("# one comment here\nAda N\nleft V\n\n\nRome N\nis V\n", encoding="utf-8")
    out = "".join(tag(predictor, path, options(output_format="jsonl")))
    records = [json.loads(line) for line in out.splitlines()]
    assert [(record["line"], record["text"]) for record in records] == [
        (2, "Ada left"),
        (6, "Rome is"),
    ]
    assert records[0]["document"] == str(path)


def test_conllu_with_a_column_more_is_said_to_be_none(predictor: Predictor, tmp_path: Path) -> None:
    path = tmp_path / "in.conllu"
    empty = 8 * "\t_" + "\n"
    path.write_text(f"1-2\tAdas{empty}1\tAda{empty}2\ts{empty}", encoding="utf-8")
    notes: list[str] = []
    reading = replace(READING, note=lambda text: notes.append(str(text)))
    for output_format, expected in (
        ("conllu", []),
        ("columns", [f"{path}: its lines get a column more, and are no CoNLL-U any more; "
                     "output_format=conllu fills in its own columns"]),
    ):  # fmt: skip
        list(tag(predictor, path, options(output_format=output_format), reading))
        assert [note for note in notes if "column more" in note] == expected


@pytest.mark.slow
def test_a_ragged_line_deep_in_a_file_is_refused_behind_what_was_right(
    predictor: Predictor, tmp_path: Path
) -> None:
    path = tmp_path / "in.conll"
    good = "Ada N\nleft V\n\n" * 20_000
    path.write_text(good + "Ben\n", encoding="utf-8")
    found = tag(predictor, path, options())
    assert next(found).startswith("Ada N B-PER\nleft V O\n\n")
    with refuses(FormatError, "in.conll:60001", "2", "1", "columns"):
        list(found)


@pytest.mark.slow
def test_a_model_with_feature_columns_asks_for_them(tmp_path: Path) -> None:
    config = tiny.config(tmp_path, "data.feature_columns=[1]", "train.max_epochs=5", columns=3)
    predictor = train(config).predictor
    path = tmp_path / "in.conll"
    path.write_text("Ada\tUP\nleft\tLOW\n", encoding="utf-8")
    assert "".join(tag(predictor, path, options())) == "Ada\tUP\tB-PER\nleft\tLOW\tO\n"
    path.write_text("Ada\nleft\n", encoding="utf-8")
    with refuses(FormatError, "in.conll:1", "1", "-1", "0", "feature"):
        list(tag(predictor, path, options()))
    with refuses(DataError, "1", "feature"):
        predictor.predict("Ada left.")


@pytest.mark.slow
def test_memory_does_not_grow_with_the_input(predictor: Predictor, tmp_path: Path) -> None:
    peaks = []
    for count in (20_000, 100_000):
        path = tmp_path / f"{count}.txt"
        path.write_text("Ada Miller visits Cape Town and Rome.\n" * count, encoding="utf-8")
        model, out = predictor.config.output.dir, tmp_path / "out"
        options = ("--threads=1", "--input-format=text")
        peaks.append(peak_mb("predict", model, path, "-o", out, *options))
    assert peaks[1] < 1.1 * peaks[0]


@pytest.mark.slow
@pytest.mark.parametrize("format", ["columns", "jsonl"])
def test_several_processes_write_what_one_writes(
    predictor: Predictor, tmp_path: Path, format: str
) -> None:
    path = tiny.write(tmp_path / "long.conll", tiny.lines(12_000, 7))
    alone = "".join(tag(predictor, path, options(output_format=format, batch_size=64)))
    together = tag_together(predictor, path, options(output_format=format, batch_size=64))
    assert "".join(together) == alone


@pytest.mark.slow
def test_a_mistake_that_a_worker_meets_is_reported_as_in_one_process(
    predictor: Predictor, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "Ada visits Rome"}\n{"text": ""}\n', encoding="utf-8")
    problems = []
    for run in (tag, tag_together):
        with pytest.raises(DataError) as caught:
            list(run(predictor, path, options(output_format="jsonl")))
        problems.append(str(caught.value))
    assert problems[0] == problems[1]
    assert Says(path, "2") == problems[0]


def sentence(name: str, document: int | None, words: int = 2) -> Sentence:
    return Sentence((name,) * words, document=document)


def names(chunks: object) -> list[str]:
    return ["".join(item.words[0] for item in chunk) for chunk in chunks]  # type: ignore[attr-defined]


ITEMS = [sentence("a", 1), sentence("b", 1), sentence("c", 2), sentence("d", None),
         sentence("e", 3, 5), sentence("f", 3), sentence("g", 3)]  # fmt: skip


def gathered(window_words: int, document_words: int, max_length: int = 99) -> list[str]:
    """Chunks, those that are ready after each item among them; behind | what was left."""
    chunks = DocumentChunks[Sentence](window_words, document_words, max_length)
    found = []
    for item in ITEMS:
        found += [*chunks.add(item, len(item), item), *chunks.ready()]
    return [*names(found), f"|{names([chunks.rest()])[0]}"]


def test_an_item_waits_for_the_end_of_its_document() -> None:
    assert gathered(99, 0) == ["a", "b", "c", "d", "e", "f", "g", "|"]
    assert gathered(99, 99) == ["ab", "cd", "|efg"]  # c ends where d begins
    assert gathered(99, 7) == ["ab", "cd", "ef", "|g"]  # parts of up to seven words
    assert gathered(99, 99, max_length=4) == ["ab", "cd", "e", "|fg"]


def test_an_item_of_a_document_that_nothing_marks_need_not_wait() -> None:
    chunks = DocumentChunks[Sentence](99, 99, 99, marked_only=True)
    found = []
    for item in (sentence("a", -1), sentence("b", -1), sentence("c", 2), sentence("d", 2)):
        found += [*chunks.add(item, len(item), item), *chunks.ready()]
    assert names(found) == ["a", "b"]
    assert names([chunks.rest()]) == ["cd"]


def test_a_mark_ends_a_document_before_the_next_one_has_a_sentence() -> None:
    chunks = DocumentChunks[Sentence](99, 99, 99)
    first, second = sentence("a", 1), sentence("b", 1)
    for item in (first, second):
        assert [*chunks.add(item, len(item), item), *chunks.ready()] == []
    assert names([*chunks.end(), *chunks.ready()]) == ["ab"]
    assert chunks.rest() == []


def test_windows_end_before_they_are_too_long_and_between_documents() -> None:
    for limit, wanted in ((99, []), (5, ["ab"]), (7, ["abc"])):
        chunks = DocumentChunks[Sentence](limit, 99, 99)
        found = [chunk for item in ITEMS for chunk in chunks.add(item, len(item), item)]
        assert names(found) == wanted
        assert "".join([*names(found), *names([chunks.rest()])]) == "abcdefg"


def test_inputs_of_one_document_are_in_one_chunk() -> None:
    def cut(words: int, document_words: int) -> list[str]:
        return names(
            chunks_of(ITEMS, words, lambda _: None, document_words=document_words, max_length=99)
        )

    assert cut(1, 0) == list("abcdefg")
    assert cut(1, 99) == ["ab", "c", "d", "efg"]
    assert cut(5, 99) == ["abc", "defg"]
    assert cut(1, 7) == ["ab", "c", "d", "ef", "g"]
    unmarked = [sentence("a", -1), sentence("b", -1), *ITEMS[2:]]
    apart, together = ["a", "b", "c", "d", "efg"], ["ab", "c", "d", "efg"]
    for marked_only, wanted in ((True, apart), (False, together)):
        chunks = chunks_of(
            unmarked, 1, lambda _: None, document_words=99, max_length=99, marked_only=marked_only
        )
        assert names(chunks) == wanted
