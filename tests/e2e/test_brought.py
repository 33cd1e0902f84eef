"""What people bring: files in notations of tags that no shared task has, through every command.

A row of a table is a shape of a file; the spans are those of the sentences that it was written of.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny
from brought import SPELLINGS, Tagged, sample, written
from typer.testing import CliRunner

import tagkit
from tagkit.cli.main import app
from tagkit.evaluation.compare.compare import compare_files
from tagkit.text.records import Sentence, Span
from tagkit.text.schemes import DISPLAY, to_spans

CORPORA = Path(__file__).parents[3] / "shared" / "data"
ALL = pytest.mark.parametrize("name", SPELLINGS)


def read(path: Path, name: str) -> list[Sentence]:
    items = tagkit.read(path, **options(name))
    return [item for item in items if isinstance(item, Sentence)]


def options(name: str) -> dict[str, Any]:
    return dict(each.split("=") for each in SPELLINGS[name].options)


def spans_of(sentence: Sentence) -> list[tuple[int, int, str]]:
    return [(span.start, span.end, span.label) for span in to_spans(sentence.tags or ())]


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.output


@ALL
def test_words_and_spans_are_those_that_were_written(tmp_path: Path, name: str) -> None:
    found = read(written(tmp_path, name, sample()), name)
    assert [list(sentence.words) for sentence in found] == [list(words) for words, _ in sample()]
    assert [spans_of(each) for each in found] == [SPELLINGS[name].spans(s) for s in sample()]


@ALL
def test_a_check_names_the_scheme_and_finds_no_error(tmp_path: Path, name: str) -> None:
    report = tagkit.check(written(tmp_path, name, sample()), **options(name))
    (facts,) = report.files
    scheme = SPELLINGS[name].scheme
    # BMEWO is IOBES in other letters; nothing tells IOB1 apart where types are neighbours.
    assert facts.scheme_told.startswith(DISPLAY[scheme])
    assert not [each for each in report.findings if each.severity == "error"]
    assert facts.labels == {
        label: sum(end[2] == label for each in sample() for end in SPELLINGS[name].spans(each))
        for label in facts.labels
    }
    said = [each.message for each in report.findings if "data.notation" in each.message]
    is_usual = (SPELLINGS[name].tag, SPELLINGS[name].outside) == ("{p}-{t}", "O")
    assert len(said) == (0 if is_usual and name != "BMEWO" else 1)


@ALL
def test_predictions_are_scored_as_in_the_usual_notation(tmp_path: Path, name: str) -> None:
    wrong = [(words, [span for span in spans if span.label != "PER"]) for words, spans in sample()]
    nothing = [(words, [*[]]) for words, _ in sample()]
    gold = written(tmp_path, name, sample())
    (tmp_path / "pred").mkdir()
    for predicted in (wrong, nothing):
        other = written(tmp_path / "pred", name, predicted)
        config = tagkit.load_config(None, [f"data.{each}" for each in SPELLINGS[name].options])
        report = compare_files(str(gold), str(other), config.data, None, False)
        ours = {end for at, each in enumerate(sample()) for end in at_line(name, at, each)}
        theirs = {end for at, each in enumerate(predicted) for end in at_line(name, at, each)}
        right = len(ours & theirs)
        assert report.micro.recall == right / len(ours)
        assert report.micro.precision == (right / len(theirs) if theirs else 0.0)
        run("eval", "--gold", gold, "--pred", other, "--verify", *scheme_of(name))


def at_line(name: str, at: int, each: Tagged) -> Iterator[tuple[int, int, int, str]]:
    return ((at, *span) for span in SPELLINGS[name].spans(each))


def scheme_of(name: str) -> list[str]:
    return [part for each in SPELLINGS[name].options for part in ("--scheme", each[7:])]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in ("PER_S", "PER") else pytest.mark.slow)
        for name in SPELLINGS
    ],
)
def test_a_model_trains_on_spans_and_writes_the_notation(tmp_path: Path, name: str) -> None:
    train = written(tmp_path, name, sample() * 3)
    named = [f"data.{each}" for each in SPELLINGS[name].options]
    config = tiny.small(
        tmp_path, *named, "train.max_epochs=25", "head.feature_crf=0",
        **{"data.train_file": str(train), "data.dev_file": str(train), "data.test_file": ""},
    )  # fmt: skip
    trained = tagkit.train(config)
    assert trained.predictor.config.data.scheme == SPELLINGS[name].scheme
    assert trained.dev.headline == 1.0
    folder = tmp_path / "model"
    assert tagkit.evaluate(train, model=folder).headline == 1.0
    # Words alone, one a line: the model's tags stand behind them, spelled as in training.
    words = tmp_path / "words.txt"
    words.write_text("".join("\n".join(each) + "\n\n" for each, _ in sample()), encoding="utf-8")
    out = tmp_path / "out.txt"
    run("predict", folder, words, "-o", out)
    usual = replace(SPELLINGS[name], row="{word}\t{tag}")
    assert out.read_text(encoding="utf-8") == usual.text(sample())
    # Filled into the corpus, they are its own tags, which eval then finds behind them.
    dev = folder / "dev.pred"
    run("predict", folder, train, "-o", tmp_path / "both.txt")
    assert dev.read_text(encoding="utf-8") == (tmp_path / "both.txt").read_text(encoding="utf-8")
    report = run("eval", "--gold", tmp_path / "both.txt", *scheme_of(name))
    assert "token accuracy 1.0000" in report


@pytest.mark.slow
@ALL
@pytest.mark.parametrize("path", ["conll2003/eng.train", "conll2002/ned.train"])
def test_real_corpora_keep_all_of_their_spans(tmp_path: Path, name: str, path: str) -> None:
    source = CORPORA / path
    if not source.is_file():
        pytest.skip(f"{source} is not there")
    usual = [item for item in tagkit.read(source) if isinstance(item, Sentence)]
    sentences: list[Tagged] = [(each.words, to_spans(each.tags or ())) for each in usual]
    found = read(written(tmp_path, name, sentences), name)
    assert [each.words for each in found] == [each.words for each in usual]
    expected = [SPELLINGS[name].spans(each) for each in sentences]
    assert [spans_of(each) for each in found] == expected
    assert sum(map(len, expected)) > 10_000


@pytest.mark.parametrize("name", ["0 for O", "B_PER and 0", "PER-b", "BMEWO", "PER"])
def test_json_lines_of_tokens_are_read_alike(tmp_path: Path, name: str) -> None:
    rows = [block.split("\n") for block in SPELLINGS[name].text(sample()).strip().split("\n\n")]
    path = tmp_path / "corpus.jsonl"
    pairs = [[row.split(" ") for row in block] for block in rows]
    records = [{"tokens": [w for w, _ in each], "tags": [t for _, t in each]} for each in pairs]
    path.write_text("".join(f"{json.dumps(each)}\n" for each in records), encoding="utf-8")
    assert [spans_of(each) for each in read(path, name)] == [
        SPELLINGS[name].spans(each) for each in sample()
    ]


PLAIN = {
    "parts of speech": "NN NNP -LRB- PRP$ NN-PL VBZ VB-I WP$ , .",
    "universal ones": "NOUN VERB ADJ X _ PUNCT SYM",
    "features": "Case=Nom|Number=Sing Number=Plur _ Mood=Ind",
    "lemmas": "b-movie e-mail i-pod s-bahn be go",
    "grades": "A B C B",
    "slots without tags": "city_name fromloc.city_name O airline_name",
    "diseases": "hepatitis-B hepatitis-C vitamin-E O",
}


@pytest.mark.parametrize("name", PLAIN)
def test_labels_that_mean_no_spans_stay_as_they_are(tmp_path: Path, name: str) -> None:
    tags = PLAIN[name].split()
    text = "".join(f"w{at} {tag}\n" for at, tag in enumerate(tags * 20)) + "\n"
    path = tmp_path / "labels.txt"
    path.write_text(text, encoding="utf-8")
    found = [each for each in tagkit.read(path) if isinstance(each, Sentence)]
    assert [tag for each in found for tag in each.tags or ()] == tags * 20
    assert tagkit.check(path).files[0].scheme == "labels"


def test_types_in_runs_are_offered_as_spans(tmp_path: Path) -> None:
    path = written(tmp_path, "PER", sample())
    (finding,) = [each for each in tagkit.check(path).findings if each.kind == "labels-in-runs"]
    assert "(LOC LOC)" in finding.message
    assert "data.scheme=io" in finding.message


def test_a_further_column_of_tags_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nested.txt"
    path.write_text("".join(f"w{n} B-ORG B-LOC\nx I-ORG O\n\n" for n in range(9)), encoding="utf-8")
    notes: list[str] = []
    tagkit.check(path, note=notes.append)
    assert "tags of spans in column 1 too" in notes[0]


def test_a_notation_can_be_named_where_it_does_not_show(tmp_path: Path) -> None:
    path = tmp_path / "rare.txt"  # the tag of what is no span is rarer than tags of spans
    path.write_text("a B-X\nb I-X\nc B-X\nd I-X\ne I-X\nf nil-1\n\n" * 4, encoding="utf-8")
    found = next(iter(tagkit.read(path, notation="B-PER nil-1")))
    assert isinstance(found, Sentence)
    assert to_spans(found.tags or ()) == (Span(0, 2, "X"), Span(2, 5, "X"))
