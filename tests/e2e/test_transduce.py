"""Strings for strings: trained, resumed, predicted on every road, scored, and asked what it is."""

import json
import math
from pathlib import Path

import pytest
from program import Program
from says import refuses
from toy_tasks import StopAfter

import tagkit
from tagkit.config import Config, load_config
from tagkit.errors import DataError, Interrupted
from tagkit.storage import digest_of
from tagkit.text.records import StringAnswer
from tagkit.training.run_end import Trained
from tagkit.training.trainer import train

WORDS = ["ab", "ba", "abc", "cab", "bca", "acb", "cba", "bac", "aab", "cc", "b", "acca"]


def pair(word: str, case: str) -> str:
    """What is learnt: a word in capitals, or reversed."""
    return f"{word}\t{word.upper() if case == 'UP' else word[::-1]}\t{case}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    lines = [pair(word, case) for word in WORDS for case in ("UP", "BACK")]
    (folder / "train.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def options(folder: Path, *more: str) -> Config:
    return load_config(None, [
        "task=transduce", f"data.train_file={folder / 'train.tsv'}",
        f"data.dev_file={folder / 'train.tsv'}", "encoder.hidden=24", "embeddings.word_dim=16",
        "encoder.locked_dropout=0.0", "encoder.word_dropout=0.0", "train.lr=0.02",
        "decoder.attention=additive", "data.hallucinated=0", "train.max_epochs=30",
        "train.threads=1", f"output.dir={folder / 'run'}", *more,
    ])  # fmt: skip


@pytest.fixture(scope="module")
def trained(folder: Path) -> Trained:
    return train(options(folder, "train.patience=30"))


def test_it_learns_its_corpus_by_heart(trained: Trained) -> None:
    assert trained.best.score >= 0.9


@pytest.mark.parametrize(
    "more",
    [(), ("decoder.attention=auto", "decoder.copy=true"),
     ("head.sampling=linear", "head.sampling_steps=5"),
     ("decoder.copy=true", "head.halt=true"), ("decoder.attention=monotone",),
     ("head.end=length", "head.free_running=2"), ("encoder.ensemble_size=2",),
     ("head.end=length", "decoder.copy=true", "head.label_smoothing=0.1"),
     ("decoder.attention=none", "decoder.context=both", "encoder.cell=gru")],
    ids=str,
)  # fmt: skip
def test_a_stopped_run_goes_on_bit_for_bit(
    folder: Path, tmp_path: Path, more: tuple[str, ...]
) -> None:
    few = ("train.max_epochs=3", "train.checkpoint_every=3", *more)
    whole = train(options(folder, *few, f"output.dir={tmp_path / 'whole'}"))
    again = options(folder, *few, f"output.dir={tmp_path / 'stopped'}")
    stopped = StopAfter(7)
    with pytest.raises(Interrupted):
        train(again, stopped, stop=stopped.event)
    resumed = train(again, resume=True)
    ours, theirs = (run.folder / "last" / "model.safetensors" for run in (whole, resumed))
    assert digest_of(ours) == digest_of(theirs)


def test_an_ensemble_is_saved_and_writes_one_string(folder: Path, tmp_path: Path) -> None:
    more = ("encoder.ensemble_size=2", "train.max_epochs=15", "decoder.copy=true")
    two = train(options(folder, *more, f"output.dir={tmp_path / 'two'}"))
    assert two.best.score > 0.3
    loaded, lines = tagkit.load(two.folder), [f"{word}\tUP" for word in WORDS]
    answers = loaded.predict(lines, beam=3)
    assert [each.text for each in answers] == [
        each.text for each in two.predictor.predict(lines, beam=3)
    ]
    for line, each in zip(lines, answers, strict=True):
        assert loaded.predict(line, beam=3).log_probability == pytest.approx(each.log_probability)
    report = tagkit.evaluate(folder / "train.tsv", model=loaded)
    assert report.headline == pytest.approx(two.best.score)


def test_the_same_string_is_written_alone_in_a_batch_and_in_a_stream(trained: Trained) -> None:
    model = tagkit.load(trained.folder)
    lines = [f"{word}\t{case}" for word in WORDS for case in ("UP", "BACK")]
    found = model.predict(lines)
    assert [each.source for each in found] == [line.split("\t")[0] for line in lines]
    right = [
        each.text == pair(*line.split("\t")).split("\t")[1]
        for line, each in zip(lines, found, strict=True)
    ]
    assert sum(right) / len(right) == trained.best.score
    for line, answer in zip(lines[:6], found, strict=False):
        alone = model.predict(line)
        assert isinstance(alone, StringAnswer)
        assert alone.text == answer.text
        assert alone.log_probability == pytest.approx(answer.log_probability, abs=1e-4)
    assert [each.text for each in model.stream(iter(lines), window_words=3)] == [
        each.text for each in found
    ]
    # A target between source and features, as corpora have it, is not read.
    assert model.predict("ab\twrong\tUP").text == model.predict("ab\tUP").text
    with pytest.raises(DataError, match="4 cells"):
        model.predict("a\tb\tc\td")


def test_a_wider_beam_finds_nothing_less_probable_and_gives_alternatives(trained: Trained) -> None:
    model = tagkit.load(trained.folder)
    for word in WORDS[:4]:
        greedy, wide = (model.predict(f"{word}\tUP", beam=beam) for beam in (1, 8))
        assert wide.log_probability >= greedy.log_probability - 1e-5
    several = model.predict("ab\tBACK", n_best=3, alignment=True)
    assert len({each.text for each in several.alternatives}) == 3
    probable = [each.log_probability for each in several.alternatives]
    assert probable == sorted(probable, reverse=True)
    assert several.text == several.alternatives[0].text
    assert several.alignment is not None
    assert several.alignment.symbols == ("a", "b", "</s>", "\tBACK")
    for weights in several.alignment.weights:
        assert sum(weights) == pytest.approx(1, abs=1e-5)


def test_commands_predict_score_and_describe_it(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:  # fmt: skip
    program = Program(monkeypatch, capfdbinary)
    train_file = trained.folder.parent / "train.tsv"
    report = json.loads(program("eval", trained.folder, train_file, "--json").out)
    assert report["exact_match"] == report["headline"] == trained.best.score
    assert "exact" in program("eval", trained.folder, train_file).out
    assert "LSTM decoder" in program("info", trained.folder).out
    path = tmp_path / "sources.txt"
    path.write_text("ab\tUP\ncab\tBACK\n", encoding="utf-8")
    model = tagkit.load(trained.folder)
    expected = [model.predict(line).text for line in ("ab\tUP", "cab\tBACK")]
    assert (
        program("predict", trained.folder, path).out == f"ab\t{expected[0]}\ncab\t{expected[1]}\n"
    )
    rows = program("predict", trained.folder, path, "--format", "jsonl", "--beam", 4).out
    assert [json.loads(row)["source"] for row in rows.splitlines()] == ["ab", "cab"]
    several = program("predict", trained.folder, path, "--format", "jsonl", "--n-best", 2).out
    assert [len(json.loads(row)["n_best"]) for row in several.splitlines()] == [2, 2]
    lines = program("predict", trained.folder, path, "--n-best", 2).out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["ab", "ab", "cab", "cab"]
    path.write_text('{"id": "x", "text": "ab", "features": "UP"}\n', encoding="utf-8")
    row = json.loads(
        program("predict", trained.folder, path, "--input-format", "jsonl", "--format", "jsonl").out
    )
    assert (row["id"], row["target"]) == ("x", expected[0])
    refused = program("predict", trained.folder, path, "--threshold", 0.5)
    assert refused.code == 1
    kept = (trained.folder / "dev.pred").read_text("utf-8").splitlines()
    assert len(kept) == len(WORDS) * 2


def test_words_and_byte_pairs_are_units_too(tmp_path: Path) -> None:
    lines = [f"{a} {b}\t{b} {a}!" for a in ("one", "two", "six") for b in ("up", "to", "in")]
    (tmp_path / "train.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for source, target in (("word", "tokens"), ("bpe", "bpe")):
        run = train(options(
            tmp_path, f"data.source_unit={source}", f"data.target_unit={target}",
            "train.max_epochs=2", f"output.dir={tmp_path / source}",
            *(["data.bpe_size=270"] if source == "bpe" else []),
        ))  # fmt: skip
        assert tagkit.load(run.folder).predict("one unseen").text is not None
        assert run.test is None


def test_weights_of_a_run_are_those_of_its_seed(folder: Path, tmp_path: Path) -> None:
    digests = set()
    for name in ("one", "two"):
        run = train(options(folder, "train.max_epochs=1", f"output.dir={tmp_path / name}"))
        digests.add(digest_of(run.folder / "best" / "model.safetensors"))
    assert len(digests) == 1


def test_another_corpus_goes_on_with_its_weights_and_more_units(
    trained: Trained, tmp_path: Path
) -> None:
    more = [pair(f"{word}d", case) for word in WORDS for case in ("UP", "BACK")]
    (tmp_path / "train.tsv").write_text("\n".join(more) + "\n", encoding="utf-8")
    sizes = ("encoder.hidden=24", "embeddings.word_dim=16")
    config = load_config(None, [
        "task=transduce", f"data.train_file={tmp_path / 'train.tsv'}", "train.max_epochs=1",
        f"data.dev_file={tmp_path / 'train.tsv'}", f"train.init_from={trained.folder}",
        "train.lr=1e-9", "train.threads=1", f"output.dir={tmp_path / 'further'}", *sizes,
    ])  # fmt: skip
    further = tagkit.load(train(config).folder)
    before = tagkit.load(trained.folder)
    for line in ("ab\tUP", "cab\tBACK"):
        assert further.predict(line).text == before.predict(line).text
    old, new = (each.vocabulary.pairs.units for each in (before, further))
    assert new[: len(old)] == old
    assert {"d", "D"} <= {*new} - {*old}


@pytest.mark.parametrize("more", ["encoder.cell=transformer", "encoder.merge=sum"])
def test_a_decoder_has_the_size_of_the_states_that_its_products_are_of(
    folder: Path, tmp_path: Path, more: str
) -> None:
    few = ("train.max_epochs=1", "decoder.attention=dot", more, f"output.dir={tmp_path}/run")
    assert tagkit.load(train(options(folder, *few)).folder).predict("ab\tUP").source == "ab"


def test_what_is_for_labels_is_refused_and_a_curve_of_its_score_is_drawn(
    trained: Trained, folder: Path, tmp_path: Path
) -> None:
    corpus, curve = folder / "train.tsv", tmp_path / "curve"
    with refuses(DataError, "strings", "labels"):
        tagkit.calibrate(trained.folder, corpus)
    with refuses(DataError, "labels"):
        tagkit.analyse(corpus, model=tagkit.load(trained.folder))
    found = tagkit.learning_curve(
        options(folder, "train.max_epochs=1", f"output.dir={curve}"), sizes=[10, 16, 24]
    )
    assert [point.sentences for point in found.points] == [10, 16, 24]


def test_penalties_and_bounds_of_a_search_hold_and_give_its_score(trained: Trained) -> None:
    model = tagkit.load(trained.folder)
    for word in ("acca", "b"):
        line = f"{word}\tUP"
        long = model.predict(line, beam=4, min_units=8, max_units=9)
        assert 8 <= len(long.text) <= 9
        apart = model.predict(line, beam=4, min_units=8, max_units=9, no_repeat=1)
        # With so few units it ends before its least length where none is left.
        assert len({*apart.text}) == len(apart.text) > 0
        mean = model.predict(line, beam=4, n_best=4, length_penalty=1.0)
        scores = [each.score for each in mean.alternatives]
        assert scores == sorted(scores, reverse=True)
        for each in mean.alternatives:  # the end is a unit, too
            assert each.score == pytest.approx(
                each.log_probability / (len(each.text) + 1), abs=1e-5
            )
    # What no step has looked at costs the more, the larger the factor is.
    found = [
        model.predict("acca\tUP", beam=4, n_best=4, coverage_penalty=factor, alignment=True)
        for factor in (0.0, 2.0)
    ]
    for each in found[1].alternatives:
        assert each.score < each.log_probability
    assert found[0].alternatives[0].score == pytest.approx(found[0].log_probability, abs=1e-5)
    assert 120 <= len(model.predict("ab\tUP", min_units=120).text)
    for alone in ("length_penalty", "coverage_penalty"):
        with refuses(DataError, alone, "beam"):
            model.predict("ab", **{alone: 1.0})
    for wrong in ({"length_penalty": -1.0}, {"coverage_penalty": float("nan")}, {"min_units": -1}):
        with refuses(DataError, *wrong):
            model.predict("ab", **wrong)


def test_what_was_looked_at_is_shown_in_a_terminal_on_a_page_and_in_json(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:  # fmt: skip
    program = Program(monkeypatch, capfdbinary)
    path = tmp_path / "sources.txt"
    path.write_text("ab\tUP\n", encoding="utf-8")
    answer = tagkit.load(trained.folder).predict("ab\tUP", alignment=True)
    assert answer.alignment is not None
    weights = answer.alignment.weights
    first, head, *rows, _ = program(
        "predict", trained.folder, path, "--format", "show"
    ).out.splitlines()
    assert first == f"ab \u2192 {answer.text}"
    assert head.split() == ["a", "b", "</s>", "UP"]
    shades = "\u00b7\u2591\u2592\u2593\u2588"
    for unit, row, drawn in zip(answer.alignment.units, weights, rows, strict=True):
        name, *cells = drawn.split()
        assert name == unit
        assert [len(each) for each in cells] == [1, 1, 4, 2]
        assert [shades.index(each[0]) for each in cells] == [min(int(5 * w**0.5), 4) for w in row]
    program("predict", trained.folder, path, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.count('scope="row"') == len(answer.alignment.units)
    assert f">{100 * max(weights[0]):.0f}</td>" in page
    written = program("predict", trained.folder, path, "--format", "jsonl", "--confidence").out
    found = json.loads(written)["alignment"]["weights"]
    assert [[pytest.approx(w, abs=1e-5) for w in row] for row in weights] == found


def test_its_score_has_an_interval_and_two_models_are_compared_pair_by_pair(
    trained: Trained, folder: Path, tmp_path: Path
) -> None:
    few = train(options(folder, "train.max_epochs=10", f"output.dir={tmp_path / 'few'}"))
    corpus = folder / "train.tsv"
    scores = [tagkit.evaluate(corpus, model=each.predictor) for each in (few, trained)]
    first, second = (report.headline for report in scores)
    assert 0.1 < first < second
    found = tagkit.analyse(corpus, model=few.predictor, analyses=["interval"]).interval
    assert found is not None
    around = 1.96 * math.sqrt(first * (1 - first) / (2 * len(WORDS)))
    assert (found[""].low, found[""].high) == pytest.approx(
        (first - around, first + around), abs=0.06
    )
    systems = tagkit.compare(corpus, models={"few": few.predictor, "more": trained.predictor})
    table = systems.parts[""]
    assert [system.score for system in table] == [first, second]
    assert table[1].difference is not None
    assert table[1].difference.difference == pytest.approx(second - first)
    assert table[1].difference.p < 0.05
    with refuses(DataError, "strings", "errors"):
        tagkit.analyse(corpus, model=few.predictor, analyses=["errors"])
