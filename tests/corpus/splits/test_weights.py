"""Files of sentence weights: read as they were written, and refused for another corpus."""

from pathlib import Path

import pytest
from says import Says, refuses

from tagkit.config import load_config
from tagkit.corpus.records.dataset import LabelKinds, Split, hold_out
from tagkit.corpus.splits.splits import load_corpus, read_train
from tagkit.corpus.splits.weights import read_weights, write_weights
from tagkit.errors import DataError, FormatError
from tagkit.text.records import Sentence

SENTENCES = (Sentence(("Ada", "left"), lines=(1, 2)), Sentence(("Oslo",), lines=(4,)))
SPLIT = Split("train.conll", SENTENCES, None)
WORDS = [sentence.words for sentence in SENTENCES]
TAGS = LabelKinds(tags=True, classes=False)


def test_reading_what_was_written_gives_it_back(tmp_path: Path) -> None:
    place = tmp_path / "w.jsonl"
    write_weights(place, WORDS, (0.49, 1.0), force=False)
    assert place.read_text("utf-8") == (
        '{"weight": 0.49, "words": ["Ada", "left"]}\n{"weight": 1.0, "words": ["Oslo"]}\n'
    )
    assert read_weights(str(place), SPLIT) == (0.49, 1.0)


def test_a_file_that_is_there_is_replaced_by_force_alone(tmp_path: Path) -> None:
    place = tmp_path / "w.jsonl"
    place.write_text("mine", encoding="utf-8")
    with refuses(DataError, "force=True", "another"):
        write_weights(place, WORDS, (1, 1), force=False)
    assert place.read_text("utf-8") == "mine"
    write_weights(place, WORDS, (1, 1), force=True)
    assert read_weights(str(place), SPLIT) == (1.0, 1.0)


FIRST = '{"weight": 1, "words": ["Ada", "left"]}\n'
WRONG = {
    "": "w.jsonl: expected 2 weights, one for each of train.conll, found 0",
    FIRST: "w.jsonl: expected 2 weights, one for each of train.conll, found 1",
    FIRST + '{"weight": 1, "words": ["Oslo"]}\n' * 2:
        "w.jsonl:3: expected 2 weights, one for each of train.conll, found more",
    FIRST + '{"weight": 1, "words": ["Rome"]}\n':
        "w.jsonl:2: expected the words of train.conll:4, 'Oslo', found 'Rome'; the weights are of "
        "another corpus, or of another reading",
    '{"weight": -1, "words": ["Ada", "left"]}\n':
        "w.jsonl:1: expected a weight from 0 to 1e+06, found -1",
    '{"weight": true, "words": ["Ada", "left"]}\n':
        "w.jsonl:1: expected a weight from 0 to 1e+06, found true",
    "[1]\n": 'w.jsonl:1: expected {"weight": ..., "words": [...]}, found a list',
    '{"weight": 1}\n': "w.jsonl:1: expected {\"weight\": ..., \"words\": [...]}, found the keys "
        "'weight'",
    "weight\n": "w.jsonl:1: expected JSON, found not JSON at line 1, column 1",
    '{"weight": 0, "words": ["Ada", "left"]}\n{"weight": 0, "words": ["Oslo"]}\n':
        "w.jsonl: every weight is 0, so there is nothing to learn from",
}  # fmt: skip


@pytest.mark.parametrize(("content", "said"), WRONG.items(), ids=range(len(WRONG)))
def test_a_file_of_another_corpus_is_named_with_its_line(
    content: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("w.jsonl").write_text(content, encoding="utf-8")
    with pytest.raises(DataError) as found:
        read_weights("w.jsonl", SPLIT)
    assert str(found.value) == said
    assert isinstance(found.value, FormatError) == (said[7] == ":" and said[8].isdigit())


def test_a_file_that_is_not_there_is_named_with_its_option() -> None:
    with pytest.raises(DataError) as found:
        read_weights("none.jsonl", SPLIT)
    assert str(found.value) == (Says("none.jsonl", "data.weights"))


def test_a_part_that_is_held_out_leaves_each_sentence_its_own_weight() -> None:
    sentences = tuple(Sentence((f"word{number}",), ("O",)) for number in range(40))
    split = Split("x", sentences, None, weights=tuple(float(number) for number in range(40)))
    train, dev = hold_out(split, 0.25, 3)
    assert len(dev.sentences) == 10
    assert dev.weights is None
    assert train.weights == tuple(float(each.words[0][4:]) for each in train.sentences)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Two sentences in a file."""
    place = tmp_path / "train.conll"
    place.write_text("Ada\tB-PER\nleft\tO\n\nOslo\tB-LOC\n\n", encoding="utf-8")
    return place


def test_weights_of_one_everywhere_are_no_weights(corpus: Path) -> None:
    weights = corpus.with_name("w.jsonl")
    config = load_config(overrides=[f"data.train_file={corpus}", f"data.weights={weights}"])
    write_weights(weights, WORDS, (1.0, 1.0), force=False)
    assert read_train(config, TAGS).weights is None
    write_weights(weights, WORDS, (1.0, 0.7), force=True)
    assert read_train(config, TAGS).weights == (1.0, 0.7)


def test_a_run_whose_dev_takes_all_weights_is_refused(corpus: Path) -> None:
    weights = corpus.with_name("w.jsonl")
    options = [f"data.train_file={corpus}", "data.dev_fraction=0.5"]
    config = load_config(overrides=options)
    (kept,) = load_corpus(config, TAGS).train.sentences
    write_weights(weights, WORDS, [float(words != kept.words) for words in WORDS], force=False)
    with pytest.raises(DataError) as found:
        load_corpus(load_config(overrides=[*options, f"data.weights={weights}"]), TAGS)
    assert str(found.value) == f"{corpus}: every sentence to learn from has the weight 0"
