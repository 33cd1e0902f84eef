"""A tour of the project: one sentence from a file to a loss, to a model, and back to a file.

Read it from top to bottom beside the docstring of tagkit/__init__.py, which names the module of
each stop. Every stop is reached by the functions that the commands call:

    tagkit train      load_config -> prepare -> task.loss, for every batch -> train
    tagkit predict    tagkit.load -> Predictor.predict, or annotate_file for whole files
    tagkit eval       evaluate

Nothing is put together by hand here. What happens inside the model is observed by hooks.
"""

import json
from itertools import pairwise, product
from pathlib import Path

import pytest
import torch
from torch import Tensor

import tagkit
from tagkit.config import Config, load_config
from tagkit.inference.predict.predictor import Predictor
from tagkit.inference.score.score import evaluate_split, gold_split
from tagkit.inference.stream.annotate import Annotator, AnswerOptions
from tagkit.inference.stream.stream import SerialWorker, StreamOptions, annotate_file
from tagkit.models.base.device import to_tensors
from tagkit.text.records import Sentence, TextSpan
from tagkit.training.setup.setup import Prepared, prepare

# Three columns: word, part of speech, tag. IOB2: B- begins a span, I- continues it.
CORPUS = """\
EU\tNNP\tB-ORG
rejects\tVBZ\tO
Peter\tNNP\tB-PER
Blackburn\tNNP\tI-PER

Peter\tNNP\tB-PER
Blackburn\tNNP\tI-PER
rejects\tVBZ\tO

Blackburn\tNNP\tB-ORG
sleeps\tVBZ\tO

"""
WORDS = ("EU", "rejects", "Peter", "Blackburn")
TAGS = ("B-ORG", "O", "B-PER", "I-PER")


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """The first stop, `tagkit.toml` and --set: only what differs from the defaults is named."""
    folder = tmp_path_factory.mktemp("journey")
    file = folder / "corpus.conll"
    file.write_text(CORPUS, encoding="utf-8")
    return load_config(
        overrides=[
            f"data.train_file={file}",
            f"data.dev_file={file}",
            "embeddings.word_dim=12",
            "embeddings.char_dim=5",
            "embeddings.char_hidden=4",
            "encoder.hidden=10",
            "encoder.locked_dropout=0.0",
            "encoder.word_dropout=0.0",
            "train.lr=0.05",
            "train.max_epochs=15",
            "train.average_decay=0.0",
            "train.device=cpu",
            f"output.dir={folder / 'model'}",
        ]
    )


@pytest.fixture(scope="module")
def prepared(config: Config) -> Prepared:
    """What the training loop starts from: corpus, vocabulary, ids, a model with fresh weights."""
    torch.manual_seed(config.train.seed)
    return prepare(config, torch.device("cpu"))


@pytest.fixture(scope="module")
def predictor(config: Config) -> Predictor:
    """A model that was trained, saved and loaded, as by `tagkit train` and `tagkit predict`."""
    trained = tagkit.train(config)
    losses = [epoch.loss for epoch in trained.epochs]
    assert losses[-1] < losses[0] / 10
    return tagkit.load(trained.folder, device="cpu")


def test_lines_become_a_sentence(prepared: Prepared) -> None:
    corpus = prepared.corpus
    assert corpus.scheme == "iob2"  # detected: nobody has named it
    first = corpus.train.sentences[0]
    assert first == Sentence(WORDS, TAGS, lines=range(1, 5))


def test_a_sentence_becomes_ids(prepared: Prepared) -> None:
    vocabulary = prepared.vocabulary
    # Id 0 is padding, 1 an unknown word; then words by frequency, equal ones by spelling. The word
    # table is in lower case, the characters keep theirs.
    assert vocabulary.words == ("blackburn", "peter", "rejects", "eu", "sleeps")
    assert [vocabulary.word_id(word) for word in WORDS] == [5, 4, 3, 2]
    assert vocabulary.word_id("Rome") == 1
    # The model learns IOBES: E- ends a span, S- is a span of one token.
    tags = [vocabulary.tags[number] for number in prepared.encoded.paths("tags")[0]]
    assert tags == ["S-ORG", "O", "B-PER", "E-PER"]


def test_sentences_become_a_padded_batch(prepared: Prepared) -> None:
    batch = to_tensors(prepared.encoded.batch([0, 2]))
    # Each distinct word of a batch is looked up and spelt once; `rows` says which one is where.
    words = [prepared.vocabulary.words[number - 2] for number in batch.words.word_ids]
    rows, mask = batch.tokens.rows, batch.tokens.mask
    assert [words[row] for row in rows[0]] == ["eu", "rejects", "peter", "blackburn"]
    assert [words[row] for row in rows[1, :2]] == ["blackburn", "sleeps"]
    assert mask.tolist() == [[True] * 4, [True, True, False, False]]


def test_a_batch_becomes_a_loss(prepared: Prepared) -> None:
    model, tags = prepared.model, len(prepared.vocabulary.tags)
    seen: dict[str, tuple[Tensor, Tensor]] = {}
    hooks = [
        model.get_submodule(name).register_forward_hook(
            lambda module, inputs, output, name=name: seen.update({name: (inputs[0], output)})
        )
        for name in ("embed", "head.linear")  # the latter before tags share their scores
    ]
    batch = to_tensors(prepared.encoded.batch([0]))
    loss, tokens = prepared.task.loss(model, batch)
    for hook in hooks:
        hook.remove()
    (_, vectors), (states, own) = seen["embed"], seen["head.linear"]
    emissions = own @ model.get_buffer("head.sharing")

    # (batch, time, features): a word's vector, the states of its characters in two directions, and
    # its affixes.
    assert vectors.shape == (1, 4, 12 + 2 * 4 + 50)
    # (batch, time, hidden): what the encoder gives the head, both directions side by side.
    assert states.shape == (1, 4, 2 * 10)
    # (batch, time, tags): unnormalised scores.
    assert emissions.shape == (1, 4, tags)

    # The loss is -log p(tags | words): here by enumerating all paths of tags, in nats.
    crf = dict(model.get_submodule("head.crf").named_parameters())

    def score(path: tuple[int, ...]) -> Tensor:
        steps = sum(crf["transitions"][a, b] for a, b in pairwise(path))
        ends = crf["start_transitions"][path[0]] + crf["end_transitions"][path[-1]]
        return steps + ends + emissions[0, torch.arange(4), torch.tensor(path)].sum()

    paths = list(product(range(tags), repeat=4))
    gold = tuple(prepared.encoded.paths("tags")[0])
    expected = torch.stack([score(path) for path in paths]).logsumexp(0) - score(gold)
    assert int(tokens) == 4
    assert loss.item() == pytest.approx(expected.item(), rel=1e-4)


def test_words_become_tags_and_spans(predictor: Predictor) -> None:
    text = "EU rejects Peter Blackburn"
    answer = predictor.predict(text, confidence=True)
    # Written in IOB2 again, the scheme of the corpus.
    assert tuple(token.tag for token in answer.tokens) == TAGS
    organisation, person = answer.spans
    assert (organisation.text, organisation.label) == ("EU", "ORG")
    assert person == TextSpan("Peter Blackburn", 11, 26, "PER", person.probability)
    assert text[person.start : person.end] == person.text
    # Of the exact span with this label: at most the probability of any of its tags.
    # Of tokens that are as certain as the span the last digit may differ.
    assert 0 < person.probability <= min(t.probability for t in answer.tokens[2:]) + 1e-12


def test_predictions_become_lines_again(predictor: Predictor, config: Config) -> None:
    annotator = Annotator(predictor, AnswerOptions("columns"))
    reading = StreamOptions("auto", "utf-8", 512, lambda _: None, lambda *_: None)
    worker, path = SerialWorker(annotator), config.data.train_file
    windows = annotate_file(worker, predictor.config, annotator.style, path, reading)
    # The columns of the input stay, and the predicted tag is one more.
    lines = "".join(window.text for window in windows).splitlines()
    assert lines[0] == "EU\tNNP\tB-ORG\tB-ORG"
    assert lines == [f"{line}\t{line.split()[-1]}" if line else "" for line in CORPUS.splitlines()]


def test_predictions_are_scored(predictor: Predictor, config: Config) -> None:
    split = gold_split(predictor, config.data.train_file, config.data)
    report = evaluate_split(predictor, split, batch_size=32)
    assert report.headline == 1.0
    # Training, which scored this file after each epoch, has found the same.
    lines = (Path(config.output.dir) / "history.jsonl").read_text("utf-8").splitlines()
    assert max(json.loads(line)["dev"] for line in lines) == report.headline


def test_the_docstring_names_files_that_exist() -> None:
    package = Path(tagkit.__file__).parent
    assert tagkit.__doc__ is not None
    named = [word.strip(",") for word in tagkit.__doc__.split() if ".py" in word]
    assert len(named) > 8
    for name in named:
        if not name.startswith("(tests/"):
            assert (package / name).is_file(), name
