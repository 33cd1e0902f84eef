"""A model that begins with another's weights."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import tiny
import torch
from marks import mostly_slow
from says import Says, refuses

from tagkit.config import Config, load_config, refuse_without_effect
from tagkit.errors import BundleError, ConfigError
from tagkit.inference.predict.predictor import load
from tagkit.models.bundle.bundle import Bundle, load_bundle
from tagkit.models.bundle.transfer import copy_weights, inherit_options
from tagkit.nn.heads.tagging import ChainHead
from tagkit.training.setup.setup import Prepared, prepare
from tagkit.training.trainer import train

TEXTS = ["Ada Miller visits Cape Town .", "Finn likes Rome .", "Eve Novak knows New York ."]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    train(tiny.config(folder))
    return folder / "model"


def companies(count: int) -> list[list[str]]:
    """Sentences with words, characters and a label that the first corpus lacks."""
    names = ["Žižka", "Übermut", "Ñandú", "Łódka"]
    return [[f"{names[i % 4]}\tB-ORG", "hires\tO", f"{['Ada', 'Ben'][i % 2]}\tB-PER", "?\tO"]
            for i in range(count)]  # fmt: skip


def further(folder: Path, base: Path, *overrides: str) -> Config:
    """A run on the new corpus that begins with the old model's weights."""
    tiny.write(folder / "new.conll", companies(40))
    files = {"data.train_file": str(folder / "new.conll"), "data.dev_file": "",
             "output.dir": str(folder / "new"), "train.init_from": str(base)}  # fmt: skip
    options = ["train.batch_size=8", "train.lr=0.02", "train.max_epochs=4"]
    return load_config(overrides=[*options, *overrides], flags=files)


def prepared(config: Config) -> Prepared:
    torch.manual_seed(5)
    return prepare(config, torch.device("cpu"))


def test_old_words_labels_and_characters_come_first_and_new_ones_behind_them(
    tmp_path: Path, base: Path
) -> None:
    old = load_bundle(base).vocabulary
    new = prepared(further(tmp_path, base)).vocabulary
    assert new.words[: len(old.words)] == old.words
    assert {"übermut", "hires"} <= set(new.words[len(old.words) :])
    assert new.tags[: len(old.tags)] == old.tags
    assert new.tags[len(old.tags) :] == ("S-ORG",)
    assert new.chars[: len(old.chars)] == old.chars
    assert "Ž" in new.chars


@pytest.mark.parametrize(
    "shared", mostly_slow([((True, True),), ((True, False),), ((False, True),)], always=1)
)
def test_old_labels_have_the_scores_of_the_old_model_whatever_is_shared(
    tmp_path: Path, shared: tuple[bool, bool]
) -> None:
    options = [f"head.tag_sharing={str(each).lower()}" for each in shared]
    train(tiny.config(tmp_path, "train.max_epochs=1", options[0]))
    config = further(tmp_path, tmp_path / "model", options[1])
    # With many labels the shares of those with one prefix are smaller than in the old model.
    tiny.write(tmp_path / "new.conll", [[f"word\tB-X{number}", "?\tO"] for number in range(12)] * 4)
    old, new = load_bundle(tmp_path / "model").model.head, prepared(config).model.head
    assert isinstance(old, ChainHead)
    assert isinstance(new, ChainHead)
    assert (old.sharing is not None, new.sharing is not None) == shared
    states = torch.randn(1, 4, old.inputs)
    known = old.linear.out_features
    scores = new.emissions(states)
    torch.testing.assert_close(scores[..., :known], old.emissions(states))
    if shared[1]:  # what a new one scores is its relatives' alone
        own = new.linear(states)
        assert not own[..., known:].any()
        names = prepared(config).vocabulary.tags
        single = [n for n, name in enumerate(names[:known]) if name.startswith("S-")]
        share = 0.9 / (12 + len(single) - 1)
        torch.testing.assert_close(scores[..., -1], share * own[..., single].sum(2))


@pytest.mark.slow
def test_a_read_out_in_closed_form_shares_no_scores_whatever_the_old_model_does(
    tmp_path: Path,
) -> None:
    echo = "encoder.cell=echo-state"
    train(tiny.config(tmp_path, echo, "train.max_epochs=1", "head.tag_sharing=true"))
    files = {"data.train_file": str(tmp_path / "train.conll"), "output.dir": str(tmp_path / "new"),
             "train.init_from": str(tmp_path / "model")}  # fmt: skip
    config = load_config(overrides=["train.readout=ridge"], flags=files)
    assert prepared(config).model.head.sharing is None


def test_before_any_step_it_says_what_the_old_model_says(tmp_path: Path, base: Path) -> None:
    # Steps of no size: the weights stay as they are, but for new rows.
    options = ["train.lr=1e-30", "train.max_epochs=1", "train.average_decay=0"]
    trained = train(further(tmp_path, base, *options))
    old, new = load(base), trained.predictor
    with torch.no_grad():
        new.model.head.crf.transitions[:, -1] = -100  # the new label has weights by chance
        new.model.head.crf.start_transitions[-1] = -100
    for text in TEXTS:
        assert [span.label for span in new.predict(text).spans] == [
            span.label for span in old.predict(text).spans
        ]


def test_every_old_tensor_is_the_first_block_of_the_new_one(tmp_path: Path, base: Path) -> None:
    old = dict(load_bundle(base).model.named_parameters())
    new = dict(prepared(further(tmp_path, base)).model.named_parameters())
    assert old.keys() == new.keys()
    grown = 0
    for name, tensor in new.items():
        block = tensor[tuple(slice(size) for size in old[name].shape)]
        assert torch.equal(block, old[name]), name
        grown += tensor.shape != old[name].shape
    assert grown == 8  # words, characters, affixes, linear layer and bias, transitions, start, end


FORMER = Path(__file__).parents[2] / "fixtures" / "0.1.0" / "tag-crf"


def test_new_affixes_come_behind_the_old_ones_and_auto_gives_way(
    tmp_path: Path, base: Path
) -> None:
    old = load_bundle(base).vocabulary.affixes
    found = prepared(further(tmp_path, base, "embeddings.affix_dim=auto"))
    assert found.config.embeddings.affix_dim == 50
    assert found.vocabulary.affixes[: len(old)] == old
    assert "=?" not in old
    assert {"-s", "=Xxx"} <= set(found.vocabulary.affixes)
    assert len(found.vocabulary.affixes) > len(old)
    with refuses(ConfigError, "affix_dim", "0", "50"):
        prepared(further(tmp_path, base, "embeddings.affix_dim=0"))


def test_a_model_of_0_1_has_no_affixes_and_gets_none(tmp_path: Path) -> None:
    found = prepared(further(tmp_path, FORMER, "embeddings.affix_dim=auto"))
    assert (found.config.embeddings.affix_dim, found.vocabulary.affixes) == (0, ())
    assert found.model.embed.affixes is None
    with refuses(ConfigError, "affix_dim", "50", "0"):
        prepared(further(tmp_path, FORMER, "embeddings.affix_dim=50"))


def test_it_learns_new_labels_and_keeps_what_the_corpus_still_has(
    tmp_path: Path, base: Path
) -> None:
    model = train(further(tmp_path, base)).predictor
    spans = model.predict("Übermut hires Ada ?").spans
    assert [(span.text, span.label) for span in spans] == [("Übermut", "ORG"), ("Ada", "PER")]


def test_one_epoch_further_is_better_than_one_from_nothing(tmp_path: Path, base: Path) -> None:
    options = ["train.max_epochs=1", "train.lr=0.002", "head.feature_crf=0"]
    fresh = train(tiny.config(tmp_path, *options))
    started = train(tiny.config(tmp_path, *options, f"train.init_from={base}"), force=True)
    assert started.best.score > fresh.best.score + 0.2


def test_an_encoder_of_tags_begins_a_classifier(tmp_path: Path, base: Path) -> None:
    rows = [f"{'ab'[i % 2]}\t{['Ada', 'Oslo'][i % 2]} leaves" for i in range(20)]
    (tmp_path / "t.tsv").write_text("label\ttext\n" + "\n".join(rows) + "\n")
    files = {"data.train_file": str(tmp_path / "t.tsv"), "train.init_from": str(base)}
    model = prepared(load_config(overrides=["task=classify"], flags=files)).model
    old = dict(load_bundle(base).model.named_parameters())
    assert not hasattr(model, "head")
    for name, tensor in model.encoder.named_parameters():
        assert torch.equal(tensor, old[f"encoder.{name}"])


def test_tags_of_another_kind_are_not_kept(tmp_path: Path, base: Path) -> None:
    tiny.write(tmp_path / "pos.conll", [["Ada\tNOUN", "leaves\tVERB"]] * 20)
    files = {"data.train_file": str(tmp_path / "pos.conll"), "train.init_from": str(base)}
    assert set(prepared(load_config(flags=files)).vocabulary.tags) == {"NOUN", "VERB"}


MANY = [f"{word}\t{word[:2].upper()}" for word in
        ("Ada", "leaves", "Rome", "Ben", "likes", "Oslo", "Cleo", "knows", "Lima", "Dan", "visits",
         "Quito")]  # fmt: skip


@pytest.mark.parametrize("kind", mostly_slow(["crf", "softmax", "feedback"], always=2))
def test_a_head_of_more_tags_of_another_kind_is_drawn_anew(tmp_path: Path, kind: str) -> None:
    # It has room for the old head, whose tags mean something else.
    train(tiny.config(tmp_path, "train.max_epochs=1", f"head.kind={kind}"))
    old = load_bundle(tmp_path / "model")
    tiny.write(tmp_path / "pos.conll", [MANY] * 20)
    files = {"data.train_file": str(tmp_path / "pos.conll"), "data.dev_file": "",
             "train.init_from": str(tmp_path / "model"), "head.kind": kind}  # fmt: skip
    new = prepared(load_config(flags=files))
    assert len(new.vocabulary.tags) > len(old.vocabulary.tags)
    assert not set(new.vocabulary.tags) & set(old.vocabulary.tags)
    mine, theirs = (dict(model.named_parameters()) for model in (new.model, old.model))
    heads = [name for name in mine if name.startswith("head.")]
    assert len(heads) == {"crf": 5, "softmax": 2, "feedback": 7}[kind]
    for name in heads:
        block = mine[name][tuple(slice(size) for size in theirs[name].shape)]
        assert not torch.equal(block, theirs[name]), name
    assert not mine["head.linear.bias"].any()  # as it is drawn
    for name, tensor in theirs.items():  # all else is inherited
        if not name.startswith("head."):
            block = mine[name][tuple(slice(size) for size in tensor.shape)]
            assert torch.equal(block, tensor), name


@pytest.fixture(scope="module")
def classified(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A classifier with a feed-forward layer, and its corpora."""
    folder = tmp_path_factory.mktemp("classified")
    files = tiny.classified(folder)
    config = tiny.small(folder, "task=classify", "head.pooling=mean", "head.hidden=[6]",
                        "train.max_epochs=1", **files)  # fmt: skip
    train(config)
    return folder / "model", files


@pytest.mark.parametrize(
    ("given", "options", "kept"),
    [
        (["head.kind=softmax"], [], True),
        (["head.kind=softmax"], ["head.kind=crf"], True),  # scores fit, transitions are new
        (["head.kind=viterbi"], [], True),
        (["head.kind=feedback", "head.feedback_hidden=7", "head.tag_dim=5"], [], True),
        (["head.kind=feedback", "head.feedback_hidden=7"], ["head.kind=crf"], False),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else None,
)  # fmt: skip
def test_a_head_is_of_the_kind_and_the_size_of_the_one_that_it_begins_with_unless_told(
    tmp_path: Path, given: list[str], options: list[str], kept: bool
) -> None:
    train(tiny.config(tmp_path, "train.max_epochs=1", *given))
    run = prepared(further(tmp_path, tmp_path / "model", *options))
    named = [option.removeprefix("head.").split("=") for option in given + options]
    for key, value in dict(named).items():
        # What the user asks for, and all that has a meaning beside it.
        if key == "kind" or run.config.head.kind == "feedback":
            assert str(getattr(run.config.head, key)) == value
    assert ("and head of tags" in run.started) == kept


def test_an_option_that_the_kind_of_the_old_head_has_no_use_for_is_refused(tmp_path: Path) -> None:
    train(tiny.config(tmp_path, "train.max_epochs=1", "head.kind=softmax"))
    with refuses(ConfigError, "feature_crf", "softmax", "leave it out"):
        prepared(further(tmp_path, tmp_path / "model", "head.feature_crf=64"))
    prepared(further(tmp_path, tmp_path / "model", "head.feature_crf=0"))


def test_a_head_pools_as_the_one_that_it_begins_with_unless_it_is_told_another_way(
    tmp_path: Path, classified: tuple[Path, dict[str, str]]
) -> None:
    base, files = classified
    begun = ("task=classify", f"train.init_from={base}")
    found = prepared(tiny.small(tmp_path, *begun, **files)).config.head
    assert (found.pooling, found.hidden) == ("mean", (6,))
    told = tiny.small(tmp_path, *begun, "head.pooling=max", **files)
    assert prepared(told).config.head.pooling == "max"
    # A tagger pools nothing, so that the size decides.
    tiny.corpus(tmp_path)
    train(tiny.small(tmp_path, "train.max_epochs=1", f"output.dir={tmp_path / 'tagger'}"))
    of_tagger = ("task=classify", f"train.init_from={tmp_path / 'tagger'}")
    found = prepared(tiny.small(tmp_path, *of_tagger, **files)).config.head
    assert (found.pooling, found.bag_of_words) == ("scaled-attention", 0)


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        (["head.pooling=mean", "head.hidden=[6]"], True),
        (["head.pooling=max", "head.hidden=[6]"], True),  # of the same size
        # The old weights would be the corner of the new ones, and would read other features.
        (["head.pooling=concat", "head.hidden=[6]"], False),
        (["head.pooling=mean", "head.hidden=[9]"], False),
        (["head.pooling=mean", "head.hidden=[6, 6]"], False),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else None,
)
def test_a_head_of_other_sizes_is_drawn_anew_as_a_whole(
    tmp_path: Path,
    classified: tuple[Path, dict[str, str]],
    options: list[str],
    kept: bool,
) -> None:
    base, files = classified
    config = tiny.small(tmp_path, "task=classify", f"train.init_from={base}", *options, **files)
    run = prepared(config)
    theirs = load_bundle(base).model.state_dict()
    for name, tensor in run.model.class_head.named_parameters():
        old = theirs.get(f"class_head.{name}")
        if tensor.dim() > 1:  # biases begin at zero
            block = tensor if old is None else tensor[tuple(slice(size) for size in old.shape)]
            assert (old is not None and torch.equal(block, old)) == kept, name
    heads = " and head of classes" if kept else ""
    new = "" if kept else "new: head of classes; "
    left = "left out: its linear model of words (head.bag_of_words > 0 fits one to train)"
    assert run.started == f"embeddings, encoder{heads} from {base}; {new}{left}"


@pytest.mark.slow
def test_what_counts_beside_the_network_is_said_to_be_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one").mkdir()
    given = tiny.config(tmp_path / "one", "train.max_epochs=1", "head.feature_crf=4096")
    model = train(given).folder

    def with_share(path: Path, share: float = 0.3) -> Bundle:
        found = load_bundle(path)
        assert found.model.feature_crf is not None
        found.model.feature_crf.share.fill_(share)
        return found

    monkeypatch.setattr("tagkit.training.setup.setup.load_bundle", with_share)
    run = prepared(further(tmp_path, model))
    assert run.started.endswith(
        "new: 6 words; left out: its CRF of word features, which counted 30 %"
    )
    monkeypatch.setattr(
        "tagkit.training.setup.setup.load_bundle", lambda path: with_share(path, 0.0)
    )
    assert prepared(further(tmp_path, model)).started.endswith("new: 6 words")
    texts = tiny.classified(tmp_path)
    classes = tiny.small(tmp_path / "two", "task=classify", "head.bag_of_words=64", **texts)
    monkeypatch.undo()
    base = train(classes).folder
    config = tiny.small(tmp_path, "task=classify", f"train.init_from={base}", **texts)
    left = "left out: its linear model of words (head.bag_of_words > 0 fits one to train)"
    assert prepared(config).started.endswith(left)


def test_gates_of_a_larger_decoder_are_not_mixed_with_those_of_a_smaller_one(
    tmp_path: Path,
) -> None:
    # (3 gates x 4, ...) is a corner of (3 gates x 5, ...), where other rows are the second gate's.
    feedback = ["head.kind=feedback", "train.max_epochs=1"]
    train(tiny.config(tmp_path, *feedback, "head.feedback_hidden=4"))
    tiny.write(tmp_path / "new.conll", companies(40) + tiny.lines(20, seed=5))
    found = {}
    for hidden in (4, 5):
        config = tiny.small(
            tmp_path, *feedback, f"head.feedback_hidden={hidden}",
            f"train.init_from={tmp_path / 'model'}",
            **{"data.train_file": str(tmp_path / "new.conll")},
        )  # fmt: skip
        run = prepared(config)
        found[hidden] = dict(run.model.head.named_parameters())
        assert ("new: head of tags" in run.started) == (hidden == 5)
    old = load_bundle(tmp_path / "model")
    assert len(run.vocabulary.tags) > len(old.vocabulary.tags)
    theirs = dict(old.model.head.named_parameters())
    (gates,) = [name for name in theirs if name.endswith("weight_hh_l0")]
    assert torch.equal(found[4][gates], theirs[gates])
    assert found[5][gates].shape == (15, 5)
    assert not torch.equal(found[5][gates][:12, :4], theirs[gates])


def test_output_layers_are_about_tags_and_are_neither_given_to_classes_nor_asked_of_them(
    tmp_path: Path, classified: tuple[Path, dict[str, str]]
) -> None:
    # Otherwise the configuration of the new model would be refused in a further run.
    base, files = classified
    start = f"train.init_from={base}"
    tags = prepared(tiny.config(tmp_path, start, "encoder.output_layers=[7]"))
    assert tags.model.encoder.output_layers[0].weight.shape == (7, 32)
    assert "head of tags" in tags.started.partition("; new: ")[2]
    train(tiny.config(tmp_path, "encoder.output_layers=[7]", "train.max_epochs=1"))
    options = ["task=classify", f"train.init_from={tmp_path / 'model'}"]
    classes = prepared(tiny.small(tmp_path, *options, "encoder.hidden=16", **files))
    assert classes.config.encoder.output_layers == ()
    refuse_without_effect(classes.config, "config.toml")
    old = load_bundle(tmp_path / "model").model.state_dict()
    for name, tensor in classes.model.encoder.named_parameters():
        assert torch.equal(tensor, old[f"encoder.{name}"])


def test_a_one_way_encoder_of_another_task_makes_a_one_way_model(tmp_path: Path) -> None:
    options = ["encoder.bidirectional=false", "train.max_epochs=1"]
    train(tiny.config(tmp_path, *options, *tiny.WITHOUT_CHARACTERS))
    start = [*tiny.WITHOUT_CHARACTERS, f"train.init_from={tmp_path / 'model'}", "task=classify",
             "head.pooling=concat"]  # fmt: skip
    files = tiny.classified(tmp_path)
    run = prepared(tiny.small(tmp_path, *start, **files))
    assert run.model.encoder.layers[0].backwards is None
    assert run.model.class_head.pooling.outputs == 3 * 16
    assert run.model.embed.chars is None
    with refuses(ConfigError, "encoder.bidirectional"):
        prepared(tiny.small(tmp_path, *start, "encoder.bidirectional=true", **files))


def test_an_encoder_of_other_sizes_is_named(tmp_path: Path, base: Path) -> None:
    # As of a task whose units are not words, whatever the options say.
    run, old = prepared(further(tmp_path, base)), load_bundle(base)
    old.model.encoder.layers[0] = torch.nn.Linear(3, 2)
    with refuses(ConfigError, "encoder.layers"):
        copy_weights(run.model, old, run.vocabulary, "base")
    old = load_bundle(base)
    network = old.model.encoder.layers[0].forwards
    network.weight_hh_l0 = torch.nn.Parameter(torch.zeros(64, 3))
    with refuses(ConfigError, "weight_hh_l0", "64", "3", "16"):
        copy_weights(run.model, old, run.vocabulary, "base")


def test_plain_labels_keep_theirs_and_put_others_behind_them(tmp_path: Path) -> None:
    sentence = ["the\tDT", "dog\tNN", "barks\tVBZ"]
    tiny.write(tmp_path / "old.conll", [sentence] * 20)
    files = {"data.train_file": str(tmp_path / "old.conll"), "data.dev_file": "",
             "output.dir": str(tmp_path / "model")}  # fmt: skip
    train(load_config(overrides=["train.max_epochs=1", "encoder.hidden=8"], flags=files))
    old = load_bundle(tmp_path / "model")
    tiny.write(tmp_path / "pos.conll", [MANY] * 20)
    files = {"data.train_file": str(tmp_path / "pos.conll"), "data.dev_file": "",
             "train.init_from": str(tmp_path / "model")}  # fmt: skip
    new = prepared(load_config(flags=files))
    tags = new.vocabulary.tags
    assert tags[:3] == old.vocabulary.tags
    assert set(tags[3:]) == {line.split("\t")[1] for line in MANY}
    mine, theirs = new.model.head.linear.weight, old.model.head.linear.weight
    assert torch.equal(mine[:3], theirs)
    assert not any(torch.equal(row, other) for row in mine[3:] for other in theirs)


def test_the_new_model_can_be_saved_loaded_and_gone_on_from(tmp_path: Path, base: Path) -> None:
    first = train(further(tmp_path, base))
    here = first.predictor.predict(TEXTS[0], confidence=True)
    assert load(tmp_path / "new").predict(TEXTS[0], confidence=True) == here
    again = train(further(tmp_path, base), resume=True)
    assert again.dev == first.dev


def test_pretrained_vectors_come_with_the_old_model(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    names = ["oslo", "rome", "ada", "zagreb"]
    path.write_text("".join(f"{name} {i} 1\n" for i, name in enumerate(names)))
    train(tiny.config(tmp_path, f"embeddings.vectors={path}", "train.max_epochs=1"))
    path.unlink()
    new = prepared(further(tmp_path, tmp_path / "model"))
    assert new.vocabulary.vector_words == tuple(names)
    assert new.model.embed.words.vectors.tolist() == [[0, 0], [0, 1], [1, 1], [2, 1], [3, 1]]


@pytest.mark.parametrize(
    ("override", "problem"),
    [
        ("encoder.hidden=32", Says("encoder.hidden", "32", "16", "training")),
        ("embeddings.char_cell=gru", Says("embeddings.char_cell", "'gru'")),
        # Weights that are copied are not drawn.
        ("encoder.init=identity", Says("encoder.init", "'identity'", "'orthogonal'")),
        ("encoder.chrono=50", Says("encoder.chrono", "50", "0")),
        ("data.feature_columns=[1]", Says("data.feature_columns", "0", "1")),
    ],
)
def test_sizes_that_the_old_model_does_not_have_are_refused(
    tmp_path: Path, base: Path, override: str, problem: str
) -> None:
    with refuses(ConfigError, problem):
        prepared(further(tmp_path, base, override))
    same = prepared(further(tmp_path, base, "encoder.hidden=16"))
    assert same.config.encoder.hidden == 16


@pytest.mark.parametrize(
    ("theirs", "mine", "cause"),
    [
        ("encoder.cell=sru", "train.flow_strength=1.0", 'encoder.cell = "sru"'),
        ("encoder.cell=sru", "encoder.weight_drop=0.5", 'encoder.cell = "sru"'),
        ("encoder.cell=transformer", "train.bptt=20", 'encoder.cell = "transformer"'),
        ("encoder.context=document", "train.lm_loss=0.1", 'encoder.context = "document"'),
        (
            "encoder.bidirectional=false embeddings.char_cell=none",
            "train.workers=2",
            'encoder.bidirectional = false and embeddings.char_cell = "none"',
        ),
    ],
)
def test_options_without_effect_in_the_old_model_are_refused(
    theirs: str, mine: str, cause: str
) -> None:
    words = SimpleNamespace(units=None, features=(), vectors=())
    old = SimpleNamespace(config=load_config(overrides=theirs.split()), vocabulary=words)
    config = load_config(overrides=["train.init_from=old", mine])
    refuse_without_effect(config, "here")  # the old model's options are not known yet
    with pytest.raises(ConfigError) as caught:
        inherit_options(config, old, "old")  # type: ignore[arg-type]
    option, value = mine.split("=")
    assert caught.value.problems == (Says(option, value, cause),)


def test_one_worker_is_never_refused() -> None:
    words = SimpleNamespace(units=None, features=(), vectors=())
    theirs = load_config(overrides=["encoder.bidirectional=false", "embeddings.char_cell=none"])
    old = SimpleNamespace(config=theirs, vocabulary=words)
    config = load_config(overrides=["train.init_from=old", "train.workers=1"])
    inherited = inherit_options(config, old, "old")  # type: ignore[arg-type]
    assert inherited.train.workers == 1


@pytest.mark.slow
def test_a_head_that_halts_and_one_that_does_not_are_said_to_be_new(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("the cat sat\na cat sat on the mat\n" * 20)
    files = {"data.train_file": f"{tmp_path}/train.txt", "data.dev_file": f"{tmp_path}/train.txt"}

    def settings(name: str, *options: str) -> Config:
        given = ["data.context=line", "encoder.hidden=5", "embeddings.word_dim=5",
                 "train.max_epochs=1", f"output.dir={tmp_path / name}"]  # fmt: skip
        return load_config(None, [*given, *options], {"task": "language-model", **files})

    halts, plain = "head.halt=true", "head.halt=false"
    for base, other in ((halts, plain), (plain, halts), (halts, halts)):
        folder = train(settings("base", base), force=True).folder
        started = prepared(settings("new", other, f"train.init_from={folder}")).started
        kept = "embeddings, encoder and head from" if base == other else "embeddings, encoder from"
        assert started == f"{kept} {folder}" + ("" if base == other else "; new: head")


def test_a_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    with refuses(BundleError, "nowhere"):
        prepared(further(tmp_path, Path("nowhere")))


LINES = ["red cat", "green dog", "blue fish", "red dog", "green fish"] * 6
PAIRS = [f"{line}\t{line.split()[1]}" for line in LINES]


def write(path: Path, lines: list[str]) -> str:
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return str(path)


def settings(folder: Path, lines: list[str], *overrides: str) -> Config:
    train_file = write(folder / "train.txt", lines)
    options = ["task=language-model", "train.max_epochs=1", "data.unit=character",
               "encoder.hidden=8", *overrides]  # fmt: skip
    return load_config(
        overrides=options,
        flags={"data.train_file": train_file, "output.dir": str(folder / "model"),
               "train.device": "cpu"},
    )  # fmt: skip


CPU = torch.device("cpu")
OF_PAIRS = ["data.context=line", "data.pairs=true", "data.loss_on=continuation"]


@pytest.fixture(scope="module")
def of_pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    return train(settings(folder, PAIRS, *OF_PAIRS)).folder / "best"


def test_a_model_of_pairs_goes_on_with_pairs(tmp_path: Path, of_pairs: Path) -> None:
    found = prepare(settings(tmp_path, PAIRS, f"train.init_from={of_pairs}"), CPU)
    data = found.config.data
    assert (data.pairs, data.context, data.loss_on) == (True, "line", "continuation")
    assert found.corpus.train.sentences[0].words[-4:] == ("\t", *"cat")
    every = prepare(
        settings(tmp_path, PAIRS, f"train.init_from={of_pairs}", *OF_PAIRS[:2], "data.loss_on=all"),
        CPU,
    )
    assert (every.config.data.pairs, every.config.data.loss_on) == (True, "all")


def test_a_model_of_pairs_is_no_beginning_for_plain_lines(tmp_path: Path, of_pairs: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        prepare(settings(tmp_path, LINES, f"train.init_from={of_pairs}", "data.pairs=false"), CPU)
    assert str(refused.value) == (
        f"train.init_from: data.pairs = False: {of_pairs}, from which training begins, has True; "
        "leave it out"
    )


@pytest.mark.parametrize("unit", ["word", "character", "bpe"])
def test_a_model_of_plain_lines_may_learn_pairs(tmp_path: Path, unit: str) -> None:
    if unit == "bpe":
        pytest.importorskip("tokenizers")
    of_unit = ["data.context=line", f"data.unit={unit}"]
    (tmp_path / "plain").mkdir()
    base = train(settings(tmp_path / "plain", LINES, *of_unit)).folder / "best"
    start = f"train.init_from={base}"
    found = prepare(settings(tmp_path, PAIRS, *of_unit, start, *OF_PAIRS), CPU)
    sides = found.corpus.train.sentences[0].words
    assert sides.count("\t") == 1
    assert found.vocabulary.words.count("\t") == 1
