"""Columns of numbers as inputs: training, prediction, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path

import frames
import numpy as np
import pytest
import tiny
import torch
from says import refuses

import tagkit
from tagkit.config import Config, load_config
from tagkit.errors import ConfigError, DataError, FormatError
from tagkit.features.batching.encoding import Encoded
from tagkit.inference.predict.predictor import Predictor, load
from tagkit.inference.score.evaluate import evaluate
from tagkit.models.base.device import to_tensors
from tagkit.text.records import Sentence
from tagkit.training.setup.setup import Prepared, prepare
from tagkit.training.trainer import Trained, train

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("frames")


@pytest.fixture(scope="module")
def trained(folder: Path) -> Trained:
    return train(frames.columns(folder, "train.max_epochs=15"))


def prepared(config: Config) -> Prepared:
    torch.manual_seed(1)
    return prepare(config, CPU)


def predictor_of(run: Prepared) -> Predictor:
    return Predictor(run.model, run.vocabulary, run.config, CPU, keep_words=True)


def test_tags_that_depend_on_numbers_alone_are_learnt(trained: Trained, folder: Path) -> None:
    predictor = trained.predictor
    assert predictor.config.data.vector_columns == (1, 2)  # also of a file without tags
    assert predictor.model.embed.outputs == 3
    assert not predictor.model.feature_crf
    assert trained.test is not None
    assert trained.test.headline == 1
    # The same after save and load, from a file without tags.
    bare = folder / "bare.conll"
    gold = (folder / "test.conll").read_text()
    cells = [line.split("\t") for line in gold.split("\n")[:-1]]
    bare.write_text("".join("\t".join(each[:-1]) + "\n" for each in cells))
    found = load(trained.folder, device="cpu").predict(list(tagkit.read(bare, labels=False,
                                                            vector_columns=[1, 2])))  # fmt: skip
    tags = [token.tag for each in found for token in each.tokens]
    assert tags == [each[3] for each in cells if len(each) == 4]
    assert evaluate(folder / "test.conll", model=predictor).headline == 1


def test_the_inputs_are_standardised_as_numpy_does(folder: Path) -> None:
    run = prepared(frames.columns(folder))
    rows = [[*pair, one] for each in frames.sentences(60, 1) for _, pair, one, _ in each]
    values = np.array(rows)
    expected = (values - values.mean(0)) / values.std(0)
    assert isinstance(run.encoded, Encoded)
    found = run.encoded.indexed.values
    np.testing.assert_allclose(found, expected.astype(np.float32), rtol=1e-6)
    tokens = run.encoded.batch([3, 0]).tokens
    assert tokens.numbers is not None
    starts = np.cumsum([0, *run.encoded.lengths])
    for row, index in enumerate([3, 0]):
        real = tokens.mask[row]
        own = expected[starts[index] : starts[index + 1]]
        np.testing.assert_allclose(tokens.numbers[row, real], own, rtol=1e-5)
        assert not tokens.numbers[row, ~real].any()


WITH_WORDS = ("embeddings.word_dim=4", "data.feature_columns=[0]")
CELLS = ["lstm", "gru", "sru", "transformer", "cnn"]


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("more", [(), WITH_WORDS], ids=["alone", "beside words"])
def test_cached_inference_equals_the_plain_network_alone_and_in_a_batch(
    folder: Path, cell: str, more: tuple[str, ...]
) -> None:
    of_cell = ["encoder.heads=2"] if cell == "transformer" else []
    run = prepared(frames.columns(folder, f"encoder.cell={cell}", *of_cell, *more))
    model = run.model.eval()
    with torch.no_grad():  # no bias is 0 after training
        for name, each in model.named_parameters():
            if "bias" in name:
                each.normal_()
    assert isinstance(run.encoded, Encoded)
    sentences = run.corpus.train.sentences[:9]
    batch = to_tensors(run.encoded.batch(range(9)))
    plain, _ = model.read_batch(batch)
    predictor = predictor_of(run)
    for numbers in ([*range(9)], *([n] for n in range(9))):
        given = [sentences[n] for n in numbers]
        for places, found in predictor._batches.read(given, 9):
            states, _ = found.read(model)
            for row, place in enumerate(places):
                length = len(given[place])
                expected = plain[numbers[place], :length]
                torch.testing.assert_close(states[row, :length], expected, atol=1e-5, rtol=1e-4)


def test_padding_never_leaks_even_if_it_is_nan(folder: Path) -> None:
    run = prepared(frames.columns(folder))
    assert isinstance(run.encoded, Encoded)
    batch = to_tensors(run.encoded.batch(range(9)))
    tokens = batch.tokens
    assert tokens.numbers is not None
    spoilt = tokens.numbers.masked_fill(~tokens.mask.unsqueeze(2), torch.nan)
    other = replace(batch, tokens=replace(tokens, numbers=spoilt))
    run.model.eval()
    with torch.no_grad():
        torch.testing.assert_close(run.model(batch)[0], run.model(other)[0])


def test_every_parameter_with_a_value_gets_a_gradient(folder: Path) -> None:
    run = prepared(frames.columns(folder))
    assert isinstance(run.encoded, Encoded)
    run.model(to_tensors(run.encoded.batch(range(30))))[0].backward()
    for name, each in run.model.named_parameters():
        assert each.numel() == 0 or (each.grad is not None and bool(each.grad.any())), name


@pytest.mark.slow
@pytest.mark.parametrize("task", ["tag", "classify", "both"])
def test_every_task_learns_from_json_lines(tmp_path: Path, task: str) -> None:
    more = ["head.bag_of_words=0"] if task != "tag" else []
    config = frames.json_lines(tmp_path, f"task={task}", "train.max_epochs=12", *more)
    trained = train(config)
    assert trained.test is not None
    assert trained.test.headline > 0.95
    line = (tmp_path / "test.jsonl").read_text().splitlines()[0]
    record = json.loads(line)
    del record["x"]
    assert load(trained.folder, device="cpu").predict(json.loads(line)).tokens
    with refuses(DataError, "x", "data.vector_columns"):
        trained.predictor.predict(record)


def test_what_lacks_the_numbers_is_refused(trained: Trained, folder: Path) -> None:
    predictor = trained.predictor
    with refuses(DataError, "2 columns", "data.vector_columns", "0"):
        predictor.predict("a b c")
    with refuses(DataError, "column 1", "2 finite numbers", "(1.0,)", "word 1"):
        predictor.predict(Sentence(("a",), vectors=(((1.0,),), ((1.0,),))))
    odd = folder / "odd.conll"
    for cell, says in (("1", "(1.0,)"), ("1,nan", "'1,nan'"), ("1,x", "'1,x'")):
        odd.write_text(f"a\t1,2\t3\tsoft-low\nb\t{cell}\t3\tsoft-low\n")
        with refuses(FormatError, "odd.conll:2:", says):
            evaluate(odd, model=predictor)
        with refuses(FormatError, "odd.conll:2:", says):
            prepared(frames.columns(folder, **{"data.dev_file": str(odd)}))
    odd.write_text("a\tsoft-low\n")
    with refuses(FormatError, "odd.conll:1:", "vector column 2", "2 columns"):
        evaluate(odd, model=predictor)


def test_a_corpus_in_a_format_without_columns_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a/X b/Y\n\nb/Y a/X\n" * 10)
    config = tiny.small(tmp_path, "data.vector_columns=[1]", "data.format=slash",
                        **{"data.train_file": str(tmp_path / "train.txt"), "data.dev_file": "",
                           "data.test_file": ""})  # fmt: skip
    with refuses(DataError, "train.txt:1:", "data.vector_columns", "0"):
        prepared(config)


def test_a_column_of_numbers_that_is_the_tag_is_refused(folder: Path) -> None:
    with refuses(DataError, "column 2", "numbers", "tag"):
        prepared(frames.columns(folder, "data.tag_column=2"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["data.vector_columns=[]"], ("word_dim", "data.vector_columns")),
        (["embeddings.char_cell=lstm"], ("word_dim", "char_cell", "none")),
    ],
)
def test_no_embedding_of_words_needs_numbers_in_their_place(
    folder: Path, options: list[str], says: tuple[str, ...]
) -> None:
    with refuses(ConfigError, *says):
        frames.columns(folder, *options)


def test_a_model_goes_on_with_the_means_of_the_one_that_it_begins_with(
    trained: Trained, tmp_path: Path
) -> None:
    def further(*options: str) -> Config:
        return tiny.small(tmp_path, f"train.init_from={trained.folder}", "encoder.dropout=0",
                          *frames.OPTIONS[:4], *options)  # fmt: skip

    frames.columns(tmp_path)
    for name in ("train", "dev", "test"):  # other numbers, and so another mean
        path = tmp_path / f"{name}.conll"
        path.write_text(path.read_text().replace("\t4", "\t7"))
    found = prepared(further("data.vector_columns=[1, 2]"))
    assert found.vocabulary.vectors == trained.predictor.vocabulary.vectors
    weights = trained.predictor.model.state_dict()
    for name, each in found.model.named_parameters():
        if name.startswith("encoder."):
            assert torch.equal(each, weights[name])
    with refuses(ConfigError, "data.vector_columns", "2", "1"):
        prepared(further("data.vector_columns=[1]"))
    with refuses(FormatError, "train.conll:1:", "column 2", "2 finite numbers"):
        prepared(further("data.vector_columns=[2, 1]"))


def test_a_tagger_reads_numbers_beside_the_units_of_a_language_model(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("a b c b a\n" * 20)
    base = load_config(
        None,
        ("task=language-model", "data.unit=word", "embeddings.word_dim=4", "encoder.hidden=5",
         "train.max_epochs=1", f"output.dir={tmp_path / 'lm'}", f"data.train_file={text}",
         f"data.dev_file={text}"),
    )  # fmt: skip
    trained = train(base)
    frames.columns(tmp_path)
    config = load_config(
        None,
        (f"train.init_from={trained.folder}", "data.vector_columns=[1, 2]", "train.device=cpu",
         f"data.train_file={tmp_path / 'train.conll'}", f"data.dev_file={tmp_path / 'dev.conll'}"),
    )  # fmt: skip
    found = prepared(config)
    first = "encoder.layers.0.forwards.weight_ih_l0"
    old, new = (dict(m.named_parameters())[first] for m in (trained.predictor.model, found.model))
    assert new.shape[1] == old.shape[1] + 3
    assert torch.equal(new[:, :-3], old)
