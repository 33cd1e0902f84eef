"""Texts with classes, the whole road: train, save, load, predict, score; and with tags together."""

import json
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from kinds import BOTH
from marks import mostly_slow
from says import Says, refuses

import tagkit
from tagkit.config import Config, load_config
from tagkit.errors import ConfigError, DataError, FormatError
from tagkit.evaluation.compare.compare import compare_files
from tagkit.evaluation.reports.class_report import ClassReport, JointReport
from tagkit.inference.predict.predictor import Predictor
from tagkit.inference.score.score import dev_scores, evaluate_split, score_model
from tagkit.models.base.device import to_tensors
from tagkit.models.classifying.classifier import Classifier
from tagkit.nn.heads import POOLINGS
from tagkit.text.records import Document
from tagkit.training.run_end import Trained
from tagkit.training.setup.setup import prepare
from tagkit.training.trainer import train

SMALL = [
    "embeddings.word_dim=16", "embeddings.char_dim=8", "embeddings.char_hidden=8",
    "encoder.hidden=16", "encoder.locked_dropout=0.0", "head.dropout=0.0", "train.max_epochs=6",
    "train.batch_size=8", "train.lr=0.02", "train.threads=1", "train.device=cpu",
]  # fmt: skip


def config(folder: Path, files: dict[str, str], *overrides: str, task: str = "classify") -> Config:
    named = {**files, "output.dir": str(folder / "model"), "task": task}
    return load_config(overrides=[*SMALL, *overrides], flags=named)


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("classify")
    return train(config(folder, tiny.classified(folder), "head.pooling=attention"))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("both")
    return train(config(folder, tiny.joint(folder), task="both"))


def write(folder: Path, *rows: str, name: str = "train.tsv") -> dict[str, str]:
    path = folder / name
    path.write_text("\n".join(["label\ttext", *rows]) + "\n", encoding="utf-8")
    return {"data.train_file": str(path)}


# The values of each pooling are proved by hand in tests/nn/heads/test_pooling.py.
@pytest.mark.parametrize(
    ("pooling", "cell"),
    mostly_slow(
        [("scaled-attention", "lstm"), ("last", "elman"), ("attention", "gru"),
         *((pooling, "lstm") for pooling in POOLINGS if pooling != "scaled-attention")],
        always=1,
    ),
)  # fmt: skip
def test_every_pooling_learns_what_is_easy(pooling: str, cell: str, tmp_path: Path) -> None:
    settings = config(
        tmp_path, tiny.classified(tmp_path), f"head.pooling={pooling}", f"encoder.cell={cell}",
        "head.hidden=[8]", "train.bptt=3", "train.lr=0.01", "train.max_epochs=12",
        "head.bag_of_words=0",  # which learns it without the network
    )  # fmt: skip
    trained = train(settings)
    assert isinstance(trained.test, ClassReport)
    assert trained.test.accuracy > 0.9
    assert trained.best.score == trained.dev.headline


def test_a_loaded_classifier_says_what_the_trained_one_says(classifier: Trained) -> None:
    loaded = tagkit.load(classifier.folder, device="cpu")
    texts = [text for _, text in tiny.texts(30, 9)]
    assert loaded.predict(texts) == classifier.predictor.predict(texts)
    assert loaded.vocabulary.classes == classifier.predictor.vocabulary.classes
    assert loaded.config.head.multi_label == "no"


def test_a_few_texts_have_a_linear_model_of_words_and_the_network_is_as_without_it(
    tmp_path: Path,
) -> None:
    files = tiny.classified(tmp_path)
    runs = []
    for options in ((), ("head.bag_of_words=0",)):
        torch.manual_seed(1)
        runs.append(prepare(config(tmp_path, files, *options), torch.device("cpu")))
    with_it, without = runs
    pairs = with_it.config.head.bag_of_words
    assert isinstance(pairs, int)
    assert (pairs, without.config.head.bag_of_words) == (1_024, 0)
    ours, theirs = with_it.model.state_dict(), without.model.state_dict()
    own = {"class_head.bag.idf", "class_head.bag.weight", "class_head.bag.bias"}
    assert ours.keys() - theirs.keys() == own
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert ours["class_head.bag.weight"].any()


@pytest.mark.parametrize("several", ["no", "yes"])
def test_probabilities_are_those_of_the_network_times_those_of_the_words(
    several: str, tmp_path: Path
) -> None:
    options = ("train.max_epochs=2", f"head.multi_label={several}")
    predictor = train(config(tmp_path, tiny.classified(tmp_path), *options)).predictor
    text, classes = "hello there tea", predictor.vocabulary.classes

    def probabilities() -> torch.Tensor:
        (found,) = predictor.predict([text.split()])
        by_class = {each.label: each.probability for each in found.scores}
        return torch.tensor([by_class[label] for label in classes])

    both = probabilities()
    model = predictor.model
    assert isinstance(model, Classifier)
    bag, model.class_head.bag = model.class_head.bag, None
    alone = probabilities()
    assert bag is not None
    ids = np.array([predictor.vocabulary.word_id(word) for word in text.split()])
    torch.testing.assert_close(both, bag.multiplied(alone[None], [ids])[0], atol=1e-5, rtol=0)
    assert (both - alone).abs().max() > 0.01
    # A temperature is of the product, and changes no decision.
    model.class_head.bag, model.class_head.temperature = bag, 5.0
    softer = probabilities()
    assert int(softer.argmax()) == int(both.argmax())
    assert float(softer.max()) < float(both.max())


def test_a_text_gets_the_same_probabilities_alone_and_among_others(classifier: Trained) -> None:
    texts = [text for _, text in tiny.texts(12, 4)] + ["hi", "hello there . " * 40]
    together = classifier.predictor.predict(texts, batch_size=14)
    for text, found in zip(texts, together, strict=True):
        alone = classifier.predictor.predict(text)
        assert found.labels == alone.labels
        ours, theirs = ([s.probability for s in x.scores] for x in (found, alone))
        assert ours == pytest.approx(theirs, abs=1e-5)
        assert sum(ours) == pytest.approx(1, abs=1e-5)
        assert ours == sorted(ours, reverse=True)
        assert found.labels == (found.scores[0].label,)


def test_a_text_of_many_sentences_and_lines_is_one_whose_tokens_share_the_attention(
    classifier: Trained,
) -> None:
    found = classifier.predictor.predict("Hello there. Good morning!\nHi you. And more. " * 3)
    assert len(found.sentences) == 1
    assert sum(token.attention or 0 for token in found.tokens) == pytest.approx(1, abs=1e-5)
    assert all(found.text[t.start : t.end] == t.text for t in found.tokens)
    assert found.spans == ()
    assert {token.tag for token in found.tokens} == {None}


def test_words_a_document_and_blank_texts_are_read_too(classifier: Trained) -> None:
    words, document, blank = classifier.predictor.predict(
        [["hello", "there"], Document("hello there"), "  "]
    )
    assert words.scores == document.scores
    assert (blank.labels, blank.scores, blank.tokens) == ((), (), ())


def test_a_threshold_leaves_labels_out(classifier: Trained) -> None:
    text = "hello there"
    sure = classifier.predictor.predict(text).scores[0].probability
    predict = classifier.predictor.predict
    assert predict(text, threshold=sure - 1e-4).labels == predict(text).labels
    assert predict(text, threshold=min(1.0, sure + 1e-4)).labels == ()


def test_a_threshold_of_the_configuration_leaves_labels_out_too(classifier: Trained) -> None:
    trained = classifier.predictor
    (best,) = trained.predict("hello there").labels
    for threshold, expected in ((1.0, ()), ({best: 1.0}, ()), ({"no other": 1.0}, (best,))):
        head = trained.config.head.model_copy(update={"threshold": threshold})
        config = trained.config.model_copy(update={"head": head})
        model = Predictor(trained.model, trained.vocabulary, config, trained.device)
        assert model.predict("hello there").labels == expected


@pytest.mark.slow
def test_training_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    digests = []
    for name in "ab":
        settings = config(
            tmp_path,
            tiny.classified(tmp_path),
            f"output.dir={tmp_path / name}",
            "head.dropout=0.3",
            "train.max_epochs=2",
        )
        settings = settings.model_copy(
            update={"output": settings.output.model_copy(update={"dir": str(tmp_path / name)})}
        )
        train(settings)
        metadata = json.loads((tmp_path / name / "best" / "metadata.json").read_text("utf-8"))
        digests.append(metadata["sha256"]["model.safetensors"])
        assert metadata["classes"] == ["greet", "leave", "order"]
    assert digests[0] == digests[1]


@pytest.mark.slow
def test_segments_change_gradients_but_not_what_a_trained_model_says(tmp_path: Path) -> None:
    settings = config(tmp_path, tiny.classified(tmp_path), "train.bptt=4")
    predictor = train(settings).predictor
    assert {layer.segment for layer in predictor.model.encoder.layers} == {4}
    text = "good morning to you , Ada , and also to you ."
    parts = predictor.predict(text).scores
    for layer in predictor.model.encoder.layers:
        layer.segment = 0
    for ours, theirs in zip(parts, predictor.predict(text).scores, strict=True):
        assert ours.probability == pytest.approx(theirs.probability, abs=1e-6)


@pytest.mark.slow
def test_a_text_may_have_several_classes_or_none(tmp_path: Path) -> None:
    def record(text: str, *labels: str) -> str:
        return json.dumps({"text": text, "labels": labels})

    rows = [record("tea", "hot"), record("juice", "sweet"), record("cocoa", "hot", "sweet")] * 20
    path = tmp_path / "train.jsonl"
    path.write_text("\n".join(rows), encoding="utf-8")
    files = {"data.train_file": str(path), "data.dev_file": str(path), "data.test_file": str(path)}
    trained = train(config(tmp_path, files, "train.max_epochs=12"))
    assert trained.predictor.config.head.multi_label == "yes"
    assert isinstance(trained.test, ClassReport)
    assert trained.test.accuracy == 1
    tea, cocoa = trained.predictor.predict(["tea", "cocoa"])
    assert tea.labels == ("hot",)
    assert set(cocoa.labels) == {"hot", "sweet"}
    assert trained.predictor.predict("cocoa", threshold=1.0).labels == ()
    strict = trained.predictor.config.head.model_copy(update={"threshold": {"hot": 1.0}})
    trained.predictor.config = trained.predictor.config.model_copy(update={"head": strict})
    assert trained.predictor.predict("cocoa").labels == ("sweet",)


def test_tags_and_classes_are_learnt_together(both: Trained) -> None:
    report = both.test
    assert isinstance(report, JointReport)
    assert report.tags.micro.f1 > 0.9
    assert report.classes.accuracy > 0.9
    assert report.whole > 0.8
    assert both.best.score == pytest.approx(
        (both.dev.tags.headline + both.dev.classes.headline) / 2
    )
    found = tagkit.load(both.folder, device="cpu").predict("Ada Miller visits Cape Town .")
    assert [(span.text, span.label) for span in found.spans] == [
        ("Ada Miller", "PER"), ("Cape Town", "LOC"),
    ]  # fmt: skip
    assert found.labels == ("long",)


def test_the_headline_of_training_is_that_of_the_report(both: Trained, tmp_path: Path) -> None:
    predictor, files = both.predictor, tiny.joint(tmp_path)
    notes: list[str] = []
    report = score_model(
        predictor, files["data.test_file"], load_config().data, False, 8, notes.append
    )
    assert report == both.test
    data = load_config(overrides=["data.scheme=iob2"]).data
    from tagkit.corpus.splits.splits import read_split

    split = read_split(files["data.test_file"], data, BOTH, "iob2")
    assert dev_scores(predictor, split, 8).headline == pytest.approx(report.headline)
    assert evaluate_split(predictor, split, batch_size=3) == report


@pytest.mark.parametrize("task", ["tag", "classify", "both"])
def test_a_corpus_with_tags_and_classes_serves_every_task(task: str, tmp_path: Path) -> None:
    prepared = prepare(config(tmp_path, tiny.joint(tmp_path), task=task), torch.device("cpu"))
    expected = {
        "tag": ({"head", "feature_crf"}, {"tags"}),
        "classify": ({"class_head"}, {"classes"}),
        "both": ({"head", "feature_crf", "class_head"}, {"tags", "classes"}),
    }
    parts = {name for name, _ in prepared.model.named_children()} - {"embed", "encoder", "others"}
    assert (parts, set(prepared.encoded.targets)) == expected[task]
    batch = to_tensors(prepared.encoded.batch([0, 1]))
    total, count = prepared.model(batch)
    assert int(count) == (2 if task == "classify" else int(batch.tokens.mask.sum()))
    total.backward()
    for name, parameter in prepared.model.named_parameters():
        assert parameter.grad is not None, name


@pytest.mark.parametrize(
    ("option", "weights"),
    [
        ("none", [1.0, 1.0]),
        ("balanced", [4 / 6, 2.0]),
        ("{b = 3.0}", [1.0, 3.0]),
    ],
)
def test_classes_weigh_what_the_option_says(
    option: str, weights: list[float], tmp_path: Path
) -> None:
    files = write(tmp_path, "a\tx", "a\ty", "a\tz", "b\tw")
    files["data.dev_file"] = files["data.train_file"]
    prepared = prepare(config(tmp_path, files, f"head.class_weights={option}"), torch.device("cpu"))
    assert prepared.vocabulary.classes == ("a", "b")
    assert prepared.model.class_head.class_weights.tolist() == pytest.approx(weights)


def test_phrases_of_trees_are_learnt_once_each_and_sentences_are_scored(tmp_path: Path) -> None:
    path = tmp_path / "a.trees"
    path.write_text("(3 (2 a) (4 good))\n(1 (2 a) (0 bad))\n(3 (2 a) (4 good))\n", "utf-8")
    files = dict.fromkeys(("data.train_file", "data.dev_file"), str(path))
    corpus = prepare(config(tmp_path, files, "data.tree_phrases=true"), torch.device("cpu")).corpus
    assert [(" ".join(s.words), s.labels[0]) for s in corpus.train.sentences] == [
        ("a good", "3"), ("a", "2"), ("good", "4"), ("a bad", "1"), ("bad", "0"),
    ]  # fmt: skip
    assert corpus.train.notes[1:] == (f"{path}: 4 phrases that repeat another are left out",)
    assert len(corpus.dev.sentences) == 3
    for text, said in (
        ("(3 (2 a) (4 good))\n(1 (2 a) (0 bad))\n", "1 phrase that repeats another is left out"),
        ("(3 (2 a) (4 good))\n(0 bad)\n", ""),
    ):
        path.write_text(text, "utf-8")
        read = prepare(config(tmp_path, files, "data.tree_phrases=true"), torch.device("cpu"))
        assert read.corpus.train.notes[1:] == ((f"{path}: {said}",) if said else ())


def test_texts_that_are_no_phrases_of_trees_are_not_left_out(tmp_path: Path) -> None:
    files = write(tmp_path, "a\thello there", "b\tgood bye", "a\thello there")
    with pytest.raises(ConfigError) as caught:
        prepare(config(tmp_path, files, "data.tree_phrases=true"), torch.device("cpu"))
    path = files["data.train_file"]
    assert str(caught.value) == (Says("data.tree_phrases", path))


def problem(folder: Path, files: dict[str, str], *overrides: str, task: str = "classify") -> str:
    with pytest.raises(DataError) as caught:
        prepare(config(folder, files, *overrides, task=task), torch.device("cpu"))
    return str(caught.value)


def test_a_corpus_of_one_class_is_refused(tmp_path: Path) -> None:
    files = write(tmp_path, "a\tx", "a\ty")
    assert problem(tmp_path, files) == (Says(tmp_path, "train.tsv", "'a'"))


def test_a_corpus_whose_other_class_went_to_dev_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "two.tsv").write_text("a\tx y\nb\ty z\n", encoding="utf-8")
    files = {"data.train_file": str(tmp_path / "two.tsv")}
    assert problem(tmp_path, files) == Says("two.tsv: ", "data.dev_file")


def test_a_text_without_class_or_words_is_named_with_its_line(tmp_path: Path) -> None:
    assert Says(tmp_path, "/train.tsv:3", "1") == problem(
        tmp_path, write(tmp_path, "a\tx", "b\t ", "b\ty")
    )
    assert Says(tmp_path, "/train.tsv:3", "0") == problem(
        tmp_path, write(tmp_path, "a\tx", "\ty", "b\tz")
    )
    path = tmp_path / "train.jsonl"
    path.write_text('{"text": "x", "label": "a"}\n{"text": "y", "labels": ["a", "b"]}\n', "utf-8")
    files = {"data.train_file": str(path)}
    assert problem(tmp_path, files, "head.multi_label=no") == (
        Says(path, "2", "'a'", "'b'", "head.multi_label")
    )


def test_dev_must_have_classes_of_train(tmp_path: Path) -> None:
    files = write(tmp_path, "a\tx", "b\ty")
    files["data.dev_file"] = write(tmp_path, "A\tx", "B\ty", name="dev.tsv")["data.train_file"]
    assert problem(tmp_path, files) == (Says(tmp_path, "dev.tsv", "train.tsv"))


def test_classes_that_training_lacked_are_errors_and_are_named(
    classifier: Trained, tmp_path: Path
) -> None:
    path = write(tmp_path, "greet\thello there", "sing\tla la la")["data.train_file"]
    report = score_model(classifier.predictor, path, load_config().data, False, 8, lambda _: None)
    assert isinstance(report, ClassReport)
    assert report.unknown == {"sing": 1}
    assert report.accuracy == 0.5


@pytest.mark.parametrize("option", ["class_weights", "threshold"])
def test_an_option_for_a_class_that_is_not_there_is_refused(option: str, tmp_path: Path) -> None:
    files = write(tmp_path, "a\tx", "b\ty", "a\tz")
    files["data.dev_file"] = files["data.train_file"]
    assert problem(tmp_path, files, f"head.{option}={{c = 0.5}}") == (
        Says(f"head.{option}: ", f"{tmp_path}/train.tsv", "'c'", "a, b")
    )


def test_a_corpus_that_does_not_fit_the_task_is_refused(tmp_path: Path) -> None:
    tags = tiny.corpus(tmp_path)
    assert problem(tmp_path, tags) == (Says(tags["data.train_file"], "data.format"))
    classes = tiny.classified(tmp_path)
    assert Says("tokens").within(problem(tmp_path, classes, task="both"))


def test_predicted_files_are_compared_with_gold_ones(tmp_path: Path) -> None:
    gold = write(tmp_path, "a\tx y", "b\tz", name="gold.tsv")["data.train_file"]
    found = tmp_path / "found.jsonl"
    found.write_text('{"text": "x y", "label": "a"}\n{"text": "z", "label": "a"}\n', "utf-8")
    data = load_config().data
    report = compare_files(gold, str(found), data, None, False)
    assert isinstance(report, ClassReport)
    assert report.confusion == {"a": {"a": 1}, "b": {"a": 1}}
    found.write_text('{"text": "x y", "label": "a"}\n{"text": "w", "label": "a"}\n', "utf-8")
    with pytest.raises(FormatError) as caught:
        compare_files(gold, str(found), data, None, False)
    assert str(caught.value) == Says(found, "2", "'z'", gold, "3", "'w'")
    found.write_text('{"text": "x y", "label": "a"}\n', "utf-8")
    with refuses(FormatError):
        compare_files(gold, str(found), data, None, False)
    with refuses(DataError, "predictions"):
        compare_files(gold, None, data, None, False)


def test_a_classifier_has_no_spans_to_be_strict_about(classifier: Trained, tmp_path: Path) -> None:
    path = write(tmp_path, "greet\thello there")["data.train_file"]
    with refuses(DataError, "strict"):
        score_model(classifier.predictor, path, load_config().data, True, 8, lambda _: None)
    named = load_config(overrides=["data.scheme=iob2"]).data
    with refuses(DataError, "data.scheme", "classifies"):
        score_model(classifier.predictor, path, named, False, 8, lambda _: None)
    with refuses(DataError, "train.tsv", "classes"):
        compare_files(path, path, load_config().data, None, True)
    with refuses(DataError, "sequences"):
        classifier.predictor.n_best([tagkit.Sentence(("hello",))], 2)


def test_tokens_are_those_between_blanks_where_the_option_says_so(tmp_path: Path) -> None:
    files = write(tmp_path, "a\tdo n't , U.S.-made", "b\ty", "a\tz")
    files["data.dev_file"] = files["data.train_file"]
    settings = config(tmp_path, files, "data.tokenizer=blanks")
    prepared = prepare(settings, torch.device("cpu"))
    assert prepared.corpus.train.sentences[0].words == ("do", "n't", ",", "U.S.-made")


def test_tokens_with_a_class_need_no_tags(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    rows = [{"tokens": ["x", "y"], "label": "a"}, {"tokens": ["z"], "label": "b"}]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    files = dict.fromkeys(("data.train_file", "data.dev_file"), str(path))
    prepared = prepare(config(tmp_path, files), torch.device("cpu"))
    assert [s.words for s in prepared.corpus.train.sentences] == [("x", "y"), ("z",)]
