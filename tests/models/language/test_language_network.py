"""The network of a language model: what is carried, and what is predicted."""

import math
from collections import Counter
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from marks import mostly_slow
from says import refuses
from small_runs import TASKS, of_task
from torch import Tensor

from tagkit.config import load_config
from tagkit.errors import ConfigError
from tagkit.features.batching.unit_stream import UnitIds, lines_of, steps_of, streams_of, unit_ids
from tagkit.features.vocabulary import UNKNOWN_ID, Vocabulary
from tagkit.inference.predict.predictor import load
from tagkit.models.base.device import to_tensors
from tagkit.models.base.model import Model
from tagkit.models.bundle.bundle import save_bundle
from tagkit.models.language.language_model import LanguageTask
from tagkit.models.language.language_network import (
    LanguageModel,
    language_target,
    mapped,
    predicted_words,
    tensors_of,
)
from tagkit.models.language.text_scoring import unit_nats, unit_nats_by_line
from tagkit.nn.generation.step import select_rows
from tagkit.nn.layers.encoder import LAYERS
from tagkit.text.records import Sentence
from tagkit.training.setup.setup import Prepared, prepare
from tagkit.training.trainer import train

TASK = LanguageTask()
WORDS = ("</s>", "a", "b", "c")
CELLS = sorted(LAYERS, key=lambda cell: (cell not in ("lstm", "transformer"), cell))


def model_of(*options: str, streams: int = 3) -> LanguageModel:
    """In float64, with weights large enough for the past to matter."""
    given = ["embeddings.word_dim=4", "encoder.hidden=6", "encoder.bidirectional=false",
             "encoder.heads=3", "train.bptt=4"]  # fmt: skip
    config = load_config(None, [*given, *options], {"task": "language-model"})
    vocabulary = Vocabulary(
        words=WORDS, vector_words=(), only_vectors=False, chars=(), affixes=(), tags=(),
        classes=(), features=(), lowercase=False, normalize_digits=False,
    )  # fmt: skip
    torch.manual_seed(3)
    model = TASK.build(config, vocabulary, None).double()
    for weights in model.parameters():
        torch.nn.init.normal_(weights, std=0.6)
    model.begin_streams(streams)
    return model.eval()


def text(seed: int, lines: int = 7) -> UnitIds:
    dice = np.random.default_rng(seed)
    ids = {unit: 2 + number for number, unit in enumerate(WORDS)}
    drawn = [[*dice.choice([*"abc?"], size=dice.integers(0, 6))] for _ in range(lines)]
    return unit_ids(drawn, ids, UNKNOWN_ID, 2)


def by_hand(model: LanguageModel, ids: UnitIds) -> list[float]:
    """Nats of each unit, one step after another from zeros."""
    found, state = [], None
    for read, wanted in zip(ids[:-1].tolist(), ids[1:].tolist(), strict=True):
        states, state = model.read_on(torch.tensor([[read - UNKNOWN_ID]]), state)
        log_probs = model.log_probs(states[0])
        assert log_probs.exp().sum() == pytest.approx(1)
        found.append(-log_probs[0, wanted - UNKNOWN_ID].item())
    return found


@torch.no_grad()
@pytest.mark.parametrize("cell", mostly_slow(CELLS, always=2))
@pytest.mark.parametrize("segment", [1, 4, 100])
def test_segments_have_the_loss_of_reading_each_stream_in_one_go(cell: str, segment: int) -> None:
    model, ids = model_of(f"encoder.cell={cell}", "encoder.layers=2"), text(5)
    stream = streams_of(ids, 3, segment)
    total = targets = 0
    for step, indices in enumerate(steps_of(stream)):
        model.begin_step(step)
        loss, count = TASK.loss(model, to_tensors(stream.batch(indices)))
        total, targets = total + loss.item(), targets + int(count)
    width = -(-(len(ids) - 1) // 3)
    expected = sum(
        sum(by_hand(model, ids[begin : begin + width + 1]))
        for begin in range(0, len(ids) - 1, width)
    )
    assert targets == len(ids) - 1
    assert total == pytest.approx(expected, rel=1e-10)


@torch.no_grad()
@pytest.mark.parametrize("options", [[], ["embeddings.tied=false"], ["encoder.output_layers=[5]"]])
def test_evaluation_in_parts_is_that_of_one_pass(
    monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    model, ids = model_of(*options), text(6)
    monkeypatch.setattr("tagkit.models.language.text_scoring._SCORED_AT_ONCE", 5)
    found = torch.cat([*unit_nats(model, ids)]).tolist()
    assert found == pytest.approx(by_hand(model, ids), rel=1e-10)


@torch.no_grad()
def test_lines_that_are_independent_begin_anew() -> None:
    model, ids = model_of(), text(7)
    expected = 0.0
    borders = np.flatnonzero(ids == 2)
    for begin, end in pairwise(borders):
        expected += sum(by_hand(model, ids[begin : end + 1]))
    lines = lines_of(ids)
    loss, _ = TASK.loss(model, to_tensors(lines.batch(np.arange(len(lines)))))
    assert loss.item() == pytest.approx(expected, rel=1e-10)
    found = sum(part.sum().item() for part in unit_nats_by_line(model, ids))
    assert found == pytest.approx(expected, rel=1e-10)


@torch.no_grad()
def test_a_step_that_is_tried_again_in_pieces_goes_on_from_the_same_states() -> None:
    model, ids = model_of(), text(8)
    stream = streams_of(ids, 3, 4)
    first, second, *_ = steps_of(stream)
    model.begin_step(0)
    TASK.loss(model, to_tensors(stream.batch(first)))
    model.begin_step(1)
    whole, _ = TASK.loss(model, to_tensors(stream.batch(second)))
    carried = model.carried
    model.begin_step(1)
    parts = [TASK.loss(model, to_tensors(stream.batch(second[rows])))[0] for rows in ([0], [1, 2])]
    assert sum(parts).item() == pytest.approx(whole.item(), rel=1e-12)
    torch.testing.assert_close(model.carried, carried)


@torch.no_grad()
def test_states_that_are_not_finite_are_not_carried_on() -> None:
    model, ids = model_of(), text(9)
    stream = streams_of(ids, 3, 4)
    first, second, *_ = steps_of(stream)
    model.begin_step(0)
    TASK.loss(model, to_tensors(stream.batch(first)))
    model.begin_step(1)
    before = model.carried
    weight = model.embed.words.trained.weight
    kept = weight.clone()
    weight[2:] = math.nan
    TASK.loss(model, to_tensors(stream.batch(second)))
    weight.copy_(kept)
    model.begin_step(2)
    torch.testing.assert_close(model.carried, before)


@torch.no_grad()
def test_a_run_that_stops_after_such_a_step_goes_on_as_if_it_had_not() -> None:
    model, ids = model_of(), text(9)
    stream = streams_of(ids, 3, 4)
    first, *_ = steps_of(stream)
    model.begin_step(0)
    TASK.loss(model, to_tensors(stream.batch(first)))
    model.begin_step(1)
    before = model.carried
    model.carried = tuple(mapped(state, lambda one: one * math.nan) for state in before)
    again = model_of()
    again.begin_streams(3)
    TASK.restore(again, TASK.state(model))
    for each in (model, again):
        each.begin_step(2)
        torch.testing.assert_close(each.carried, before)
        each.carried = tuple(mapped(state, lambda one: one * math.nan) for state in before)
        each.begin_step(3)  # the second such step in a row
        torch.testing.assert_close(each.carried, before)


def test_gradients_reach_every_parameter_and_stop_at_the_border_of_a_segment() -> None:
    model, ids = model_of("encoder.layers=2"), text(10, lines=12)
    stream = streams_of(ids, 3, 4)
    first, second, *_ = steps_of(stream)
    model.begin_step(0)
    TASK.loss(model, to_tensors(stream.batch(first)))
    model.begin_step(1)
    batch = to_tensors(stream.batch(second))
    TASK.loss(model, batch)[0].backward()
    assert all(one.grad is not None and one.grad.abs().sum() > 0 for one in model.parameters())
    assert not any(memory.requires_grad for state in model.carried for memory in state)


@torch.no_grad()
@pytest.mark.parametrize("cell", mostly_slow(CELLS, always=2))
def test_a_text_that_is_continued_step_by_step_has_the_states_of_reading_it_at_once(
    cell: str,
) -> None:
    model = model_of(f"encoder.cell={cell}", "encoder.layers=2", "encoder.connection=highway")
    units = torch.from_numpy(np.random.default_rng(2).integers(0, 5, (3, 13)))
    whole, after = model.read_on(units, None)
    state = model.zero_state(3)
    for step in range(13):
        states, state = model.read_on(units[:, step : step + 1], state)
        torch.testing.assert_close(states[:, 0], whole[:, step])
        # As a beam does with its hypotheses: rows are copied, left out, and exchanged.
        rows = torch.tensor([2, 0, 1])
        assert isinstance(state, tuple)
        state = select_rows(state, rows)  # type: ignore[assignment]
        units, whole = units[rows], whole[rows]
        alone, _ = model.read_on(units[:1, : step + 1], None)
        torch.testing.assert_close(alone[0, -1], whole[0, step])
    assert [one.shape for one in tensors_of(after[0])] == [
        one.shape for one in tensors_of(state[0])
    ]


def line_log_probs(model: LanguageModel, lines: list[tuple[int, ...]]) -> Tensor:
    """Of lines of units, each by itself and with its end, whose number is 1 or the last one."""
    end = WORDS.index("</s>") + 1
    text = [end + UNKNOWN_ID]
    for line in lines:
        text += [*(unit + UNKNOWN_ID for unit in line), end + UNKNOWN_ID]
    found = [0.0] * len(lines)
    ids = lines_of(np.array(text, np.int32))
    for number in range(len(lines)):
        batch = to_tensors(ids.batch([number]))
        states, _ = model.read_on(batch.words.word_ids[batch.tokens.rows] - UNKNOWN_ID, None)
        found[number] = float(model.log_prob_of(states[0], batch.target("units")[0]).sum())
    return torch.tensor(found, dtype=torch.float64)


@torch.no_grad()
@pytest.mark.parametrize(
    "options", [["head.halt=true"], ["head.halt=true", "encoder.cell=transformer"], []], ids=str
)
def test_the_probabilities_of_all_lines_sum_to_1(options: list[str]) -> None:
    model, longest = model_of("data.context=line", *options), 3
    units = [0, 2, 3, 4]  # unknown, a, b, c; 1 is the end
    lines = [line for size in range(longest + 1) for line in product(units, repeat=size)]
    log_probs = line_log_probs(model, lines)
    # Those that go on past the longest: the beginning without the end.
    going_on = 0.0
    for line in product(units, repeat=longest):
        numbers = torch.tensor([[1, *line]])
        states, _ = model.read_on(numbers, None)
        log_prob = model.log_prob_of(states[0, :-1], numbers[0, 1:]).sum()
        going_on += float(log_prob.exp() * -torch.expm1(model.log_prob_of(
            states[0, -1:], torch.tensor([1]))[0]))  # fmt: skip
    assert float(log_probs.exp().sum()) + going_on == pytest.approx(1, rel=1e-12)
    assert going_on > 0.01  # else nothing of the above would be seen
    # The loss of training and the nats of evaluation are these.
    ids = text(12)
    borders = np.flatnonzero(ids == 2)
    own = [tuple((ids[a + 1 : b] - UNKNOWN_ID).tolist()) for a, b in pairwise(borders)]
    expected = -float(line_log_probs(model, own).sum())
    loss, count = TASK.loss(model, to_tensors(lines_of(ids).batch(np.arange(len(own)))))
    assert loss.item() == pytest.approx(expected, rel=1e-12)
    assert int(count) == len(ids) - 1
    found = sum(part.sum().item() for part in unit_nats_by_line(model, ids))
    assert found == pytest.approx(expected, rel=1e-12)


def test_a_model_without_weights_has_the_perplexity_of_its_vocabulary() -> None:
    model, ids = model_of(), text(11)
    with torch.no_grad():
        for weights in model.parameters():
            weights.zero_()
    found = torch.cat([*unit_nats(model, ids)])
    assert math.exp(found.mean()) == pytest.approx(len(WORDS) + 1)  # and the unknown unit


BESIDE = ("train.lm_loss=0.5", "encoder.layers=2", "encoder.dropout=0")
CPU = torch.device("cpu")


def prepared(folder: Path, *overrides: str) -> Prepared:
    torch.manual_seed(1)
    return prepare(tiny.config(folder, "embeddings.min_count=2", *overrides), CPU)


def gradients(run: Prepared, indices: np.ndarray) -> tuple[Tensor, dict[str, Tensor]]:
    """Value and gradients of the training loss of some sentences."""
    model = run.model.train()
    model.zero_grad()
    total, _ = model(to_tensors(run.encoded.batch(indices)))
    total.backward()
    return total.detach(), {
        name: one.grad.to_dense().clone()
        for name, one in model.named_parameters()
        if one.grad is not None
    }


def test_the_most_frequent_forms_are_predicted_and_all_others_are_one_word() -> None:
    assert predicted_words(Counter(a=2, b=3, c=2)) == ("b", "a", "c")
    assert len(predicted_words(Counter(map(str, range(9_000))))) == 7_500
    config = load_config()  # lower case, digits as 0
    sentences = [Sentence(("The", "19", "x")), Sentence(("the", "THE", "zz"))]
    target = language_target(config, sentences, ("the", "00"))
    assert target.values.tolist() == [1, 2, 0, 1, 1, 0]
    assert (target.per, target.auxiliary) == ("token", True)


def test_the_loss_that_is_reported_and_other_first_weights_are_those_without_it(
    tmp_path: Path,
) -> None:
    plain, ours = (
        prepared(tmp_path, *BESIDE, "train.lm_loss=0"),
        prepared(tmp_path, *BESIDE),
    )
    own = dict(plain.model.named_parameters())
    added = {name for name, _ in ours.model.named_parameters()} - own.keys()
    assert added
    assert all(name.startswith("language_loss.") for name in added)
    for name, weight in own.items():
        assert torch.equal(weight, dict(ours.model.named_parameters())[name]), name
    for run in (plain, ours):
        run.model.encoder.word_dropout.probability = 0  # which draws random numbers
    some = np.arange(10)
    assert torch.equal(gradients(ours, some)[0], gradients(plain, some)[0])
    # On dev it is not computed at all.
    ours.model.eval()
    ours.model.language_loss.forward = None  # type: ignore[union-attr, assignment, method-assign]
    ours.model(to_tensors(ours.encoded.batch(some)))


@pytest.mark.parametrize("task", mostly_slow(["tag", "classify"], always=1))
def test_its_gradient_grows_with_its_weight_and_reaches_every_layer(
    tmp_path: Path, task: str
) -> None:
    files = tiny.classified(tmp_path) if task == "classify" else {}
    found = {}
    counts = set()
    for weight in (0, 1e-9, 1.0, 3.0):
        torch.manual_seed(1)
        config = tiny.config(tmp_path, *BESIDE, f"train.lm_loss={weight}", f"task={task}",
                             "encoder.word_dropout=0", **files)  # fmt: skip
        run = prepare(config, CPU)
        counts.add(run.encoded.target_count)
        found[weight] = gradients(run, np.arange(10))[1]
    assert len(counts) == 1  # the divisor of a step's loss is that of the labels
    for name, before in found[1e-9].items():
        once, thrice = found[1.0][name] - before, found[3.0][name] - before
        torch.testing.assert_close(thrice, 3 * once, rtol=1e-3, atol=1e-4)
        # Those above the states that predict have no part in it.
        reached = not name.startswith(
            ("encoder.layers.1", "head.", "class_head.", "embed.features")
        )
        assert bool(once.any()) == reached, name


@pytest.mark.parametrize(
    ("cell", "two"),
    mostly_slow(
        [
            (cell, two)
            for cell in LAYERS
            for two in (True, False)
            if LAYERS[cell].recurrent or not two
        ],
        always=1,
    ),
)
def test_the_states_of_every_cell_predict(tmp_path: Path, cell: str, two: bool) -> None:
    segments = ["train.bptt=3"] if LAYERS[cell].recurrent else []
    run = prepared(tmp_path, *BESIDE, f"encoder.cell={cell}",
                   f"encoder.bidirectional={two}".lower(),
                   "encoder.skip=2", "encoder.heads=2", *segments)  # fmt: skip
    found = gradients(run, np.arange(10))[1]
    for name, parameter in run.model.named_parameters():
        if parameter.requires_grad and name.startswith(("language_loss.", "encoder.layers.0")):
            assert found[name].isfinite().all(), name
            assert found[name].any(), name


def test_a_step_in_pieces_has_the_same_gradient(tmp_path: Path) -> None:
    run = prepared(tmp_path, *BESIDE, "encoder.word_dropout=0")
    _, whole = gradients(run, np.arange(10))
    _, first = gradients(run, np.arange(4))
    _, second = gradients(run, np.arange(4, 10))
    for name, gradient in whole.items():
        torch.testing.assert_close(first[name] + second[name], gradient, rtol=1e-4, atol=1e-5)


def test_a_loss_that_is_not_finite_shows(tmp_path: Path) -> None:
    run = prepared(tmp_path, *BESIDE)
    with torch.no_grad():
        for parameter in run.model.language_loss.parameters():  # type: ignore[union-attr]
            parameter.fill_(float("inf"))
    assert gradients(run, np.arange(10))[0].isnan()


def test_a_saved_model_is_complete_without_its_layers(tmp_path: Path) -> None:
    run = prepared(tmp_path, *BESIDE)
    model: Model = run.model
    save_bundle(tmp_path / "saved", model, run.vocabulary, run.config, {})
    found = load(tmp_path / "saved").model
    assert found.language_loss is None
    expected = model.saved_tensors()
    assert found.state_dict().keys() == expected.keys()
    for name, tensor in found.state_dict().items():
        assert torch.equal(tensor, expected[name])
    assert found.saved_weights == model.saved_weights < sum(p.numel() for p in model.parameters())
    batch = to_tensors(run.encoded.batch(np.arange(5)))
    assert torch.equal(found.eval().states(batch), model.eval().states(batch))


def test_another_model_may_bring_an_encoder_that_cannot_predict(tmp_path: Path) -> None:
    base = ("encoder.cell=transformer", "encoder.heads=2", "embeddings.char_cell=none",
            "embeddings.char_dim=30", "embeddings.char_hidden=50")  # fmt: skip
    run = prepared(tmp_path, *base)
    save_bundle(tmp_path / "base", run.model, run.vocabulary, run.config, {})
    config = load_config(
        None,
        ["train.lm_loss=0.1", f"train.init_from={tmp_path / 'base'}"],
        flags={f"data.{name}_file": str(tmp_path / f"{name}.conll") for name in ("train", "dev")},
    )
    with refuses(ConfigError, "transformer"):
        prepare(config, CPU)


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_every_task_learns_beside_it_and_saves_a_model_that_answers(
    tmp_path: Path, task: str
) -> None:
    config = of_task(tmp_path, task, "train.lm_loss=0.1", "train.max_epochs=10", "train.lr=0.02")
    trained = train(config)
    assert trained.dev.headline > 0.8
    found = load(trained.folder)
    words = ["Ada", "visits", "Oslo", "."]
    assert found.predict([words]) == trained.predictor.predict([words])
