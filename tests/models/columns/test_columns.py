"""Several tag columns at once: laws of the network, for every codec, and the task's own rules."""

from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import tiny
import torch
from marks import mostly_slow
from says import Says, refuses
from small_runs import of_task
from vocabularies import NO_FEATURES

from tagkit.config import Config, load_config
from tagkit.corpus.records.dataset import Split
from tagkit.corpus.splits.splits import read_split
from tagkit.errors import BundleError, ConfigError, DataError
from tagkit.evaluation.reports.column_report import ColumnsReport
from tagkit.features.column_labels import ColumnLabels
from tagkit.inference.predict.predictor import Predictor, load
from tagkit.inference.score.score import score_model
from tagkit.models.base.device import to_tensors
from tagkit.models.base.model import Model
from tagkit.models.base.task_records import ModelContext
from tagkit.models.bundle.bundle import load_bundle
from tagkit.models.bundle.transfer import extend_vocabulary
from tagkit.models.columns.columns import ColumnsTask, ColumnTagger
from tagkit.nn.layers.inference import CachedWords
from tagkit.text.records import Prediction, Sentence, Span, TagColumn
from tagkit.text.schemes import to_spans
from tagkit.training.run_end import Trained
from tagkit.training.setup.setup import Prepared, prepare
from tagkit.training.trainer import train

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    torch.manual_seed(1)
    return prepare(of_task(tmp_path_factory.mktemp("prepared"), "columns"), CPU)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("trained")
    return train(of_task(folder, "columns", "train.max_epochs=8", "train.lr=0.03"))


def some_sentences() -> list[Sentence]:
    return [Sentence(tuple(row.split("\t")[0] for row in rows)) for rows in tiny.lines(12, 7)]


def names(config: Config) -> list[str]:
    return [str(column) for column in config.data.tag_columns]


def test_the_loss_is_the_sum_of_the_heads_losses(prepared: Prepared) -> None:
    model, batch = prepared.model, to_tensors(prepared.encoded.batch(np.arange(5)))
    assert isinstance(model, ColumnTagger)
    with torch.no_grad():
        total, count = model.eval()(batch)
        words = CachedWords(model.vectors(batch.words), (), torch.empty(0), ())
        states, mask = model.read(batch.tokens, words)[0], batch.tokens.mask
        parts = [
            head(states, mask, batch.target(name))[0]
            for head, name in zip(model.heads, names(prepared.config), strict=True)
        ]
    torch.testing.assert_close(total, torch.stack(parts).sum())
    assert int(count) == int(mask.sum())


def test_the_loss_of_a_column_has_its_weight(prepared: Prepared, tmp_path: Path) -> None:
    weights = "head.column_weights={FEATS=0.25, 'MISC.NER'=2.0}"
    other = prepare(of_task(tmp_path, "columns", weights), CPU).model
    other.load_state_dict(prepared.model.state_dict())
    assert isinstance(other, ColumnTagger)
    assert other.weights == (1.0, 0.25, 1.0, 2.0)
    batch = to_tensors(prepared.encoded.batch(np.arange(5)))
    words = CachedWords(other.vectors(batch.words), (), torch.empty(0), ())
    with torch.no_grad():
        states, mask = other.eval().read(batch.tokens, words)[0], batch.tokens.mask
        parts = [
            head(states, mask, batch.target(name))[0]
            for head, name in zip(other.heads, names(prepared.config), strict=True)
        ]
        total, _ = other(batch)
    expected = parts[0] + parts[1] / 4 + parts[2] + 2 * parts[3]
    torch.testing.assert_close(total, expected)


def test_every_parameter_gets_a_gradient(prepared: Prepared) -> None:
    prepared.model.zero_grad()
    total, _ = prepared.model(to_tensors(prepared.encoded.batch(np.arange(20))))
    total.backward()
    for name, parameter in prepared.model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name
    prepared.model.zero_grad()


def test_a_sentence_gets_the_same_values_alone_and_in_a_batch(trained: Trained) -> None:
    sentences = some_sentences()
    together = trained.predictor.annotate(sentences, batch_size=8, confidence=True)
    for sentence, found in zip(sentences, together, strict=True):
        (alone,) = trained.predictor.annotate([sentence], batch_size=1, confidence=True)
        assert found.words == sentence.words
        for ours, theirs in zip(found.columns, alone.columns, strict=True):
            assert (ours.name, ours.values) == (theirs.name, theirs.values)
            assert ours.probabilities == pytest.approx(theirs.probabilities, abs=1e-5)
        assert found.tags == found.columns[0].values


def test_a_model_of_several_columns_learns_each(trained: Trained) -> None:
    assert isinstance(trained.test, ColumnsReport)
    assert [column.name for column in trained.test.columns] == names(trained.predictor.config)
    for column in trained.test.columns:
        assert column.headline > 0.9, column.name
    mean = np.mean([column.headline for column in trained.test.columns])
    assert trained.test.headline == pytest.approx(mean)


def test_spans_are_those_of_the_column_that_has_them(trained: Trained) -> None:
    (found,) = trained.predictor.annotate(
        [Sentence(("Ada", "visits", "New", "York", "."))], batch_size=1, confidence=True
    )
    of = {column.name: column.values for column in found.columns}
    assert of["UPOS"] == ("PROPN", "VERB", "PROPN", "PROPN", "PUNCT")
    assert of["MISC.NER"] == ("B-PER", "O", "B-LOC", "I-LOC", "O")
    assert [(s.start, s.end, s.label) for s in found.spans] == [(0, 1, "PER"), (2, 4, "LOC")]
    assert all(span.probability is not None for span in found.spans)


def test_a_saved_model_gives_the_same_values(trained: Trained) -> None:
    sentences = some_sentences()
    options = {"batch_size": 8, "confidence": True}
    loaded = load(trained.folder)
    assert loaded.vocabulary == trained.predictor.vocabulary
    assert loaded.annotate(sentences, **options) == trained.predictor.annotate(sentences, **options)


def test_eval_gives_the_numbers_of_training(trained: Trained) -> None:
    data = load_config().data
    report = score_model(
        load(trained.folder), trained.predictor.config.data.test_file, data, False, 32, print
    )
    assert report == trained.test


def test_a_long_sentence_is_read_in_windows_that_are_joined(trained: Trained) -> None:
    words = ("Ada", "visits", "New", "York", ".") * 12
    predictor = trained.predictor
    (joined,) = predictor.annotate([Sentence(words)], batch_size=1, confidence=True, max_length=16)
    assert joined.words == words
    for column in joined.columns:
        assert len(column.values) == len(column.probabilities or ()) == 60
    ner = next(column.values for column in joined.columns if column.name == "MISC.NER")
    # Spans and tags are of one reading: none is cut where two windows meet.
    assert [Span(s.start, s.end, s.label) for s in joined.spans] == [*to_spans(ner)]
    assert len(joined.spans) >= 12


def test_a_list_of_one_column_is_a_model_of_one_head(tmp_path: Path) -> None:
    config = of_task(tmp_path, "columns", "data.tag_column=['upos']", "train.max_epochs=1")
    report = train(config).dev
    assert isinstance(report, ColumnsReport)
    assert [column.name for column in report.columns] == ["UPOS"]
    assert report.headline == report.columns[0].accuracy
    assert report.measure == "accuracy"


@pytest.mark.parametrize(
    "metric",
    mostly_slow(
        ["MISC.NER_f1", "loss", "UPOS_accuracy", "FEATS_f1", "LEMMA_unknown_accuracy"], always=2
    ),
)
def test_the_metric_of_a_column_selects_the_best_epoch(tmp_path: Path, metric: str) -> None:
    trained = train(of_task(tmp_path, "columns", f"train.metric={metric}"))
    last = trained.epochs[-1]
    score = last.dev_loss if metric == "loss" else trained.epochs[-1].scores[metric]
    assert last.score == score


def test_an_unknown_metric_is_answered_with_those_that_there_are(tmp_path: Path) -> None:
    config = of_task(tmp_path, "columns", "train.metric=accuracy", "data.tag_column=['UPOS']")
    there = "UPOS_f1, UPOS_accuracy, UPOS_macro_f1, UPOS_known_accuracy, UPOS_unknown_accuracy"
    with refuses(DataError, "train.metric=accuracy: ", there):
        prepare(config, CPU)


def test_a_list_is_for_the_task_tag_without_weights_of_labels(tmp_path: Path) -> None:
    for override, problem in {
        "task=both": Says("data.tag_column", "task = 'tag'", "task = 'both'"),
        "head.label_weights={NOUN=2.0}": Says("head.label_weights", "data.tag_column"),
        "head.label_consistency=0.5": Says("head.label_consistency", "data.tag_column"),
        'data.tag_column=["UPOS", "upos"]': Says('data.tag_column = ["UPOS", "upos"]: ', "once"),
        "head.column_weights={XPOS=0.5}": Says("head.column_weights", "'XPOS'", "(UPOS, FEATS)"),
        "data.tag_column=[]": Says("data.tag_column = []: ", "one"),
    }.items():
        with refuses(ConfigError, problem):
            load_config(overrides=['data.tag_column=["UPOS", "FEATS"]', override])


def test_a_model_is_scored_on_as_many_columns_as_it_predicts_or_on_one(trained: Trained) -> None:
    file = trained.predictor.config.data.test_file
    for given, expected in (("XPOS", "one of the columns"), ('["UPOS"]', "a list of 4")):
        given = f"data.tag_column={given}"
        with refuses(DataError, "data.tag_column", expected):
            score_model(
                load(trained.folder), file, load_config(overrides=[given]).data, False, 32, print
            )


def test_other_formats_than_columns_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "train.jsonl"
    file.write_text('{"tokens": ["a", "b"], "tags": ["X", "Y"]}\n' * 4)
    config = load_config(
        overrides=['data.tag_column=["UPOS", "FEATS"]'], flags={"data.train_file": str(file)}
    )
    with refuses(DataError, "2", "data.tag_column", "columns"):
        prepare(config, CPU)


def test_a_bundle_whose_columns_are_not_those_of_its_configuration_is_refused(
    trained: Trained, tmp_path: Path
) -> None:
    predictor: Predictor = trained.predictor
    task, vocabulary = predictor.task, predictor.vocabulary
    config = load_config(overrides=['data.tag_column=["UPOS", "XPOS"]', "data.scheme=labels"])
    with pytest.raises(BundleError) as caught:
        task.check(config, vocabulary, tmp_path / "c", tmp_path / "v")
    assert Says(tmp_path / "v", "UPOS", "XPOS", "data.tag_column") == str(caught.value)


def test_a_column_file_has_its_columns_by_number(tmp_path: Path) -> None:
    rows = [line.split("\t") for s in tiny.lines(40, 1, columns=3) for line in [*s, ""]]
    text = "".join("\t".join(row) + "\n" for row in rows)
    (tmp_path / "train.conll").write_text(text)
    config = load_config(
        overrides=["data.tag_column=[1, -1]", "train.max_epochs=2", "encoder.hidden=8"],
        flags={"data.train_file": str(tmp_path / "train.conll"),
               "output.dir": str(tmp_path / "model")},
    )  # fmt: skip
    report = train(config).dev
    assert [column.name for column in report.columns] == ["1", "-1"]
    assert [column.kind for column in report.columns] == ["tokens", "spans"]


def test_two_names_of_one_column_are_refused(tmp_path: Path) -> None:
    tiny.corpus(tmp_path, columns=3)
    config = tiny.small(tmp_path, "data.tag_column=[2, -1]")
    with refuses(DataError, "2", "-1", "columns"):
        prepare(config, CPU)


def test_training_goes_on_from_a_model_of_the_same_columns(
    trained: Trained, tmp_path: Path
) -> None:
    config = of_task(tmp_path, "columns", f"train.init_from={trained.folder}")
    torch.manual_seed(9)
    run = prepare(config, CPU)
    ours, theirs = run.model.state_dict(), trained.predictor.model.state_dict()
    assert {name for name in ours if not torch.equal(ours[name], theirs[name])} == set()
    # In another order each head belongs to another column and begins anew; all else is kept.
    order = 'data.tag_column=["LEMMA", "UPOS"]'
    other = of_task(tmp_path, "columns", f"train.init_from={trained.folder}", order)
    changed = prepare(other, CPU).model.state_dict()
    for name, tensor in changed.items():
        if name.startswith("heads."):
            old = theirs.get(name, torch.empty(0))
            same = tensor.shape == old.shape and torch.equal(tensor, old)
            assert not same or name.endswith(".bias"), name  # biases begin at 0
        else:
            assert torch.equal(tensor, theirs[name]), name


def test_the_labels_of_a_new_corpus_follow_those_of_the_same_column(trained: Trained) -> None:
    base = load_bundle(trained.folder / "best")
    upos, feats, *_ = base.vocabulary.columns
    new = replace(
        base.vocabulary,
        columns=(
            replace(upos, parts={"": ("ADJ", "VERB")}),
            replace(feats, parts={"Gender": ("-", "=Fem")}),
        ),
    )
    extended = extend_vocabulary(new, base.config, base)
    assert extended.columns[0].parts == {"": (*upos.parts[""], "ADJ")}
    # Rows of a head are in the order of the parts: with others none of them could be kept.
    assert extended.columns[1].parts == {"Gender": ("-", "=Fem")}


def test_in_training_the_vectors_beside_the_states_are_dropped(tmp_path: Path) -> None:
    model = prepare(of_task(tmp_path, "columns", "encoder.locked_dropout=0.5"), CPU).model
    assert isinstance(model, ColumnTagger)
    states, inputs = torch.ones(2, 3, 4), torch.ones(2, 3, 50)
    found = model.train()._beside(states, inputs)
    assert torch.equal(found[:, :, :4], states)
    assert set(found[:, :, 4:].unique().tolist()) == {0.0, 2.0}
    assert torch.equal(model.eval()._beside(states, inputs), torch.cat((states, inputs), 2))


def test_windows_are_joined_for_each_column_by_its_own_spans() -> None:
    labels = [
        ColumnLabels(name, "tags", "iob2", "iobes", {"": ("O", "B-X", "E-X")}) for name in "ab"
    ]
    vocabulary = replace(NO_FEATURES, tags=(), columns=tuple(labels))
    config = load_config(overrides=['data.tag_column=["a", "b"]', "data.scheme=iob2"])
    context = ModelContext(cast(Model, None), vocabulary, config, True)

    def part(first: str, second: str) -> Prediction:
        values = [tuple(tags.split()) for tags in (first, second)]
        columns = tuple(TagColumn(n, v) for n, v in zip("AB", values, strict=True))
        words = tuple("w" * len(values[0]))
        return Prediction(words, values[0], to_spans(values[0]), columns=columns)

    # Words 2 to 5 are in both windows; the seam is at word 4, unless a span is there: in the second
    # column one covers words 3 and 4.
    left = part("O O O O O O", "O O O B-X I-X O")
    right = part("O O O O O O", "O B-X I-X O O O")
    found = ColumnsTask().join(context, ("w",) * 8, [(0, left), (2, right)])
    assert found.columns[0].values == ("O",) * 8
    assert found.columns[1].values == ("O", "O", "O", "B-X", "I-X", "O", "O", "O")
    assert found.spans == ()


@pytest.mark.parametrize(("strict", "gold"), [(False, 1), (True, 0)])
def test_a_span_that_is_not_well_formed_is_judged_as_it_is_scored(strict: bool, gold: int) -> None:
    labels = ColumnLabels("A", "tags", "iob2", "iob2", {"": ("O", "I-X")})
    vocabulary = replace(NO_FEATURES, tags=(), columns=(labels,))
    context = ModelContext(cast(Model, None), vocabulary, load_config(), True)
    column = TagColumn("A", ("O", "I-X"))
    words = ("w", "w")
    split = Split("dev", (Sentence(words, column.values, columns=(column,)),), None)
    found = Prediction(words, column.values, (Span(1, 2, "X", 0.5),), columns=(column,))
    (judged,) = ColumnsTask().judged(context, split, [found], strict=strict).values()
    report = ColumnsTask().score(context, split, [found], strict=strict)
    assert isinstance(report, ColumnsReport)
    assert judged.gold == gold
    assert judged.correct.tolist() == [bool(gold)]


def test_lemmas_that_look_like_tags_of_spans_are_plain(tmp_path: Path) -> None:
    file = tmp_path / "a.conllu"
    file.write_text("1\tx\tB-X\tN\t_\t_\t0\t_\t_\t_\n2\ty\tI-X\tN\t_\t_\t0\t_\t_\t_\n\n")
    data = load_config(overrides=['data.tag_column=["LEMMA", "UPOS"]']).data
    assert read_split(str(file), data, ColumnsTask.needs, None).scheme == "labels"
    one = load_config(overrides=["data.tag_column=LEMMA"]).data
    assert read_split(str(file), one, ColumnsTask.needs, None).scheme == "iob2"


def test_weights_of_columns_are_for_a_list_of_them() -> None:
    with refuses(ConfigError, "head.column_weights", "data.tag_column"):
        load_config(overrides=["data.tag_column=UPOS", "head.column_weights={UPOS=0.5}"])
