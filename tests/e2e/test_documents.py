"""A tagger whose encoder reads documents: training, prediction, streaming, resuming."""

from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from marks import mostly_slow
from program import Program
from runs import StopAt, digests
from says import Says, refuses
from small_runs import COLUMNS, QUIET
from steps import computed

from tagkit.cli.shown.reports import info_lines
from tagkit.config import Config, load_config, with_options
from tagkit.corpus.files import read
from tagkit.corpus.splits.splits import read_split
from tagkit.errors import ConfigError, Interrupted, TrainingError
from tagkit.features.batching.batch import Batch
from tagkit.inference.predict.predictor import Predictor, load
from tagkit.models.base.device import to_tensors
from tagkit.models.base.model import Model
from tagkit.models.bundle.bundle import Bundle
from tagkit.text.documents import parts_of
from tagkit.text.records import Document, Sentence, new_document
from tagkit.training.loop.micro_batches import MicroBatches
from tagkit.training.loop.state import RunState
from tagkit.training.processes.distributed import processes_of
from tagkit.training.setup.setup import Prepared, prepare
from tagkit.training.trainer import train

CPU = torch.device("cpu")
SIZES = [3, 1, 7, 2, 5, 4, 1, 6]  # sentences of the documents of a file, again and again


def with_marks(path: Path) -> None:
    """Put marks of documents into a column file."""
    sentences = path.read_text("utf-8").strip("\n").split("\n\n")
    found, sizes = "", [*SIZES, *SIZES, *SIZES]
    while sentences:
        size = sizes.pop(0)
        found += "-DOCSTART-\tO\n\n" + "".join(f"{s}\n\n" for s in sentences[:size])
        del sentences[:size]
    path.write_text(found, "utf-8")


def settings(folder: Path, *overrides: str) -> Config:
    """A run of the tiny corpus, whose files mark documents."""
    tiny.corpus(folder)
    for name in ("train", "dev", "test"):
        with_marks(folder / f"{name}.conll")
    return tiny.small(folder, "encoder.context=document", "train.max_epochs=2", *overrides)


def predictor_of(run: Prepared) -> Predictor:
    return Predictor(run.model, run.vocabulary, run.config, CPU)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    torch.manual_seed(1)
    return prepare(settings(tmp_path_factory.mktemp("documents"), *QUIET), CPU)


def documents_of(sentences: tuple[Sentence, ...]) -> list[list[Sentence]]:
    return [[*group] for _, group in groupby(sentences, lambda sentence: sentence.document)]


def cached_states(predictor: Predictor, sentences: list[Sentence]) -> list[torch.Tensor]:
    """The states of each sentence in prediction, in batches."""
    found: dict[int, torch.Tensor] = {}
    with torch.inference_mode():
        for indices, batch in predictor._batches.read(sentences, 128):
            states, _ = predictor.model.read(batch.tokens, batch.words)
            for index, row, mask in zip(indices, states, batch.tokens.mask, strict=True):
                found[int(index)] = row[mask]
    return [found[index] for index in range(len(sentences))]


@pytest.mark.parametrize(
    ("cell", "layers"), mostly_slow([("lstm", 2), ("gru", 1), ("transformer", 1)], always=1)
)
def test_states_are_those_of_the_document_as_one_sentence_cached_and_in_training(
    prepared: Prepared, cell: str, layers: int
) -> None:
    options = {"encoder.cell": cell, "encoder.layers": layers}
    config = with_options(prepared.config, options)
    torch.manual_seed(3)
    model = prepared.task.build(config, prepared.vocabulary, None).eval()
    run = replace(prepared, config=config, model=model)
    sentences = [*run.corpus.dev.sentences]
    found = cached_states(predictor_of(run), sentences)
    plain = replace(run, config=with_options(config, {"encoder.context": "sentence"}))
    joined = [
        Sentence(tuple(word for sentence in document for word in sentence.words))
        for document in documents_of(run.corpus.dev.sentences)
    ]
    wanted = torch.cat(cached_states(predictor_of(plain), joined))
    torch.testing.assert_close(torch.cat(found), wanted, rtol=0, atol=1e-6)
    # The words are those of train, so that the network of training reads the same.
    everything = np.arange(len(run.encoded))
    train_sentences = [*run.corpus.train.sentences]
    batch = to_tensors(run.encoded.batch(everything))
    with torch.no_grad():
        states = model.states(batch)[batch.tokens.mask]
    wanted = torch.cat(cached_states(predictor_of(run), train_sentences))
    torch.testing.assert_close(states, wanted, rtol=0, atol=1e-6)
    # A document alone has the states that it has in a batch.
    first = documents_of(run.corpus.dev.sentences)[0]
    alone = torch.cat(cached_states(predictor_of(run), first))
    torch.testing.assert_close(alone, torch.cat(found)[: len(alone)], rtol=0, atol=1e-6)
    # And they are others than those of its sentences alone.
    apart = torch.cat(cached_states(predictor_of(plain), first))
    assert (alone - apart).abs().max() > 1e-3


def test_documents_of_one_sentence_give_the_results_of_sentences_bit_for_bit(
    prepared: Prepared,
) -> None:
    sentences = [replace(s, document=new_document()) for s in prepared.corpus.dev.sentences]
    plain = replace(prepared, config=with_options(prepared.config, {"encoder.context": "sentence"}))
    found = cached_states(predictor_of(prepared), sentences)
    for one, other in zip(found, cached_states(predictor_of(plain), sentences), strict=True):
        assert torch.equal(one, other)


def test_gradients_of_pieces_and_of_shares_are_those_of_the_whole_batch(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = RunState(prepared, processes_of(CPU), print)
    documents = prepared.encoded.documents
    assert documents is not None
    batch = np.flatnonzero((documents > 4) & (documents < 9))
    wanted = computed(state, batch)
    whole, sizes = Model.forward, []

    def limited(model: Model, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        sizes.append(len(batch.tokens.mask))
        if sizes[-1] > 8:
            raise MemoryError
        return whole(model, batch)

    notes: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(Model, "forward", limited)
        state.micro_batches.note = notes.append
        found = computed(state, batch)
    assert notes == [
        "too little memory for 4 documents at a time; from now on steps are taken in pieces of 2",
        "too little memory for 2 documents at a time; from now on steps are taken in pieces of 1",
    ]
    assert sizes == [14, 5, 9, 4, 1, 6, 3]  # whole documents
    assert found.loss == pytest.approx(wanted.loss)
    for name, gradient in wanted.gradients.items():
        torch.testing.assert_close(found.gradients[name], gradient, rtol=1e-4, atol=1e-6)
    read_ = []
    for rank in range(3):
        processes = processes_of(CPU)
        processes.rank, processes.count = rank, 3
        for piece in MicroBatches(prepared, processes, print).split(batch):
            for document in {*documents[piece]}:
                assert {*np.flatnonzero(documents == document)} <= {*piece}
            read_ += piece.tolist()
    assert sorted(read_) == sorted(batch)


def test_one_document_that_does_not_fit_into_memory_names_the_option(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(model: Model, batch: Batch) -> None:
        raise MemoryError

    monkeypatch.setattr(Model, "forward", full)
    state = RunState(prepared, processes_of(CPU), lambda _: None)
    with pytest.raises(TrainingError) as refused:
        computed(state, np.arange(4))
    assert str(refused.value) == (
        "too little memory for 1 document at a time; set encoder.context = 'sentence', or lower "
        "the sizes of the model"
    )


def test_info_says_that_a_model_reads_documents(prepared: Prepared) -> None:
    def lines(config: Config) -> list[str]:
        return [*info_lines("m", Bundle(prepared.vocabulary, config, {}, prepared.model))]

    said = "context     documents, up to 2,000 words as one sequence"
    assert said in lines(prepared.config)
    plain = with_options(prepared.config, {"encoder.context": "sentence"})
    assert lines(plain) == [line for line in lines(prepared.config) if line != said]
    share = "consistency scores of a name go 0.5 of the way to their mean in its document"
    assert share in lines(plain)
    apart = with_options(plain, {"head.label_consistency": 0})
    assert lines(apart) == [line for line in lines(plain) if line != share]


def test_the_sentences_of_a_text_are_read_as_one_document(prepared: Prepared) -> None:
    predictor = predictor_of(prepared)
    text = "Ada visits Oslo .\nBen leaves New York .\nEve likes Rome ."
    whole = predictor.predict(text, confidence=True)
    lines = predictor.predict(text.split("\n"), confidence=True)

    def probs(found: object) -> np.ndarray:
        return np.array([token.probability for token in found])

    apart = np.concatenate([probs(line.tokens) for line in lines])
    assert len(whole.sentences) == 3
    assert np.abs(probs(whole.tokens) - apart).max() > 1e-4
    document = new_document()
    words = [
        Sentence(tuple(token.text for token in sentence), document=document)
        for sentence in whole.sentences
    ]
    for answers in (predictor.predict(words, confidence=True),
                    [*predictor.stream(words, confidence=True, window_words=1)],
                    [predictor.predict(Document(text), confidence=True)]):  # fmt: skip
        found = np.concatenate([probs(answer.tokens) for answer in answers])
        assert found == pytest.approx(probs(whole.tokens), abs=1e-6)
    # Each by itself in the parts of a limit.
    short = replace(prepared, config=with_options(prepared.config, {"encoder.context_words": 3}))
    in_parts = probs(predictor_of(short).predict(text, confidence=True).tokens)
    assert in_parts == pytest.approx(apart, abs=1e-6)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    train(settings(folder, "encoder.context_words=60"))
    return folder


@pytest.mark.slow
def test_commands_cut_no_document_and_say_where_one_is_read_in_parts(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A file is predicted in many windows as in one; eval scores the same."""
    program, model = Program(monkeypatch, capfdbinary), trained / "model"
    file = trained / "many.conll"
    file.write_text((trained / "train.conll").read_text("utf-8") * 3, "utf-8")
    predictor = load(model)
    assert predictor.config.encoder.document_words == 60
    sentences = [*read(file)]
    wanted = predictor.annotate(sentences, batch_size=128, confidence=False)
    assert max(np.bincount(parts_of(sentences, 60))) > 1
    for window in (1, 40, 10**6):
        with monkeypatch.context() as patch:
            patch.setattr("tagkit.inference.stream.stream.WINDOW_WORDS", window)
            ended = program("predict", model, file)
        assert ended.code == 0
        tags = [line.split()[-1] for line in ended.out.split("\n") if line[:1] not in ("", "-")]
        assert tags == [tag for answer in wanted for tag in answer.tags]
        assert ended.out.count("-DOCSTART-") == file.read_text("utf-8").count("-DOCSTART-")
    assert "a document has more than" not in ended.err
    plain = trained / "plain.conll"
    plain.write_text(file.read_text("utf-8").replace("-DOCSTART-\tO\n\n", ""), "utf-8")
    assert Says("plain.conll", "60", "documents").within(
        " ".join(program("predict", model, plain).err.split())
    )


@pytest.mark.slow
def test_commands_bring_the_mentions_of_a_name_together_in_every_window_and_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    program, model = Program(monkeypatch, capfdbinary), tmp_path / "model"
    tiny.corpus(tmp_path)
    for name in ("train", "dev", "test"):
        with_marks(tmp_path / f"{name}.conll")
    # One epoch of the network alone: it is unsure of names, so that their other mentions count.
    weak = "train.max_epochs=1", "train.lr=0.015", "head.feature_crf=0"
    trained = train(tiny.small(tmp_path, *weak))
    assert trained.predictor.config.label_consistency == 0.5
    file = tmp_path / "many.conll"
    file.write_text((tmp_path / "train.conll").read_text("utf-8") * 3, "utf-8")
    predictor = load(model)
    sentences = [*read(file)]
    apart = with_options(predictor.config, {"head.label_consistency": 0.0})
    plain = Predictor(predictor.model, predictor.vocabulary, apart, CPU)
    wanted, without = (
        [
            tag
            for one in each.annotate(sentences, batch_size=128, confidence=False)
            for tag in one.tags
        ]
        for each in (predictor, plain)
    )
    assert wanted != without
    for window, workers in ((1, 1), (40, 1), (40, 2), (10**6, 1)):
        with monkeypatch.context() as patch:
            patch.setattr("tagkit.inference.stream.stream.WINDOW_WORDS", window)
            ended = program("predict", model, file, "--workers", workers)
        assert ended.code == 0
        lines = ended.out.split("\n")
        assert [line.split()[-1] for line in lines if line[:1] not in ("", "-")] == wanted
        assert "a document has more than" not in ended.err
    # Scored as training scored it, and without marks as without the option.
    data, needs = predictor.config.data, predictor.task.needs
    dev = read_split(str(tmp_path / "dev.conll"), data, needs, data.scheme, of_model=True)
    assert predictor.score(dev).headline == trained.dev.headline
    unmarked = tmp_path / "unmarked.conll"
    unmarked.write_text(file.read_text("utf-8").replace("-DOCSTART-\tO\n\n", ""), "utf-8")
    lines = program("predict", model, unmarked).out.split("\n")
    assert [line.split()[-1] for line in lines if line] == without


def to_the_end(folder: Path, after: int) -> None:
    """A run that is stopped after so many steps each time."""
    while True:
        listener = StopAt(after)
        config = tiny.small(folder, "encoder.context=document", "train.max_epochs=2",
                            "encoder.context_words=60", "train.checkpoint_every=2")  # fmt: skip
        try:
            train(config, listener, resume=True, stop=listener.stop)
            return
        except Interrupted:
            pass


@pytest.mark.slow
def test_a_run_that_is_stopped_ends_with_the_weights_of_one_that_was_not(
    trained: Path, tmp_path: Path
) -> None:
    settings(tmp_path)
    to_the_end(tmp_path, after=3)
    assert digests(tmp_path) == digests(trained)


@pytest.mark.slow
@pytest.mark.parametrize("more", [["head.kind=feedback"], ["head.kind=softmax"],
                                  ["train.bptt=4", "train.flow_strength=0.1"],
                                  ["encoder.cell=sru", "encoder.layers=2"]])  # fmt: skip
def test_every_head_learns_from_documents(tmp_path: Path, more: list[str]) -> None:
    found = train(settings(tmp_path, "train.max_epochs=8", *more))
    assert found.dev.headline > 0.9


@pytest.mark.slow
def test_several_columns_learn_from_documents(tmp_path: Path) -> None:
    files = tiny.treebank(tmp_path)
    for file in files.values():
        sentences = Path(file).read_text("utf-8").split("\n\n")
        marked = [f"# newdoc\n{s}" if n % 4 == 0 and s.strip() else s
                  for n, s in enumerate(sentences)]  # fmt: skip
        Path(file).write_text("\n\n".join(marked), "utf-8")
    config = load_config(
        overrides=["encoder.context=document", COLUMNS, "embeddings.word_dim=16",
                   "encoder.hidden=16", "train.max_epochs=3", "train.batch_size=8",
                   "train.device=cpu", f"output.dir={tmp_path / 'model'}"],
        flags=files,
    )  # fmt: skip
    found = train(config)
    predictor, sentences = found.predictor, [*found.predictor.task.read(config).dev.sentences]
    alone = [predictor.annotate(document, batch_size=9, confidence=False)
             for document in documents_of(tuple(sentences))]  # fmt: skip
    together = predictor.annotate(sentences, batch_size=9, confidence=False)
    assert [answer for answers in alone for answer in answers] == together


def test_documents_are_for_taggers(tmp_path: Path) -> None:
    files = tiny.classified(tmp_path)
    config = load_config(overrides=["task=classify", "encoder.context=document"], flags=files)
    with refuses(ConfigError, "encoder.context", '"document"'):
        train(config)
