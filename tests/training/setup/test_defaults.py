"""What is chosen from the size of the corpus, and that what is given is kept."""

import json
import math
from pathlib import Path

import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st
from says import refuses

from tagkit.config import load_config
from tagkit.errors import ConfigError
from tagkit.training.setup import defaults
from tagkit.training.setup.defaults import (
    CorpusSize,
    batch_size_for,
    choose_by_size,
    choose_for_text,
    lr_for,
)
from tagkit.training.setup.setup import resolve
from tagkit.training.trainer import train

NAMES = ("batch_size", "max_epochs", "patience", "lr")


def chosen(sentences: int, *options: str) -> tuple[float, ...]:
    config = choose_by_size(
        load_config(None, options), CorpusSize(sentences, 14 * sentences)
    ).config
    return tuple(getattr(config.train, name) for name in NAMES)


@pytest.mark.parametrize(
    ("sentences", "values"),
    [
        (1, (4, 600, 250, 0.012)),
        (50, (4, 47, 20, 0.012)),
        (100, (4, 24, 10, 0.012)),
        (101, (4, 24, 10, 0.005)),
        (400, (4, 20, 8, 0.005)),
        (501, (8, 20, 8, 0.005)),
        (1_000, (8, 20, 8, 0.0047)),
        (4_000, (16, 20, 8, 0.003)),
        (4_001, (32, 20, 8, 0.003)),
        (1_000_000, (32, 20, 8, 0.003)),
    ],
)
def test_a_small_corpus_gets_small_batches_more_epochs_and_a_higher_rate(
    sentences: int, values: tuple[float, ...]
) -> None:
    assert chosen(sentences) == values


@given(st.integers(1, 100_000))
def test_every_corpus_gets_its_minimum_of_steps(sentences: int) -> None:
    batch_size, epochs, patience, _ = chosen(sentences)
    steps = math.ceil(sentences / batch_size)
    assert epochs * steps >= 600
    assert patience * steps >= 250
    assert epochs >= 20
    assert patience >= 8


@given(st.integers(1, 100_000), st.integers(1, 100_000))
def test_a_larger_corpus_never_gets_smaller_batches_or_a_higher_rate(one: int, other: int) -> None:
    small, large = sorted((one, other))
    assert batch_size_for(small) <= batch_size_for(large)
    assert lr_for(small) >= lr_for(large)


def test_what_is_given_is_kept_and_the_rest_follows_from_it() -> None:
    given_ = ("train.batch_size=50", "train.lr=0.5")
    assert chosen(100, *given_) == (50, 300, 125, 0.5)
    assert chosen(100, "train.max_epochs=3", "train.patience=0") == (4, 3, 0, 0.012)
    # 140 of the 1,400 tokens in a batch make ten steps an epoch.
    assert chosen(100, "train.batch_tokens=140") == (4, 60, 25, 0.012)


@pytest.mark.parametrize(
    ("sentences", "vectors", "dim", "said"),
    [
        (200, "", 50, ""),
        (100_000, "", 50, ""),
        (200, "glove.txt", 50, ", affixes beside the vectors"),
        (201, "glove.txt", 0, ", no affixes beside the vectors"),
    ],
)
def test_affixes_stand_in_for_vectors(sentences: int, vectors: str, dim: int, said: str) -> None:
    config = load_config(None, [f"embeddings.vectors={vectors}"])
    found = choose_by_size(config, CorpusSize(sentences, 14 * sentences))
    assert found.config.embeddings.affix_dim == dim
    assert found.reason.endswith(f"{said}: train has {sentences:,} sentences")


def test_the_choice_is_said_in_a_sentence_and_nothing_where_all_is_given() -> None:
    reason = choose_by_size(load_config(), CorpusSize(100, 1400)).reason
    assert reason == (
        "batches of 4, at most 24 epochs of 25 steps, learning rate 0.012: train has 100 sentences"
    )
    texts = choose_by_size(load_config(), CorpusSize(100, 1400, "text")).reason
    assert texts == reason.replace("sentences", "texts")
    assert choose_by_size(load_config(), CorpusSize(100, 1400, uncut=100)).reason == reason
    cut = choose_by_size(load_config(), CorpusSize(100, 1400, uncut=99)).reason
    assert cut == reason.replace("100 sentences", "99 sentences in 100 windows")
    options = [*(f"train.{name}=1" for name in NAMES), "embeddings.affix_dim=3"]
    options += [
        "train.bptt=3",
        "head.label_consistency=0",
        "head.feature_crf=0",
        "head.tag_sharing=false",
        "head.vector_clusters=0",
        "encoder.locked_dropout=0.1",
        "encoder.word_dropout=0",
    ]
    found = choose_by_size(load_config(None, options), CorpusSize(100, 1400))
    assert found.config == load_config(None, options)
    assert found.reason == ""


@pytest.mark.parametrize(
    ("alike", "share", "said"),
    [
        (0.0, 0.0, "0.012: train has 100 sentences"),
        (0.849, 0.0, "0.012: train has 100 sentences"),
        (0.85, 0.5, ", label consistency 0.5: train has 100 sentences, whose documents label 85 % "
                    "of recurring names alike"),
    ],
)  # fmt: skip
def test_names_agree_where_those_of_the_corpus_do(alike: float, share: float, said: str) -> None:
    found = choose_by_size(load_config(), CorpusSize(100, 1400, alike=alike))
    assert found.config.label_consistency == share
    assert found.reason.endswith(said)
    columns = load_config(None, ["data.tag_column=['UPOS','MISC.NER']"])
    assert choose_by_size(columns, CorpusSize(100, 1400, alike=alike)).config.label_consistency == 0
    given_ = load_config(None, ["head.label_consistency=0.2"])
    assert (
        choose_by_size(given_, CorpusSize(100, 1400, alike=alike)).config.label_consistency == 0.2
    )


@pytest.mark.parametrize(
    ("options", "texts", "pooling"),
    [
        (["task=classify"], 1_000, "scaled-attention"),
        (["task=both"], 1_000, "scaled-attention"),
        (["task=classify"], 1_001, "attention"),
        (["task=classify", "encoder.cell=echo-state", "train.readout=ridge"], 1_000, "mean"),
        (["task=classify", "head.pooling=max"], 1_000, "max"),
        (["task=tag"], 1_000, "auto"),  # which pools nothing
    ],
)
def test_attention_is_scaled_where_there_are_few_texts(
    options: list[str], texts: int, pooling: str
) -> None:
    found = choose_by_size(load_config(None, options), CorpusSize(texts, 14 * texts, "text"))
    assert found.config.head.pooling == pooling


@pytest.mark.parametrize(
    ("options", "texts", "pairs"),
    [
        (["task=classify"], 1, 1_024),
        (["task=classify"], 100, 4_096),  # the power of two after 2 x 1,400
        (["task=both"], 1_000, 32_768),
        (["task=both"], 1_001, 0),
        (["task=classify", "embeddings.vectors=glove.txt"], 200, 8_192),
        (["task=classify"], 10_000, 131_072),
        (["task=classify"], 10_001, 0),
        (["task=classify", "embeddings.vectors=glove.txt"], 201, 0),
        (["task=classify", "embeddings.contextual=['a model']"], 100, 0),
        (["task=classify", "train.init_from=model"], 100, 0),
        (["task=classify", "data.unit=character"], 100, 0),
        (["task=classify", "encoder.cell=echo-state", "train.readout=ridge"], 100, 0),
        (["task=classify", "head.bag_of_words=7"], 5_000, 7),
        (["task=tag"], 100, "auto"),
    ],
)
def test_texts_have_a_linear_model_of_words_with_rows_for_their_pairs(
    options: list[str], texts: int, pairs: int | str
) -> None:
    found = choose_by_size(
        load_config(None, options), CorpusSize(texts, 14 * texts, "text", classes=3)
    )
    assert found.config.head.bag_of_words == pairs


@pytest.mark.parametrize(
    ("texts", "tokens", "classes", "pairs"),
    [
        (400, 300_000, 2, 131_072),  # film reviews
        (20_000, 2_000_000, 2, 131_072),
        (20_000, 2_000_001, 2, 0),
        (20_000, 1_999_999, 2, 0),  # short ones
        (200, 2_000_001, 2, 0),
        (1_000, 100_000, 64, 131_072),  # of 64 classes, 8,388,608 weights
        (1_000, 100_000, 65, 65_536),
        (1_000, 100_000, 200, 32_768),
        (1_000, 100_000, 201, 0),
    ],
)
@pytest.mark.parametrize("vectors", ["", "glove.txt"])
def test_long_texts_have_a_linear_model_beside_vectors_too(
    texts: int, tokens: int, classes: int, pairs: int, vectors: str
) -> None:
    config = load_config(None, ["task=classify", f"embeddings.vectors={vectors}"])
    found = choose_by_size(config, CorpusSize(texts, tokens, "text", classes=classes))
    assert found.config.head.bag_of_words == pairs


@pytest.mark.parametrize(
    ("options", "sentences", "weights"),
    [
        (["task=tag"], 1, 140),
        (["task=both"], 1_000, 131_072),
        (["task=tag", "embeddings.vectors=glove.txt"], 100, 14_000),
        (["task=tag"], 4_000, 131_072),
        (["task=tag"], 4_001, 0),
        (["task=tag", "embeddings.vectors=glove.txt"], 1_000, 131_072),
        (["task=tag", "embeddings.vectors=glove.txt"], 1_001, 0),
        (["task=tag", "head.kind=softmax"], 100, 0),
        (["task=tag", "data.tag_column=['UPOS','MISC.NER']"], 100, 0),
        (["task=tag", "embeddings.contextual=['a model']"], 100, 0),
        (["task=tag", "train.init_from=model"], 100, 0),
        (["task=tag", "encoder.cell=echo-state", "train.readout=ridge"], 100, 0),
        (["task=tag", "head.feature_crf=7"], 5_000, 7),
        (["task=classify"], 100, "auto"),
    ],
)
def test_few_sentences_have_a_crf_of_word_features_with_ten_weights_for_each_token(
    options: list[str], sentences: int, weights: int | str
) -> None:
    found = choose_by_size(load_config(None, options), CorpusSize(sentences, 14 * sentences))
    assert found.config.head.feature_crf == weights


@pytest.mark.parametrize(
    ("sentences", "tokens", "labels", "has_one"),
    [
        (4_000, 500_000, 92, True),  # names
        (1_500, 40_000, 284, True),  # features of a word in Greek
        (1_500, 40_000, 327, True),
        (1_500, 40_000, 328, False),
        (1_500, 15_000, 1_500, False),
        (5_000, 50_000, 5_000, False),
    ],
)
def test_the_work_of_its_fit_is_that_of_tokens_and_pairs_of_labels(
    sentences: int, tokens: int, labels: int, *, has_one: bool
) -> None:
    size = CorpusSize(sentences, tokens, labels=labels, spans=1_000)
    assert (choose_by_size(load_config(), size).config.head.feature_crf != 0) == has_one


@pytest.mark.parametrize(
    ("options", "sentences", "spans", "sharing"),
    [
        (["task=tag"], 50, 1, True),
        (["task=both"], 1_000, 1, True),
        (["task=tag", "head.kind=softmax"], 100, 1, True),
        (["task=tag", "embeddings.vectors=glove.txt"], 1_000, 9_000, True),
        (["task=tag"], 1_001, 1, False),
        (["task=tag"], 100, 0, False),  # labels of words
        (["task=tag", "head.kind=feedback"], 100, 1, False),
        (["task=tag", "encoder.cell=echo-state", "train.readout=ridge"], 100, 1, False),
        (["task=tag", "head.tag_sharing=false"], 100, 1, False),
        (["task=tag", "head.tag_sharing=true"], 9_000, 1, True),
        (["task=classify"], 100, 0, "auto"),
    ],
)
def test_tags_of_spans_in_few_sentences_have_scores_in_common(
    options: list[str], sentences: int, spans: int, sharing: bool | str
) -> None:
    size = CorpusSize(sentences, 14 * sentences, spans=spans)
    assert choose_by_size(load_config(None, options), size).config.head.tag_sharing == sharing


@pytest.mark.parametrize(
    ("options", "sentences", "clusters"),
    [
        (["embeddings.vectors=vectors.txt"], 1_000, 500),
        (["embeddings.vectors=vectors.txt"], 1_001, 0),  # no CRF of word features
        (["embeddings.vectors=vectors.txt", "head.feature_crf=0"], 100, 0),
        (["embeddings.vectors=vectors.txt", "head.feature_crf=99"], 9_000, 500),
        (["embeddings.vectors=vectors.txt", "head.vector_clusters=7"], 100, 7),
        ([], 100, 0),
        (["task=classify", "embeddings.vectors=vectors.txt"], 100, "auto"),
    ],
)
def test_vectors_have_clusters_where_a_crf_of_word_features_reads_them(
    options: list[str], sentences: int, clusters: int | str
) -> None:
    size = CorpusSize(sentences, 14 * sentences, spans=sentences)
    found = choose_by_size(load_config(None, options), size).config.head.vector_clusters
    assert found == clusters


@pytest.mark.parametrize(
    ("sentences", "spans", "size"),
    [(400, 1, 4), (1_000, 2_000, 8), (1_001, 2_000, 8), (1_001, 2_001, 16), (10_000, 1, 8),
     (10_000, 0, 32)],
)  # fmt: skip
def test_a_corpus_of_few_spans_is_read_in_small_batches(
    sentences: int, spans: int, size: int
) -> None:
    found = choose_by_size(load_config(), CorpusSize(sentences, 14 * sentences, spans=spans))
    assert found.config.train.batch_size == size
    assert found.config.train.lr == lr_for(sentences)
    is_by_spans = size < batch_size_for(sentences)
    assert (" with " in found.reason) == is_by_spans
    given_ = choose_by_size(
        load_config(None, ["train.batch_size=16"]), CorpusSize(10_000, 140_000, spans=1)
    )
    assert given_.config.train.batch_size == 16
    assert "span" not in given_.reason


def test_spans_are_named_where_they_decide() -> None:
    found = choose_by_size(load_config(), CorpusSize(3_394, 62_730, spans=1_975))
    assert found.reason == (
        "batches of 8, at most 20 epochs of 425 steps, learning rate 0.003: train has 3,394 "
        "sentences with 1,975 spans"
    )


@pytest.mark.parametrize(
    ("options", "spans", "tokens", "weights"),
    [
        ([], 30_000, 200_000, 131_072),
        ([], 30_001, 200_000, 0),
        ([], 0, 200_000, 0),
        ([], 1, 500_000, 131_072),
        ([], 1, 500_001, 0),
        (["embeddings.vectors=glove.txt"], 1, 200_000, 0),
    ],
)
def test_many_sentences_with_few_spans_have_one_too_where_there_are_no_vectors(
    options: list[str], spans: int, tokens: int, weights: int
) -> None:
    found = choose_by_size(load_config(None, options), CorpusSize(14_000, tokens, spans=spans))
    assert found.config.head.feature_crf == weights
    few = choose_by_size(load_config(None, options), CorpusSize(1_000, tokens, spans=spans))
    assert few.config.head.feature_crf == 131_072


@pytest.mark.parametrize(
    ("options", "mark", "share"),
    [
        ([], "-DOCSTART- O\n\n", 0.5),
        ([], "", 0.0),
        (["data.scheme=labels"], "-DOCSTART- O\n\n", 0.0),
        (["task=both"], "", 0.0),
    ],
)
def test_a_run_looks_at_the_names_of_its_corpus(
    tmp_path: Path, options: list[str], mark: str, share: float
) -> None:
    if options == ["task=both"]:
        word = {"tokens": ["Ada", "likes", "Rome"], "tags": ["B-P", "O", "B-L"]}
        text = "".join(json.dumps({**word, "label": label}) + "\n" for label in "xy" * 20)
    else:
        sentences = "Ada B-P\nlikes O\nRome B-L\n\n" * 5
        text = f"{mark}{sentences}" * 8
    for name in ("train", "dev"):
        (tmp_path / f"{name}.x").write_text(text, "utf-8")
    files = {f"data.{name}_file": str(tmp_path / f"{name}.x") for name in ("train", "dev")}
    config = load_config(None, options, {**files, "output.dir": str(tmp_path / "model")})
    assert resolve(config).config.label_consistency == share


@pytest.mark.parametrize(
    ("options", "most", "steps", "has_one"),
    [([], 6, 12 * 16, True), ([], 6, 12 * 16 - 1, False), ([], 5, 12 * 16, False),
     (["data.scheme=labels"], 6, 12 * 16, False)],
)  # fmt: skip
def test_a_run_counts_the_spans_and_the_tags_of_its_corpus(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    most: int,
    steps: int,
    *,
    has_one: bool,
) -> None:
    # Of 12 tokens with 4 tags.
    monkeypatch.setattr(defaults, "_MAX_FITTED_STEPS", steps)
    monkeypatch.setattr(defaults, "_FEW_SENTENCES", 0)
    monkeypatch.setattr(defaults, "_FEW_SPANS", most)
    # Two spans a sentence, the second of two words.
    (tmp_path / "x").write_text("Ada B-P\nlikes O\nNew B-L\nYork I-L\n\n" * 3, "utf-8")
    files = {f"data.{name}_file": str(tmp_path / "x") for name in ("train", "dev")}
    found = resolve(load_config(None, options, {**files, "output.dir": str(tmp_path / "model")}))
    assert (found.config.head.feature_crf != 0) == has_one


def test_the_classes_of_the_corpus_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("task=classify", "head.bag_of_words=auto")
    config = tiny.small(tmp_path, *options, **tiny.classified(tmp_path))
    tokens, classes = resolve(config).corpus.train.tokens, 3
    for most, has_one in ((classes * tokens, True), (classes * tokens - 1, False)):
        monkeypatch.setattr(defaults, "_MAX_TOKENS_TIMES_CLASSES", most)
        assert (resolve(config).config.head.bag_of_words != 0) == has_one


def test_the_numbers_are_in_the_models_configuration(tmp_path: Path) -> None:
    auto = [f"train.{name}=auto" for name in ("batch_size", "patience", "lr")]
    trained = train(tiny.config(tmp_path, *auto, "train.max_epochs=1"))
    settings = trained.predictor.config.train
    assert (settings.batch_size, settings.patience, settings.lr) == (4, 13, 0.012)
    text = (tmp_path / "model/best/config.toml").read_text("utf-8")
    assert "\nbatch_size = 4\n" in text
    assert "\nlr = 0.012\n" in text


def test_the_weights_of_another_model_are_not_undone_by_a_high_rate() -> None:
    assert chosen(100, "train.init_from=models/other")[-1] == 0.003


@pytest.mark.parametrize(
    ("unit", "vectors", "texts", "rate"),
    [
        ("text", "v.txt", 100, 0.005),
        ("text", "", 100, 0.012),
        ("sentence", "v.txt", 100, 0.012),
        ("text", "v.txt", 3_000, 0.003),
    ],
)
def test_few_texts_do_not_undo_vectors_by_a_high_rate(
    unit: str, vectors: str, texts: int, rate: float
) -> None:
    config = load_config(None, [f"embeddings.vectors={vectors}"] if vectors else [])
    assert choose_by_size(config, CorpusSize(texts, 14 * texts, unit)).config.train.lr == rate


@pytest.mark.parametrize("options", [(), ("encoder.cell=echo-state", "train.readout=ridge")])
@pytest.mark.parametrize("task", ["tag", "classify", "both"])
def test_labels_are_learnt_with_the_same_dropout_whatever_the_size(
    task: str, options: tuple[str, ...]
) -> None:
    config = load_config(None, [f"task={task}", *options])
    for sentences in (1, 1_000_000):
        encoder = choose_by_size(config, CorpusSize(sentences, 14 * sentences)).config.encoder
        assert (encoder.locked_dropout, encoder.word_dropout) == (0.4, 0.05)


@pytest.mark.parametrize(
    ("unit", "units", "locked", "word"),
    [
        ("character", 2_600_000, 0, 0),
        ("character", 1_000_001, 0, 0),
        ("character", 1_000_000, 0.1, 0),
        ("character", 1_000, 0.1, 0),
        ("word", 1_000_000, 0.4, 0.05),
        ("word", 40_000, 0.4, 0.05),
        ("bpe", 40_000, 0.4, 0.05),
    ],
)
def test_the_dropout_of_a_language_model_follows_from_its_unit_and_text(
    unit: str, units: int, locked: float, word: float
) -> None:
    def of(*options: str) -> tuple[tuple[object, object], str]:
        config = load_config(None, ["task=language-model", f"data.unit={unit}", *options])
        found = choose_for_text(config, 300, units)
        encoder = found.config.encoder
        return (encoder.locked_dropout, encoder.word_dropout), found.reason

    values, said = of()
    assert values == (locked, word)
    assert f", locked dropout {locked:g}, word dropout {word:g}: train has {units:,} " in said
    values, said = of("encoder.locked_dropout=0.15", "encoder.word_dropout=0.01")
    assert values == (0.15, 0.01)
    assert "dropout" not in said


def test_a_text_is_read_in_segments_and_lines_by_themselves_may_be_read_whole() -> None:
    def of(*options: str) -> tuple[object, ...]:
        config = load_config(None, ["task=language-model", *options])
        train = choose_for_text(config, 300, 1_800).config.train
        return train.bptt, train.batch_size, train.max_epochs

    assert of("train.batch_size=4") == (35, 4, 47)
    assert of("train.batch_size=4", "data.context=line") == (35, 4, 20)
    assert of("data.context=line", "train.bptt=0")[:2] == (0, batch_size_for(300))
    with refuses(ConfigError, "bptt", "1", "training"):
        of("train.bptt=0")
