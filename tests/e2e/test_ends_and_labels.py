"""Lines of a known class, or of a length that is predicted: each is one distribution."""

import math
from itertools import product

import numpy as np
import pytest
import torch
from random_language_model import CLASSES, UNITS, context_of
from says import refuses

from tagkit.config import load_config
from tagkit.errors import ConfigError, DataError
from tagkit.features.batching.unit_stream import lines_of
from tagkit.inference.generate.generation import generate_texts, planned
from tagkit.inference.generate.generation_options import GenerationOptions
from tagkit.inference.generate.line_scores import score_lines
from tagkit.models.base.device import to_tensors
from tagkit.models.base.task_records import ModelContext
from tagkit.models.language.language_model import LanguageTask
from tagkit.models.language.language_network import FIRST_ROW, LanguageModel
from tagkit.models.language.reader import LengthReader, Reader, reader_of
from tagkit.models.language.text_scoring import NO_CLASS, class_figures
from tagkit.nn.heads.sampling import Sampling
from tagkit.text.units import END

TASK = LanguageTask()
BY_LINE = "data.context=line"
LABELLED = ("data.condition=label", BY_LINE)
LENGTH = ("head.end=length", BY_LINE)
KINDS = [
    LENGTH, (*LABELLED, *LENGTH), LABELLED, (*LABELLED, "decoder.context=every-step"),
    (*LABELLED, "decoder.context=both", "head.end=halt"),
    (*LABELLED, *LENGTH, "decoder.context=both", "encoder.cell=gru", "encoder.layers=2"),
    (*LENGTH, "encoder.cell=transformer", "encoder.hidden=8", "embeddings.word_dim=8"),
    (*LABELLED, "encoder.cell=skip", "head.softmax=sampled"),
]  # fmt: skip


def network(context: ModelContext) -> LanguageModel:
    assert isinstance(context.model, LanguageModel)
    return context.model


def reader(context: ModelContext, label: str = CLASSES[1]) -> Reader:
    given = label if context.vocabulary.classes else None
    return reader_of(network(context), context.vocabulary, context.config.data, given)


def ids_of(lines: list[list[int]]) -> np.ndarray:
    end = UNITS.index(END) + 1 + FIRST_ROW
    text = [end]
    for line in lines:
        text += [*(number + FIRST_ROW for number in line), end]
    return np.array(text, np.int32)


LINES = [[2, 3], [], [3, 3, 0, 2, 3, 4, 2], [4]]
OWN = np.array([0, 2, 1, 1])


@pytest.mark.parametrize("options", KINDS, ids="+".join)
def test_the_loss_is_the_score_of_each_line_alone_or_in_a_batch(options: tuple[str, ...]) -> None:
    context = context_of(*options)
    model, classes = network(context), OWN if context.vocabulary.classes else None
    lines = lines_of(ids_of(LINES), classes)
    loss, count = TASK.loss(model, to_tensors(lines.batch(np.arange(4))))
    alone = 0.0
    for number, line in enumerate(LINES):
        batch = to_tensors(lines.batch([number]))
        found = float(model.line_log_probs(batch).sum().detach())
        alone += found
        read = reader(context, CLASSES[OWN[number]])
        text = " ".join(read.units[unit] for unit in line)
        ((score,),) = score_lines(read, [[text]])
        assert score.log_probability == pytest.approx(found, rel=1e-9)
        ((*_, among),) = score_lines(read, [["a b a b a", text]])
        assert among.log_probability == pytest.approx(found, rel=1e-9)
    assert float(loss.detach()) == pytest.approx(-alone, rel=1e-9)
    assert int(count) == sum(map(len, LINES)) + len(LINES)


@pytest.mark.parametrize("options", KINDS, ids="+".join)
def test_every_weight_has_a_gradient(options: tuple[str, ...]) -> None:
    context = context_of(*options)
    classes = OWN if context.vocabulary.classes else None
    model = network(context).train()
    loss, _ = TASK.loss(model, to_tensors(lines_of(ids_of(LINES), classes).batch(np.arange(4))))
    loss.backward()
    for name, weights in model.named_parameters():
        if weights.requires_grad:
            assert weights.grad is not None, name
            assert weights.grad.to_dense().any(), name


@torch.no_grad()
def test_an_elman_network_with_a_class_and_a_length_equals_a_loop_over_the_equations() -> None:
    context = context_of(*LABELLED, *LENGTH, "decoder.context=both", "encoder.cell=elman")
    model = network(context)
    w = {name: each.numpy() for name, each in model.state_dict().items()}
    table = w["embed.words.trained.weight"][FIRST_ROW:]
    end = UNITS.index(END) + 1
    cell = {name.rpartition(".")[2].removesuffix("_l0"): value for name, value in w.items()
            if name.startswith("encoder.layers.0")}  # fmt: skip
    for line, label in zip(LINES, OWN, strict=True):
        vector = w["condition.embedding.weight"][label]
        h = np.tanh(w["condition.initial.weight"] @ vector + w["condition.initial.bias"])
        expected, left = 0.0, 1.0
        for length in range(len(line) + 1):
            score = w["length.weight"][length] @ vector + w["length.bias"][length]
            ends = 1 / (1 + math.exp(-score))
            expected += math.log(ends if length == len(line) else 1 - ends)
            left *= 1 - ends
        for step, (read, wanted) in enumerate(zip([end, *line], line, strict=False)):
            x = table[read] + vector + w["length.remaining.weight"][len(line) - step]
            h = np.tanh(
                cell["weight_ih"] @ x + cell["bias_ih"] + cell["weight_hh"] @ h + cell["bias_hh"]
            )
            log_probs = model.log_probs(torch.from_numpy(h[None]))[0].numpy()
            assert np.exp(log_probs).sum() == pytest.approx(1)
            expected += log_probs[wanted]
        batch = to_tensors(lines_of(ids_of([line]), np.array([label])).batch([0]))
        assert float(model.line_log_probs(batch).sum()) == pytest.approx(expected, abs=1e-10)


@torch.no_grad()
def test_lines_up_to_a_length_have_the_probability_of_these_lengths() -> None:
    context = context_of(*LABELLED, *LENGTH)
    model, longest = network(context), 3
    units = [number for number in range(len(UNITS) + 1) if number != UNITS.index(END) + 1]
    lines = [[*line] for size in range(longest + 1) for line in product(units, repeat=size)]
    batch = to_tensors(
        lines_of(ids_of(lines), np.ones(len(lines), np.int64)).batch(np.arange(len(lines)))
    )
    total = float(model.line_log_probs(batch).sum(1).exp().sum())
    read = reader(context)
    assert isinstance(read, LengthReader)
    assert total == pytest.approx(float(read.length_log_probs(longest).exp().sum()))
    assert total < 0.99
    assert float(read.length_log_probs(20_000).exp().sum()) == pytest.approx(1)


@pytest.mark.parametrize("options", [LENGTH, (*LABELLED, *LENGTH)], ids="+".join)
def test_a_beam_of_all_lines_has_their_scores_and_a_prompt_says_how_long_they_are(
    options: tuple[str, ...],
) -> None:
    read = reader(context_of(*options))
    for prompt in ("", "a", "b a"):
        wanted = GenerationOptions(beam=1000, samples=1000, max_units=3, allow_unknown=True)
        found = generate_texts(read, prompt, wanted)
        units = len(UNITS)  # with the unknown one, without the end
        assert len(found) == sum(units**size for size in range(4))
        of_prompt = 0.0
        if prompt:  # p(prompt): of all lines that begin with it
            begun = len(read.cut(prompt))
            for length in range(begun, 150):
                of_prompt += math.exp(_joint(read, prompt, length))
        else:
            of_prompt = 1.0
        for each in [each for each in found if "\t" not in each.text][:30]:
            text = f"{prompt} {each.text}".strip() if prompt else each.text
            ((score,),) = score_lines(read, [[" ".join(text.split())]])
            expected = score.log_probability - math.log(of_prompt)
            assert each.log_probability == pytest.approx(expected, abs=1e-6)
            assert each.ended == "length"


def _joint(read: Reader, prompt: str, length: int) -> float:
    """log p(length) + log p(prompt | length)."""
    assert isinstance(read, LengthReader)
    units = read.cut(prompt)
    ids = torch.tensor([[read.end, *units[:-1]]])
    state = read.begin_lines(torch.tensor([length]))
    found, _ = read.score(ids, torch.tensor([units]), state)
    return float(read.length_log_probs(length)[length]) + float(found[0])


def test_samples_have_the_lengths_of_the_distribution() -> None:
    read = reader(context_of(*LENGTH))
    assert isinstance(read, LengthReader)
    expected = planned(read, read.cut("a"), 4).exp()
    expected = expected / expected.sum()
    options = GenerationOptions(samples=3000, max_units=4, seed=3, allow_unknown=True)
    found = generate_texts(read, "a", options)
    counts = np.bincount([each.units - 1 for each in found], minlength=5) / len(found)
    np.testing.assert_allclose(counts, expected.numpy(), atol=0.035)
    with refuses(DataError, "length"):
        generate_texts(read, "", GenerationOptions(end="symbol"))


def test_the_class_of_a_line_is_the_most_probable_one_by_the_rule_of_bayes() -> None:
    context = context_of(*LABELLED)
    model = network(context)
    model.count_classes(np.array([0, 0, 0, 1, 2, 2]))
    ids, right, nats = ids_of(LINES), 0, 0.0
    own = np.array([0, NO_CLASS, 1, 1])
    assert model.condition is not None
    torch.testing.assert_close(
        model.condition.log_prior.exp(), torch.tensor([3, 1, 2]).double() / 6
    )
    for number, line in enumerate(LINES):
        scores = []
        for label in CLASSES:
            read = reader(context, label)
            text = " ".join(read.units[unit] for unit in line)
            ((score,),) = score_lines(read, [[text]])
            prior = float(model.condition.log_prior[CLASSES.index(label)])
            scores.append(score.log_probability + prior)
        right += int(np.argmax(scores)) == own[number]
        # Of a class that is not known, the probability of the line whatever its class.
        prior = model.condition.log_prior[own[number]]
        known = scores[own[number]] - float(prior)
        nats -= known if own[number] != NO_CLASS else float(np.logaddexp.reduce(scores))
    found, count = class_figures(model, ids, own)
    assert count == right
    assert found == pytest.approx(nats)


def test_a_label_is_needed_known_and_of_use() -> None:
    context = context_of(*LABELLED)
    with refuses(DataError, "label", "good", "none"):
        Reader(network(context), context.vocabulary, context.config.data)
    with refuses(DataError, "label", "good", "new"):
        Reader(network(context), context.vocabulary, context.config.data, "new")
    plain = context_of(BY_LINE)
    with refuses(DataError, "label"):
        Reader(network(plain), plain.vocabulary, plain.config.data, "good")


def test_units_that_were_drawn_are_read_in_the_place_of_gold_ones() -> None:
    context = context_of(BY_LINE, "encoder.locked_dropout=0", "encoder.word_dropout=0")
    model = network(context).train()
    batch = to_tensors(lines_of(ids_of(LINES)).batch(np.arange(4)))
    gold = TASK.loss(model, batch)[0]
    model.sampling = Sampling("constant", 0.0, 1)
    torch.testing.assert_close(TASK.loss(model, batch)[0], gold)
    # A model that is certain draws what it would write.
    with torch.no_grad():
        model.head.bias.zero_()
        model.head.bias[3] = 1e4
    model.sampling = Sampling("constant", 1.0, 1)
    found = TASK.loss(model, batch)[0]
    drawn = [[*[3] * (len(line) - 1), *line[-1:]] if line else [] for line in LINES]
    end = UNITS.index(END) + 1
    expected = 0.0
    for line, read in zip(LINES, drawn, strict=True):
        units = torch.tensor([[end, *([3] * len(read))]])
        states, _ = model.read_on(units, None)
        expected -= float(model.log_prob_of(states[0], torch.tensor([*line, end])).sum().detach())
    assert float(found.detach()) == pytest.approx(expected, rel=1e-6)
    model.sampling = Sampling("none", 0.0, 1, free_running=2)
    places = model.sampling.places(0, batch.tokens.mask)
    assert places is not None
    assert places.sum(1).tolist() == [2, 0, 2, 1]


def test_head_halt_of_before_is_head_end() -> None:
    for halt, end in (("true", "halt"), ("false", "symbol")):
        config = load_config(
            overrides=[BY_LINE, f"head.halt={halt}"], flags={"task": "language-model"}
        )
        assert config.head.end == end
    with refuses(ConfigError, "head.halt"):
        load_config(overrides=["head.halt=3"])
