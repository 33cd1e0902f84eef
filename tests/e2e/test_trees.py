"""Recursive networks, the whole road: trees are read, learnt, predicted, scored, shown, written."""

import json
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
import tree_corpus
from marks import mostly_slow
from program import Program
from says import Says, refuses

import tagkit
from tagkit.config import Config, load_config
from tagkit.errors import ConfigError, DataError
from tagkit.evaluation.reports.class_report import ClassReport
from tagkit.features.batching.encoding import Encoded
from tagkit.models.base.device import to_tensors
from tagkit.text.records import Document, Sentence
from tagkit.text.trees import Tree
from tagkit.training.run_end import Trained
from tagkit.training.setup.setup import prepare
from tagkit.training.trainer import train

SMALL = [
    "task=classify", "embeddings.word_dim=16", "embeddings.char_cell=none", "encoder.hidden=16",
    "encoder.locked_dropout=0", "head.dropout=0", "train.max_epochs=6", "train.batch_size=8",
    "train.lr=0.01", "train.threads=1", "train.device=cpu",
]  # fmt: skip


def config(folder: Path, *overrides: str, files: dict[str, str] | None = None) -> Config:
    named = {**(files or tree_corpus.files(folder)), "output.dir": str(folder / "model")}
    return load_config(overrides=[*SMALL, *overrides], flags=named)


@pytest.fixture(scope="module")
def rntn(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return train(config(tmp_path_factory.mktemp("rntn"), "encoder.cell=rntn"))


def test_products_of_children_learn_what_negation_does(rntn: Trained) -> None:
    assert rntn.predictor.config.encoder.tree == "parse"
    assert rntn.predictor.config.head.pooling == "last"
    assert isinstance(rntn.test, ClassReport)
    assert rntn.test.accuracy > 0.9
    nodes = rntn.test.nodes
    assert nodes is not None
    assert nodes.accuracy > 0.95
    assert rntn.test.to_dict()["nodes"]["nodes"] == nodes.nodes


@pytest.mark.parametrize(
    ("cell", "tree"),
    mostly_slow(
        [("tree-lstm", "parse"), ("tree-rnn", "balanced"),
         *((cell, tree) for cell in ("tree-rnn", "rntn", "tree-lstm")
           for tree in ("parse", "balanced", "left", "right"))],
        always=2,
    ),
)  # fmt: skip
def test_every_cell_learns_over_every_tree_and_is_the_same_after_loading(
    tmp_path: Path, cell: str, tree: str
) -> None:
    options = (f"encoder.cell={cell}", f"encoder.tree={tree}", "train.max_epochs=2")
    trained = train(config(tmp_path, *options))
    assert trained.dev.headline > 0.35  # five classes
    texts = [*tagkit.read(tmp_path / "test.trees")]
    loaded = tagkit.load(trained.folder, device="cpu")
    found = loaded.predict(texts)
    assert found == trained.predictor.predict(texts)
    for text, answer in zip(texts, found, strict=True):
        alone = loaded.predict(text)
        assert alone.labels == answer.labels
        assert answer.tree is not None
        assert answer.tree.is_over(len(answer.tokens))
        assert answer.tree.labels[-1] == answer.labels[0]
        assert alone.tree is not None
        assert alone.tree.probabilities == pytest.approx(answer.tree.probabilities, abs=1e-5)


def test_the_loss_is_the_sum_over_labelled_nodes_and_exact_in_pieces(tmp_path: Path) -> None:
    prepared = prepare(config(tmp_path, "encoder.cell=tree-lstm"), torch.device("cpu"))
    model, encoded = prepared.model.eval(), prepared.encoded
    assert isinstance(encoded, Encoded)
    losses = [prepared.task.loss(model, to_tensors(encoded.batch(part)))
              for part in ([0, 1, 2, 3, 4], [0, 1], [2, 3, 4])]  # fmt: skip
    (whole, count), *parts = [(float(loss.detach()), int(number)) for loss, number in losses]
    assert whole == pytest.approx(sum(loss for loss, _ in parts), abs=1e-4)
    assert count == sum(number for _, number in parts)
    sentences = prepared.corpus.train.sentences
    # Nodes of the same words are one, and those that three children are divided by have no class.
    labelled = [len({*each.tree.spans}) for each in sentences if each.tree is not None]
    assert count == sum(labelled[:5])
    assert encoded.target_count == sum(labelled)
    probs = model.class_head.probabilities  # type: ignore[union-attr]
    states, _ = model.read_batch(to_tensors(encoded.batch([0])))
    scores, _ = model.class_head.scores(  # type: ignore[operator, union-attr]
        states[0].unsqueeze(1), states[0], torch.ones(len(states[0]), 1, dtype=torch.bool)
    )
    gold = encoded.targets["nodes"].values[: encoded.lengths[0]]
    classes = np.concatenate((gold[:, 0], gold[1:, 1]))
    logs = torch.log(probs(scores)).detach()  # type: ignore[operator]
    expected = -sum(float(logs[node, each]) for node, each in enumerate(classes) if each >= 0)
    loss, _ = prepared.task.loss(model, to_tensors(encoded.batch([0])))
    assert float(loss.detach()) == pytest.approx(expected, abs=1e-4)


def test_of_the_root_alone_a_text_is_one_target(tmp_path: Path) -> None:
    options = ("encoder.cell=tree-rnn", "data.tree_targets=root")
    prepared = prepare(config(tmp_path, *options), torch.device("cpu"))
    batch = to_tensors(prepared.encoded.batch([0, 1, 2]))
    assert int(prepared.task.loss(prepared.model, batch)[1]) == 3
    assert prepared.encoded.target_count == len(prepared.encoded)


def test_weights_of_texts_are_those_of_their_nodes(tmp_path: Path) -> None:
    prepared = prepare(config(tmp_path, "encoder.cell=rntn"), torch.device("cpu"))
    model, encoded = prepared.model.eval(), prepared.encoded
    assert isinstance(encoded, Encoded)
    doubled = Encoded(
        encoded.indexed, encoded.encoded_words, encoded.targets,
        np.full(len(encoded), 2, np.float32),
    )  # fmt: skip
    ours, theirs = (
        float(prepared.task.loss(model, to_tensors(each.batch([0, 1, 2])))[0].detach())
        for each in (encoded, doubled)
    )
    assert theirs == pytest.approx(2 * ours, rel=1e-5)


def test_predicted_trees_are_written_shown_and_scored(
    rntn: Trained,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    program = Program(monkeypatch, capfdbinary)
    source = tmp_path / "some.trees"
    source.write_text("(3 (2 (2 the) (2 film)) (3 (2 is) (3 good)))\n(1 (1 (1 not) (3 good)))\n")
    written = program("predict", rntn.folder, source, "--format", "trees").out
    shape = [line.translate(str.maketrans("01234", "-----")) for line in written.splitlines()]
    assert shape == ["(- (- (- the) (- film)) (- (- is) (- good)))", "(- (- (- not) (- good)))"]
    out = program("predict", rntn.folder, source, "--format", "jsonl", "--confidence").out
    first, second = map(json.loads, out.splitlines())
    assert [(node["text"], node["start"], node["end"]) for node in first["nodes"]] == [
        ("the", 0, 3), ("film", 4, 8), ("the film", 0, 8), ("is", 9, 11), ("good", 12, 16),
        ("is good", 9, 16), ("the film is good", 0, 16),
    ]  # fmt: skip
    assert first["nodes"][-1]["label"] == first["label"]
    assert first["nodes"][-1]["probability"] == pytest.approx(
        first["probabilities"][first["label"]], abs=1e-5
    )
    assert [node["text"] for node in second["nodes"]] == ["not", "good", "not good", "not good"]
    shown = program("predict", rntn.folder, source, "--format", "show").out.splitlines()
    assert [line.rsplit("/")[0] for line in shown[1:7]] == [
        "  the film", "    the", "    film", "  is good", "    is", "    good",
    ]  # fmt: skip
    page = program("predict", rntn.folder, source, "--format", "html").out
    assert page.count("<mark") == 6 + 3
    lines = program("eval", rntn.folder, source).out
    assert "accuracy of all nodes" in lines
    assert "positive or negative, where gold is not neutral" in lines


def test_a_text_without_a_parse_is_refused_where_parses_are_read(
    rntn: Trained, tmp_path: Path
) -> None:
    with refuses(DataError, Says("'a film'", "encoder.tree=balanced")):
        rntn.predictor.predict("a film")
    files = tiny.classified(tmp_path)
    options = ("encoder.cell=rntn", "encoder.tree=parse")
    with refuses(DataError, Says("train", "encoder.tree=balanced")):
        train(config(tmp_path, *options, files=files))


def test_texts_without_parses_have_balanced_trees_and_learn_their_roots(tmp_path: Path) -> None:
    files = tiny.classified(tmp_path)
    trained = train(config(tmp_path, "encoder.cell=tree-lstm", files=files))
    assert trained.predictor.config.encoder.tree == "balanced"
    assert trained.dev.headline > 0.8
    assert isinstance(trained.dev, ClassReport)
    assert trained.dev.nodes is None
    answer = trained.predictor.predict("hello there my friend")
    assert answer.tree is not None
    assert answer.tree.spans == ((0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4), (0, 4))


def test_two_classes_leave_out_neutral_nodes_and_texts(tmp_path: Path) -> None:
    options = ("encoder.cell=tree-rnn", "data.tree_labels=binary")
    prepared = prepare(config(tmp_path, *options), torch.device("cpu"))
    assert {*prepared.vocabulary.classes} == {"negative", "positive"}
    sentences = prepared.corpus.train.sentences
    labelled = sum(
        sum(bool(label) for label in each.tree.by_span().values())
        for each in sentences
        if each.tree is not None
    )
    assert prepared.encoded.target_count == labelled


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        (["task=tag", "encoder.cell=rntn"], Says("rntn", "task = 'classify'", "'tag'")),
        (["encoder.cell=rntn", "head.pooling=max"], Says("rntn", "head.pooling = 'last'")),
        (["encoder.cell=rntn", "data.unit=character"], Says("rntn", "data.unit = 'word'")),
    ],
)
def test_what_trees_do_not_have_is_refused(overrides: list[str], says: Says) -> None:
    with refuses(ConfigError, says):
        load_config(overrides=["task=classify", *overrides])


@pytest.mark.parametrize(
    "option", ["encoder.layers=2", "encoder.bidirectional=false", "head.bag_of_words=1024",
               "data.tree_phrases=true", "train.lm_loss=0.1", "train.bptt=10"],
)  # fmt: skip
def test_what_has_no_effect_over_trees_is_refused(tmp_path: Path, option: str) -> None:
    with refuses(ConfigError, Says(option.partition("=")[0], "encoder.cell")):
        train(config(tmp_path, "encoder.cell=tree-rnn", option))


def test_options_of_trees_have_no_effect_without_them(tmp_path: Path) -> None:
    for option in ("encoder.tree=left", "data.tree_targets=root"):
        with refuses(ConfigError, Says(option.partition("=")[0], "encoder.cell")):
            train(config(tmp_path, option))


def test_a_record_whose_tree_is_of_other_words_is_refused(rntn: Trained) -> None:
    tree = Tree(((0, 1), (1, 2), (0, 2)), ("", "", ""))
    sentence = Sentence(("the", "film"), tree=tree)
    (answer,) = rntn.predictor.annotate([sentence])
    assert answer.tree is not None
    assert answer.tree.spans == tree.spans
    for wrong in (Sentence(("film",), tree=tree), Document("the", tokens=((0, 3),), tree=tree)):
        with refuses(DataError, Says("tree over 1 word")):
            rntn.predictor.predict(wrong)
