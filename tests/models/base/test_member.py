"""Ensembles: the members of a model, against models of one network each."""

from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from marks import mostly_slow
from redigesting import redigest
from runs import StopAt
from safetensors import safe_open
from says import refuses
from small_runs import of_task
from torch import Tensor

from tagkit.config import Config, load_config, with_options
from tagkit.errors import ConfigError, Interrupted
from tagkit.inference.predict.predictor import Predictor, load
from tagkit.models.base.device import to_tensors
from tagkit.models.base.model import Model
from tagkit.models.task_table import task_of
from tagkit.nn.heads import POOLINGS
from tagkit.text.records import Sentence
from tagkit.training.setup.setup import Prepared, prepare
from tagkit.training.trainer import train

CPU = torch.device("cpu")
NO_DROPOUT = (
    "encoder.locked_dropout=0", "encoder.word_dropout=0", "embeddings.dropout=0",
    "embeddings.char_dropout=0", "embeddings.singleton_dropout=0",
)  # fmt: skip
SENTENCES = [
    Sentence(tuple(text.split()))
    for text in ("Ada visits Oslo .", "film", "Ben likes Cape Town and unknown wörds .")
]


def prepared(folder: Path, task: str, *options: str, members: int = 3) -> Prepared:
    size = f"encoder.ensemble_size={members}"
    torch.manual_seed(1)
    return prepare(of_task(folder, task, size, *NO_DROPOUT, *options), CPU)


def members_of(run: Prepared) -> list[Model]:
    """Each member of a model as a model by itself, with its share of the head's weights."""
    config = with_options(run.config, {"encoder.ensemble_size": 1})
    found = []
    for number, member in enumerate(run.model.members):
        model = task_of(config).build(config, run.vocabulary, None)
        own = dict(model.named_parameters())
        with torch.no_grad():
            for name, tensor in [*member.embed.named_parameters(prefix="embed"),
                                 *member.encoder.named_parameters(prefix="encoder")]:  # fmt: skip
                own[name].copy_(tensor)
            for name, tensor in run.model.named_parameters():
                if name.startswith(("embed.", "encoder.", "others.")):
                    continue
                mine = own[name]
                width = mine.shape[-1] if mine.shape != tensor.shape else 0
                # Columns are the features of one member after the other.
                part = 3 * tensor[..., width * number : width * (number + 1)] if width else tensor
                mine.copy_(part)
        found.append(model)
    return found


def assert_mean(found: Tensor, parts: list[Tensor]) -> None:
    torch.testing.assert_close(found, torch.stack(parts).mean(0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("head", ["crf", "softmax", "viterbi"])
def test_tags_are_scored_by_the_mean_of_the_members(tmp_path: Path, head: str) -> None:
    run = prepared(tmp_path, "tag", f"head.kind={head}")
    model, batch = run.model.eval(), to_tensors(run.encoded.batch(np.arange(7)))
    parts = [each.eval().head.linear(each.states(batch)) for each in members_of(run)]
    assert_mean(model.head.linear(model.states(batch)), parts)
    assert (parts[0] - parts[1]).abs().max() > 0.1


@pytest.mark.parametrize("pooling", mostly_slow(POOLINGS, always=2))
@pytest.mark.parametrize("hidden", ["[]", "[5]"])
def test_classes_are_scored_by_the_mean_of_the_members(
    tmp_path: Path, pooling: str, hidden: str
) -> None:
    run = prepared(tmp_path, "classify", f"head.pooling={pooling}", f"head.hidden={hidden}")
    model, batch = run.model.eval(), to_tensors(run.encoded.batch(np.arange(7)))
    mask = batch.tokens.mask
    together, attention = model.class_head.scores(*model.read_batch(batch), mask)
    pool = POOLINGS[pooling](4)
    if pool.outputs == 4 and not pool.state_dict():  # else its weights are not divided so easily
        found = [each.eval() for each in members_of(run)]
        parts = [each.class_head.scores(*each.read_batch(batch), mask)[0] for each in found]
        assert_mean(together, parts)
    # In training a member has the whole head for itself, and these are the scores that count.
    alone = []
    model.class_head.eval()
    for number, member in enumerate(model.members):
        width = member.encoder.outputs
        states, final = member.encoded(member.inputs(batch), batch.tokens)
        place = (number * width, (2 - number) * width)
        own = (torch.nn.functional.pad(3 * part, place) for part in (states, final))
        alone.append(model.class_head._scores(*own, mask))
    assert_mean(together, [scores for scores, _ in alone])
    if attention is not None:
        assert_mean(attention, [weights for _, weights in alone])


@pytest.mark.parametrize("task", ["tag", "classify", "both"])
def test_each_member_learns_as_if_it_were_alone(tmp_path: Path, task: str) -> None:
    options = () if task == "tag" else ("head.pooling=mean", "head.dropout=0")
    run = prepared(tmp_path, task, *options)
    model, batch = run.model.train(), to_tensors(run.encoded.batch(np.arange(7)))
    total, count = model(batch)
    total.backward()
    members = members_of(run)
    losses = []
    for each in members:
        loss, targets = each.train()(batch)
        assert targets == count
        loss.backward()
        losses.append(loss.detach())
    assert_mean(total.detach(), losses)
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name
    for member, each in zip(model.members, members, strict=True):
        for part in ("embed", "encoder"):
            theirs = dict(getattr(each, part).named_parameters())
            for name, parameter in getattr(member, part).named_parameters():
                expected = theirs[name].grad
                assert expected is not None
                found = parameter.grad.to_dense() if parameter.grad.is_sparse else parameter.grad
                expected = expected.to_dense() if expected.is_sparse else expected
                torch.testing.assert_close(3 * found, expected, rtol=1e-3, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["tag", "classify", "both"])
def test_an_ensemble_answers_the_same_alone_in_a_batch_and_loaded(
    tmp_path: Path, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = of_task(tmp_path, task, "encoder.ensemble_size=3", "train.max_epochs=2")
    trained = train(config).predictor
    found = load(tmp_path / "model")
    together = found.annotate(SENTENCES, batch_size=3, confidence=True)
    assert together == trained.annotate(SENTENCES, batch_size=3, confidence=True)
    monkeypatch.setattr(
        "tagkit.inference.predict.sentence_batches._MAX_BYTES", 1
    )  # emptied for each sentence
    for model in (found, load(tmp_path / "model")):
        for sentence, expected in zip(SENTENCES, together, strict=True):
            (alone,) = model.annotate([sentence], batch_size=1, confidence=True)
            assert (alone.tags, alone.labels) == (expected.tags, expected.labels)
            assert alone.probabilities == pytest.approx(expected.probabilities, abs=1e-5)


def test_cached_words_are_read_as_the_layers_read_them(tmp_path: Path) -> None:
    run = prepared(tmp_path, "tag")
    predictor = Predictor(run.model, run.vocabulary, run.config, CPU, keep_words=True)
    sentences = run.corpus.train.sentences[:9]
    batch = to_tensors(run.encoded.batch(np.arange(9)))
    path = run.model.eval().head.decode(run.model.states(batch), batch.tokens.mask)
    for size in (1, 9):
        for found, ids in zip(
            predictor.annotate(sentences, batch_size=size, confidence=False), path, strict=True
        ):
            tags = tuple(run.vocabulary.tags[number] for number in ids[: len(found.words)])
            assert predictor.tags_in(found, "iobes") == tags


@pytest.mark.slow
def test_pretrained_vectors_are_in_an_ensemble_and_its_file_once(tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("Ada 1 2 3\nOslo -1 0 2\nfilm 3 1 1\n", encoding="utf-8")
    config = of_task(tmp_path, "tag", "encoder.ensemble_size=3", f"embeddings.vectors={vectors}",
                     "train.max_epochs=1")  # fmt: skip
    trained = train(config).predictor
    found = load(tmp_path / "model")
    for model in (trained.model, found.model):
        tables = [member.embed.words.vectors for member in model.members]
        assert len({table.data_ptr() for table in tables}) == 1
        assert tables[1].shape == (4, 3)
    with safe_open(tmp_path / "model" / "best" / "model.safetensors", "pt") as file:
        assert [name for name in file.keys() if name.endswith("words.vectors")] == [
            "embed.words.vectors"
        ]
    ours, theirs = (m.annotate(SENTENCES, batch_size=3, confidence=True) for m in (trained, found))
    assert ours == theirs


@pytest.mark.slow
def test_a_stopped_ensemble_goes_on_bit_for_bit(tmp_path: Path) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    tiny.corpus(tmp_path)

    def config(output: Path) -> Config:
        return tiny.small(tmp_path, "train.max_epochs=2", "train.patience=0",
                          "encoder.ensemble_size=2", f"output.dir={output}")  # fmt: skip

    train(config(whole))
    listener = StopAt(13)
    with pytest.raises(Interrupted):
        train(config(stopped), listener, stop=listener.stop)
    train(config(stopped), resume=True)
    weights = [(out / "last" / "model.safetensors").read_bytes() for out in (whole, stopped)]
    assert weights[0] == weights[1]


@pytest.mark.parametrize(
    "option", ["head.kind=feedback", "train.lm_loss=0.1", 'embeddings.contextual=["models/lm"]',
               "data.tag_column=[1, 2]", "train.readout=ridge"],
)  # fmt: skip
def test_models_of_another_kind_are_one_network(option: str) -> None:
    with refuses(ConfigError, "encoder.ensemble_size", "3", "1"):
        load_config(overrides=[option, "encoder.ensemble_size=3"])


@pytest.mark.slow
def test_a_new_model_has_as_many_networks_as_the_one_it_begins_with(tmp_path: Path) -> None:
    train(of_task(tmp_path, "tag", "encoder.ensemble_size=2", "train.max_epochs=1"))
    (tmp_path / "model").rename(tmp_path / "base")
    base = load(tmp_path / "base").model
    torch.manual_seed(5)
    run = prepare(of_task(tmp_path, "tag", f"train.init_from={tmp_path / 'base'}"), CPU)
    assert run.config.encoder.ensemble_size == 2
    weights = dict(run.model.named_parameters())
    for name, expected in base.named_parameters():
        assert torch.equal(weights[name], expected), name
    with refuses(ConfigError, "encoder.ensemble_size", "3"):
        prepare(of_task(tmp_path, "tag", f"train.init_from={tmp_path / 'base'}",
                        "encoder.ensemble_size=3"), CPU)  # fmt: skip


def test_a_model_of_before_ensembles_is_one_network(tmp_path: Path) -> None:
    train(of_task(tmp_path, "tag", "encoder.ensemble_size=1", "train.max_epochs=1"))
    best = tmp_path / "model" / "best"
    config = (best / "config.toml").read_text()
    (best / "config.toml").write_text(config.replace("ensemble_size = 1\n", ""))
    redigest(best)
    assert len(load(best).model.members) == 1


@pytest.mark.slow
def test_an_ensemble_cannot_be_the_beginning_of_a_model_of_another_kind(tmp_path: Path) -> None:
    echo = ("encoder.cell=echo-state", "train.readout=gradient")
    train(of_task(tmp_path, "tag", "encoder.ensemble_size=2", "train.max_epochs=1", *echo))
    (tmp_path / "model").rename(tmp_path / "base")
    options = [f"train.init_from={tmp_path / 'base'}", f"output.dir={tmp_path / 'model'}"]
    ridge = load_config(overrides=[*options, "train.readout=ridge"], flags=tiny.corpus(tmp_path))
    with refuses(ConfigError, "ensemble_size", "2", "1", "train.readout"):
        train(ridge)
    assert not (tmp_path / "model").exists()
