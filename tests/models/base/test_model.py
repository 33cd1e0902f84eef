"""Embedding, encoder and head as one."""

from dataclasses import replace
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
from small_runs import TASKS, of_task
from torch import Tensor, nn

from tagkit.config import Config, EmbeddingsConfig, allowed, load_config, with_options
from tagkit.errors import ConfigError, Interrupted
from tagkit.features.batching.batch import Batch
from tagkit.features.batching.encoding import Encoded, encode
from tagkit.features.batching.targets import tag_target
from tagkit.features.vocabulary import Vocabulary
from tagkit.inference.predict.predictor import Predictor, load
from tagkit.models.base.device import to_tensors
from tagkit.models.base.model import Model
from tagkit.models.base.task_records import TrainingData
from tagkit.models.task_table import task_of
from tagkit.nn.heads import HEADS, POOLINGS
from tagkit.nn.heads.viterbi import ViterbiHead, estimate_bigrams
from tagkit.nn.layers.encoder import LAYERS
from tagkit.text.records import Sentence
from tagkit.training.optim.optimizer import autocast
from tagkit.training.setup.setup import Prepared, prepare
from tagkit.training.trainer import train

TAGS = ("O", "B-X", "E-X", "S-X", "I-X", "S-Y")
VOCABULARY = Vocabulary(
    words=tuple("abcdefg"), vector_words=("a", "zz"), only_vectors=False, chars=tuple("abcdefgxyz"),
    affixes=("=x", "z-", "-z"), tags=TAGS, classes=(), features=(("N", "V"),),
    lowercase=True, normalize_digits=True,
)  # fmt: skip


def ten_sentences() -> list[Sentence]:
    texts = ["a b c", "b", "c d", "e f g a", "zz b", "a", "g gfedcba", "d e f", "x y", "b c"]
    tags = ["O B-X E-X", "S-Y", "O S-X", "B-X I-X E-X O", "S-Y O", "S-X", "O O", "O B-X E-X",
            "S-X O", "O O"]  # fmt: skip
    return [
        Sentence(tuple(text.split()), tuple(tag.split()), (("N",) * len(text.split()),))
        for text, tag in zip(texts, tags, strict=True)
    ]


def encoded() -> Encoded:
    targets = {"tags": tag_target(ten_sentences(), VOCABULARY)}
    return encode(ten_sentences(), VOCABULARY, targets, chars=True)


def build(config: Config, vocabulary: Vocabulary, data: TrainingData | None = None) -> Model:
    if config.embeddings.affix_dim == "auto":  # as training resolves it
        config = with_options(config, {"embeddings.affix_dim": 5})
    return task_of(config).build(config, vocabulary, data)


def tagger(head: str = "crf", *overrides: str) -> Model:
    torch.manual_seed(1)
    config = load_config(
        overrides=["data.scheme=iob2", f"head.kind={head}", "encoder.hidden=12",
                   "encoder.locked_dropout=0", "encoder.word_dropout=0", "embeddings.word_dim=8",
                   "embeddings.char_hidden=6", *overrides]
    )  # fmt: skip
    model = build(config, VOCABULARY, TrainingData(encoded(), "train"))
    vectors = torch.cat([torch.zeros(1, 8), torch.randn(2, 8)])
    model.embed.words.place(vectors, torch.arange(9) == 2)
    return model


@pytest.mark.parametrize("head", mostly_slow(HEADS, always=1))
def test_a_tagger_overfits_ten_sentences(head: str) -> None:
    model, batch = tagger(head), to_tensors(encoded().batch(range(10)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(120):
        total, count = model(batch)
        (total / count).backward()
        optimizer.step()
        optimizer.zero_grad()
    assert float(total.detach() / count) < 0.02
    assert torch.equal(tiny.output(model.eval(), batch).tag_ids, batch.target("tags"))


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("cell", mostly_slow(LAYERS, always=3))
def test_every_trained_parameter_gets_a_gradient(head: str, cell: str) -> None:
    chars = cell if cell in allowed(EmbeddingsConfig, "char_cell") else "lstm"
    cells = (f"encoder.cell={cell}", f"embeddings.char_cell={chars}")
    # Distances that a sentence has, so that a connection over several steps is used.
    model = tagger(head, *cells, "encoder.layers=2", "encoder.skip=2", "encoder.heads=2")
    total, _ = model(to_tensors(encoded().batch(range(10))))
    total.backward()
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None, name
            assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize(
    ("task", "connection"),
    mostly_slow(
        [(task, connection) for task in TASKS for connection in ("highway", "residual")], always=1
    ),
)
def test_a_deep_model_of_every_task_learns_and_answers_the_same_when_it_is_loaded(
    tmp_path: Path, task: str, connection: str
) -> None:
    deep = [f"encoder.connection={connection}", "encoder.layers=3", "train.max_epochs=1"]
    output_layers = ["head.hidden=[6]" if task == "classify" else "encoder.output_layers=[9, 7]"]
    pooling = ["head.pooling=last"] if task in ("classify", "both") else []
    config = of_task(tmp_path, task, *deep, *output_layers, *pooling)
    torch.manual_seed(1)
    run = prepare(config, CPU)
    batch = to_tensors(run.encoded.batch(np.arange(7)))
    total, _ = run.model(batch)
    total.backward()
    for name, parameter in run.model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name
    trained = train(config).predictor
    loaded = load(tmp_path / "model" / "best")
    sentences = [Sentence(tuple(text.split())) for text in ("Ada visits Oslo .", "good film", "a")]
    together = loaded.annotate(sentences, batch_size=3, confidence=False)
    assert together == trained.annotate(sentences, batch_size=3, confidence=False)
    for sentence, found in zip(sentences, together, strict=True):
        (alone,) = loaded.annotate([sentence], batch_size=1, confidence=False)
        assert (found.tags, found.labels) == (alone.tags, alone.labels)


def test_a_sentence_gets_the_same_emissions_alone_and_in_a_batch() -> None:
    model, corpus = tagger().eval(), encoded()
    together = model.head.linear(model.states(to_tensors(corpus.batch(range(10)))))
    for row, sentence in enumerate(ten_sentences()):
        alone = model.head.linear(model.states(to_tensors(corpus.batch([row]))))
        torch.testing.assert_close(alone[0], together[row, : len(sentence)])


@pytest.mark.parametrize("scheme", ["iob2", "iobes"])
@pytest.mark.parametrize("head", HEADS)
def test_a_sentence_gets_the_same_spans_and_probabilities_alone_and_in_a_batch(
    head: str, scheme: str
) -> None:
    settings = [f"head.kind={head}", f"data.train_scheme={scheme}", "data.scheme=iob2"]
    vocabulary = VOCABULARY if scheme == "iobes" else replace(VOCABULARY, tags=("O", "B-X", "I-X"))
    config = load_config(overrides=[*settings, "embeddings.word_dim=8", "encoder.hidden=12"])
    torch.manual_seed(3)
    model = build(config, vocabulary)
    with torch.no_grad():
        model.head.linear.weight.mul_(6)
        model.head.linear.bias[vocabulary.tags.index("B-X")] = 1  # so that there are spans
    predictor = Predictor(model, vocabulary, config, torch.device("cpu"))
    together = predictor.annotate(ten_sentences(), batch_size=10, confidence=True)
    spans = 0
    for sentence, found in zip(ten_sentences(), together, strict=True):
        (alone,) = predictor.annotate([sentence], batch_size=1, confidence=True)
        assert found.words == sentence.words
        assert found.tags == alone.tags
        assert found.probabilities == pytest.approx(alone.probabilities, abs=1e-5)
        for ours, theirs in zip(found.spans, alone.spans, strict=True):
            assert (ours.start, ours.end, ours.label) == (theirs.start, theirs.end, theirs.label)
            assert ours.probability == pytest.approx(theirs.probability, abs=1e-5)
            spans += 1
    assert spans > 3


def test_the_same_weights_in_a_fresh_model_give_the_same_numbers() -> None:
    batch = to_tensors(encoded().batch(range(10)))
    for head in HEADS:
        model = tagger(head).eval()
        torch.manual_seed(99)
        config = load_config(
            overrides=["data.scheme=iob2", f"head.kind={head}", "encoder.hidden=12",
                       "embeddings.word_dim=8", "embeddings.char_hidden=6"]
        )  # fmt: skip
        fresh = build(config, VOCABULARY).eval()
        # As a bundle is loaded: vectors have no memory of their own before they are placed.
        fresh.load_state_dict(model.state_dict(), assign=True)
        assert torch.equal(fresh.states(batch), model.states(batch))
        ours, theirs = (tiny.output(m, batch, confidence=True) for m in (model, fresh))
        assert torch.equal(ours.tag_ids, theirs.tag_ids)
        assert torch.equal(ours.confidence.probs, theirs.confidence.probs)


def test_every_option_of_the_encoder_and_the_characters_reaches_its_place() -> None:
    config = load_config(
        overrides=["encoder.cell=gru", "encoder.hidden=5", "encoder.layers=3", "encoder.merge=mean",
                   "encoder.dropout=0.1", "encoder.locked_dropout=0.2", "encoder.word_dropout=0.3",
                   "encoder.connection=highway", "encoder.output_layers=[7, 3]",
                   "embeddings.char_cell=elman", "embeddings.char_dim=4",
                   "embeddings.char_hidden=6", "embeddings.word_dim=9", "embeddings.affix_dim=7",
                   "data.scheme=iob2"]
    )  # fmt: skip
    model = build(config, VOCABULARY)
    encoder, chars = model.encoder, model.embed.chars
    drops = (
        encoder.dropout.p,
        encoder.locked_dropout.probability,
        encoder.word_dropout.probability,
    )
    assert drops == (0.1, 0.2, 0.3)
    # Of a configuration that is not resolved, as training resolves it for labels.
    config = with_options(
        config, {"encoder.locked_dropout": "auto", "encoder.word_dropout": "auto"}
    )
    unresolved = build(config, VOCABULARY).encoder
    assert unresolved.locked_dropout.probability == 0.4
    assert unresolved.word_dropout.probability == 0.05
    assert len(encoder.layers) == 3
    for layer in encoder.layers:
        assert isinstance(layer.forwards, nn.GRU)
        assert (layer.outputs, layer.merge) == (5, "mean")
    assert [connection.gate.in_features for connection in encoder.connections] == [5, 5]
    assert [layer.out_features for layer in encoder.output_layers] == [7, 3]
    assert (encoder.outputs, model.head.linear.in_features) == (3, 3)
    assert chars is not None
    assert isinstance(chars.layer.forwards, nn.RNN)
    assert (chars.embedding.embedding_dim, chars.outputs) == (4, 12)
    assert model.embed.outputs == 9 + 12 + 7 + 20
    plain = load_config(
        overrides=[
            "encoder.bidirectional=false",
            "embeddings.char_cell=none",
            "data.scheme=iob2",
            "embeddings.affix_dim=5",
        ]
    )
    model = build(plain, VOCABULARY)
    assert model.encoder.layers[0].backwards is None
    assert model.embed.chars is None


def test_options_of_initial_weights_reach_the_cell_of_the_encoder_alone() -> None:
    given = {"encoder.init": "identity", "encoder.spectral_radius": 0.5, "encoder.chrono": 9}
    overrides = [f"{name}={value}" for name, value in given.items()]
    model = build(load_config(overrides=[*overrides, "data.scheme=iob2"]), VOCABULARY)
    gate = model.encoder.layers[0].forwards.weight_hh_l0[:200]
    assert torch.equal(gate, 0.5 * torch.eye(200))
    assert model.embed.chars is not None
    chars = model.embed.chars.layer.forwards
    assert not torch.equal(chars.weight_hh_l0[:50], chars.weight_hh_l0[:50].diag().diag())
    assert set(chars.bias_ih_l0.tolist()) == {0, 1}


def test_the_strength_weighs_what_the_regulariser_adds_to_gradients_and_not_to_the_loss() -> None:
    found = {}
    batch = to_tensors(encoded().batch(np.arange(10)))
    for strength in (0, 1, 3):
        model = tagger("crf", "encoder.layers=2", f"train.flow_strength={strength}").train()
        total, _ = model(batch)
        total.backward()
        gradients = {name: one.grad for name, one in model.named_parameters()}
        found[strength] = total.detach(), gradients
    assert found[0][0] == found[1][0] == found[3][0]
    for name, before in found[0][1].items():
        once, thrice = found[1][1][name], found[3][1][name]
        if name.startswith("encoder."):
            assert not torch.allclose(once, before), name
            torch.testing.assert_close(thrice - before, 3 * (once - before), rtol=1e-3, atol=1e-4)
        elif before is not None:
            assert torch.equal(once, before), name


def test_options_of_dropout_reach_weights_between_states_and_words() -> None:
    given = ["encoder.weight_drop=0.5", "embeddings.dropout=0.2", "encoder.layers=2"]
    model = build(load_config(overrides=[*given, "data.scheme=iob2"]), VOCABULARY)
    assert [layer.weight_drop for layer in model.encoder.layers] == [0.5, 0.5]
    assert model.embed.chars is not None
    assert model.embed.chars.layer.weight_drop == 0
    assert model.embed.words.dropout == 0.2
    ids = torch.tensor([2, 3, 2, 4, 4])
    torch.manual_seed(2)
    drawn = [model.embed.words(ids, torch.zeros_like(ids)).abs().sum(1) == 0 for _ in range(50)]
    for zeros in drawn:
        assert zeros[0] == zeros[2]
        assert zeros[3] == zeros[4]
    assert 0.1 < torch.stack(drawn).float().mean() < 0.3
    assert bool(model.eval().embed.words(ids, torch.zeros_like(ids)).abs().sum(1).all())


@pytest.mark.parametrize(
    ("head", "constrain", "decoding", "training"),
    [
        ("crf", "auto", True, False),
        ("viterbi", "auto", True, False),
        ("softmax", "auto", False, False),
        ("softmax", "decode", True, False),
        ("crf", "none", False, False),
        ("crf", "decode", True, False),
        ("crf", "train", True, True),
    ],
)
def test_steps_are_forbidden_where_the_options_say(
    head: str, constrain: str, decoding: bool, training: bool
) -> None:
    model = tagger(head, f"head.constrain={constrain}")
    assert bool(model.head.illegal_transitions.isinf().any()) == decoding
    assert getattr(model.head, "constrain_training", False) == training


def test_the_viterbi_head_gets_the_bigrams_of_the_training_tags() -> None:
    paths = encoded().paths("tags")
    expected, head = estimate_bigrams(paths, len(TAGS)), tagger("viterbi").head
    assert isinstance(head, ViterbiHead)
    assert torch.equal(head.bigram_transitions, expected.transitions)
    assert torch.equal(head.bigram_start, expected.start)
    assert torch.equal(head.bigram_end, expected.end)


def test_a_batch_without_tags_has_no_loss() -> None:
    bare = [Sentence(s.words, None, s.features) for s in ten_sentences()]
    batch = to_tensors(encode(bare, VOCABULARY, {}, chars=True).batch([0]))
    with refuses(ValueError, "batch"):
        tagger()(batch)


@pytest.mark.cuda
@pytest.mark.parametrize("head", HEADS)
def test_a_gpu_gives_the_loss_and_the_paths_of_a_cpu(head: str) -> None:
    model, arrays = tagger(head).eval(), encoded().batch(range(10))
    batch = to_tensors(arrays)
    total, _ = model(batch)
    paths = tiny.output(model, batch).tag_ids
    device = torch.device("cuda")
    model, batch = model.to(device), to_tensors(arrays, device)
    torch.testing.assert_close(model(batch)[0].cpu(), total, rtol=1e-4, atol=1e-4)
    assert torch.equal(tiny.output(model, batch).tag_ids.cpu(), paths)


CPU = torch.device("cpu")


@pytest.mark.parametrize("task", list(TASKS))
def test_final_states_are_dropped_in_training_where_a_loss_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    pooling = ["head.pooling=last"] if task in ("classify", "both") else []
    config = of_task(tmp_path, task, "encoder.locked_dropout=0.5", *pooling)
    torch.manual_seed(1)
    run = prepare(config, CPU)
    model, batch = run.model.train(), to_tensors(run.encoded.batch(np.arange(7)))
    seen: list[tuple[Tensor, Tensor]] = []
    loss_of = model.loss_of

    def watched(states: Tensor, final: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        seen.append((states, final))
        return loss_of(states, final, batch)

    monkeypatch.setattr(model, "loss_of", watched)
    model(batch)
    ((states, final),) = seen
    # The same features of all tokens of a sentence, and of its final state.
    dropped = (states == 0).all(1)
    assert bool(dropped.any())
    assert not dropped.all()
    assert model.reads_final == torch.equal(final == 0, dropped)
    moved = loss_of(states, final + 1, batch)[0] - loss_of(states, final, batch)[0]
    assert model.reads_final == bool(moved.abs() > 1e-6)


@pytest.mark.parametrize("task", list(TASKS))
def test_in_mixed_precision_the_heads_work_in_float32(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    torch.manual_seed(1)
    run = prepare(of_task(tmp_path, task), CPU)
    model, batch = run.model, to_tensors(run.encoded.batch(np.arange(7)))
    seen: list[str] = []

    def watch(head: nn.Module, method: str) -> None:
        whole = getattr(head, method)

        def watched(*given: Tensor | None) -> tuple[Tensor, Tensor]:
            assert not torch.is_autocast_enabled("cpu")
            tensors = [each for each in given if each is not None]  # weights of sentences
            assert {x.dtype for x in tensors if x.is_floating_point()} == {torch.float32}
            seen.append(type(head).__name__)
            result: tuple[Tensor, Tensor] = whole(*given)
            assert result[0].dtype == torch.float32
            return result

        monkeypatch.setattr(head, method, watched)

    for name, method in (("head", "forward"), ("class_head", "loss")):
        if hasattr(model, name):
            watch(getattr(model, name), method)
    heads = list(getattr(model, "heads", ()))  # of several columns
    for head in heads:
        watch(head, "forward")
    output = model.encoder.output

    # Also where the CPU has no such layer.
    def in_bf16(*given: Tensor, final_is_read: bool) -> tuple[Tensor, Tensor]:
        states, final = output(*given, final_is_read=final_is_read)
        return states.bfloat16(), final.bfloat16()

    monkeypatch.setattr(model.encoder, "output", in_bf16)
    with autocast(CPU, "bf16"):
        assert torch.is_autocast_enabled("cpu")
        total, _ = model(batch)
    assert total.dtype == torch.float32
    assert len(seen) == (len(heads) or (2 if task == "both" else 1))


CPU_MEMBER = torch.device("cpu")
NO_DROPOUT = (
    "encoder.locked_dropout=0", "encoder.word_dropout=0", "embeddings.dropout=0",
    "embeddings.min_count=2",
)  # fmt: skip
SENTENCES = [
    Sentence(tuple(text.split()))
    for text in ("Ada visits Oslo .", "film", "Ben likes Cape Town and unknown wörds .")
]


def prepared(folder: Path, task: str, *options: str, members: int = 3) -> Prepared:
    size = f"encoder.ensemble_size={members}"
    torch.manual_seed(1)
    return prepare(of_task(folder, task, size, *NO_DROPOUT, *options), CPU_MEMBER)


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
    predictor = Predictor(run.model, run.vocabulary, run.config, CPU_MEMBER, keep_words=True)
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
    run = prepare(of_task(tmp_path, "tag", f"train.init_from={tmp_path / 'base'}"), CPU_MEMBER)
    assert run.config.encoder.ensemble_size == 2
    weights = dict(run.model.named_parameters())
    for name, expected in base.named_parameters():
        assert torch.equal(weights[name], expected), name
    with refuses(ConfigError, "encoder.ensemble_size", "3"):
        prepare(of_task(tmp_path, "tag", f"train.init_from={tmp_path / 'base'}",
                        "encoder.ensemble_size=3"), CPU_MEMBER)  # fmt: skip


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
