"""Dev scores and reports of a model, beside the numbers of conlleval."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import conlleval
import pytest
import tiny
import torch
from hypothesis import assume, example, given
from hypothesis import strategies as st
from random_language_model import context_of
from says import Says, refuses
from tag_files import compare, write

from tagkit.config import DataConfig
from tagkit.corpus.records.dataset import Split
from tagkit.errors import DataError
from tagkit.evaluation.reports.tag_report import TagReport
from tagkit.inference.predict.predictor import Predictor
from tagkit.inference.score.evaluate import evaluate
from tagkit.inference.score.score import dev_scores, evaluate_split, gold_split
from tagkit.nn.softmax.neural_cache import CacheOptions
from tagkit.text.records import Prediction, Sentence
from tagkit.text.scheme_detection import Detection, count_steps, judge
from tagkit.text.schemes import has_spans, to_spans
from tagkit.training.trainer import train

# Labels that seqeval confuses: none, its own name for that, and hyphens at either end.
ODD = ["", "_", "__", "X", "-X", "X-", "-"]
odd_tags = st.just("O") | st.builds(
    lambda prefix, label: f"{prefix}-{label}" if label else prefix,
    st.sampled_from("BIESLUM"),
    st.sampled_from(ODD),
)
odd_corpora = st.lists(
    st.lists(st.tuples(odd_tags, odd_tags), min_size=1, max_size=6), min_size=1, max_size=4
)
Pairs = list[list[tuple[str, str]]]


class Told(Predictor):
    """A model whose tags are given."""

    def __init__(self, predictor: Predictor, tags: Sequence[Sequence[str]]) -> None:
        self.__dict__.update(predictor.__dict__)
        self.tags = tags

    def predictions_of(self, split: Split, **_: object) -> list[Prediction]:  # type: ignore[override]
        pairs = zip(split.sentences, self.tags, strict=True)
        return [Prediction(s.words, tuple(tags), to_spans(tags)) for s, tags in pairs]


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    folder = tmp_path_factory.mktemp("scoring")
    return train(tiny.config(folder, "train.max_epochs=1", "data.train_scheme=iob2")).predictor


@given(odd_corpora)
@example([[("B", "B-_")]])
@example([[("B-_", "B-_"), ("B", "B-_")]])
@example([[("B--X", "B-X")]])
def test_dev_scores_reports_and_files_have_the_numbers_of_conlleval(
    predictor: Predictor, tmp_path_factory: pytest.TempPathFactory, pairs: Pairs
) -> None:
    gold, predicted = ([[pair[i] for pair in pairs_] for pairs_ in pairs] for i in (0, 1))
    # As the model's own scheme is the corpus's, its tags are compared as they are.
    sentences = tuple(
        Sentence(tuple("w" for _ in tags), tuple(tags), lines=range(1, len(tags) + 1))
        for tags in gold
    )
    split = Split("gold", sentences, Detection("iob2", 1, 0), ())
    told = Told(predictor, predicted)
    dev = dev_scores(told, split, 4)
    report = evaluate_split(told, split, batch_size=4)
    assert isinstance(report, TagReport)
    as_iobes = [convert_letters(side) for side in (gold, predicted)]
    counts = conlleval.count(*as_iobes)
    *_, f1 = counts.scores(*(counts.gold | counts.guessed))
    assert dev.headline == pytest.approx(f1, abs=1e-12)
    assert report.headline == pytest.approx(f1, abs=1e-12)
    assert len(report.types) == len(counts.gold | counts.guessed)
    assert report.micro.support == counts.gold.total()
    assert sum(score.support for score in report.types.values()) == counts.gold.total()
    for side in (gold, predicted):
        judged = judge(count_steps(side))
        assume(has_spans(judged.scheme) and not judged.odd)
    folder = tmp_path_factory.mktemp("files")
    lines = "\n".join("".join(f"w {a} {b}\n" for a, b in pairs_) for pairs_ in pairs)
    from_files = compare(write(folder, "both", lines), None)
    assert from_files.types == report.types
    assert from_files.micro == report.micro


def convert_letters(sequences: list[list[str]]) -> list[list[str]]:
    """L, U and M as the E, S and I of conlleval."""
    return [[tag.translate(LETTERS) if len(tag) < 2 else tag[0].translate(LETTERS) + tag[1:]
             for tag in tags] for tags in sequences]  # fmt: skip


LETTERS = str.maketrans("LUM", "ESI")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"window": 0}, Says("cache_window", "1", "0")),
        ({"theta": math.inf}, Says("cache_theta", "0", "1,000,000")),
        ({"theta": 1e308}, Says("cache_theta", "0", "1,000,000", "308")),
        ({"share": 1.0}, Says("cache_share", "0", "1", "1.0")),
    ],
)
def test_numbers_of_a_cache_are_in_their_ranges(
    tmp_path: Path, changes: dict[str, float], problem: str
) -> None:
    context = context_of()
    device = torch.device("cpu")
    predictor = Predictor(context.model, context.vocabulary, context.config, device)
    path = tmp_path / "a.txt"
    path.write_text("a b c\nb c\n")
    cache = CacheOptions(window=3, theta=1.0, share=0.2)
    plain = evaluate(path, model=predictor).to_dict()
    mixed = evaluate(path, model=predictor, cache=cache).to_dict()
    assert mixed.pop("cache") == cache.to_dict()
    assert {name for name in plain if plain[name] != mixed[name]} >= {"perplexity"}
    with pytest.raises(DataError) as error:
        evaluate(path, model=predictor, cache=replace(cache, **changes))  # type: ignore[arg-type]
    assert str(error.value) == problem


def test_a_gold_file_whose_tags_stand_where_features_did_is_refused(tmp_path: Path) -> None:
    config = tiny.config(tmp_path, "data.feature_columns=[1]", "train.max_epochs=1", columns=3)
    predictor = train(config).predictor
    two = tiny.write(tmp_path / "two.conll", tiny.lines(5, 3))
    with refuses(DataError, "two.conll", "1", "feature"):
        gold_split(predictor, str(two), DataConfig())
    test = tmp_path / "test.conll"
    whole = gold_split(predictor, str(test), DataConfig())
    assert len(whole.sentences) == 20
    assert not [note for note in whole.notes if "feature" in note]
    bare = Sentence(("Ada", "left"), ("B-PER", "O"))
    with refuses(DataError, "1", "feature"):
        evaluate([bare], model=predictor)
    test.write_text(re.sub(r"\t(UP|LOW)\t", r"\tx\1\t", test.read_text("utf-8")), "utf-8")
    assert gold_split(predictor, str(test), DataConfig()).notes[-1] == (
        f"{test}: the model knows none of the values of feature column 1 (xLOW, xUP)"
    )


def test_words_that_are_not_composed_as_those_of_the_model_are_named(
    predictor: Predictor, tmp_path: Path
) -> None:
    path = tmp_path / "new.conll"
    for word, is_named in (("\xc5se", False), ("A\u030ase", True)):
        path.write_text(f"{word}\tB-PER\nleaves\tO\n", encoding="utf-8")
        notes = gold_split(predictor, str(path), DataConfig()).notes
        expected = (
            f"{path}: 1 distinct word such as 'A\u030ase' not in Unicode's composed form (NFC), "
            "unlike all words of the model, which takes them for others"
        )
        assert [note for note in notes if "NFC" in note] == [expected] * is_named


@pytest.mark.slow
def test_a_corpus_of_bmes_is_answered_and_scored_in_bmes(tmp_path: Path) -> None:
    config = tiny.config(tmp_path, "train.max_epochs=8", "train.lr=0.02")
    for name in ("train", "dev", "test"):
        text = "New\tB-LOC\nYork\tM-LOC\nCity\tE-LOC\nwaits\tO\n\nAda\tS-PER\nwaits\tO\n\n" * 20
        (tmp_path / f"{name}.conll").write_text(text, "utf-8")
    predictor = train(config).predictor
    assert predictor.config.data.scheme == "bmes"
    (found,) = predictor.predict(["New York City waits".split()])
    assert [token.tag for token in found.tokens] == ["B-LOC", "M-LOC", "E-LOC", "O"]
    report = evaluate(tmp_path / "test.conll", model=predictor).to_dict()
    assert (report["scheme"], report["accuracy"], report["micro"]["f1"]) == ("BMES", 1.0, 1.0)
    # What such a model of an earlier version has written is as right as it was.
    written = tmp_path / "written.conll"
    written.write_text((tmp_path / "test.conll").read_text("utf-8").replace("M-", "I-"), "utf-8")
    for strict in (False, True):
        for sides in ((tmp_path / "test.conll", written), (written, tmp_path / "test.conll")):
            report = evaluate(*sides, strict=strict).to_dict()
            assert (report["accuracy"], report["micro"]["f1"]) == (1.0, 1.0)
    # A model of an earlier version, which had no name for BMES, is compared in the file's tags.
    data = predictor.config.data.model_copy(update={"scheme": "iobes"})
    predictor.config = predictor.config.model_copy(update={"data": data})
    report = evaluate(tmp_path / "test.conll", model=predictor).to_dict()
    assert (report["scheme"], report["accuracy"], report["micro"]["f1"]) == ("BMES", 1.0, 1.0)
