# ruff: noqa: E501
"""Model folders that were altered, digests and all: refused in one sentence, within bounds."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import altering
import pytest
import tiny
import torch
from altering import Alteration
from marks import mostly_slow
from safetensors.torch import load_file
from says import Says, refuses
from typer.testing import CliRunner

from tagkit import __version__
from tagkit.cli.main import app
from tagkit.errors import BundleError
from tagkit.features.vocabulary import Vocabulary
from tagkit.inference.predict.predictor import load
from tagkit.models.bundle.bundle import load_bundle, save_bundle
from tagkit.text.json_text import to_json
from tagkit.training.trainer import train

HEAD = "head.linear.weight"


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tagger")
    train(tiny.config(folder, "train.max_epochs=1", "data.feature_columns=[1]", columns=3))
    return folder / "model" / "best"


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classifier")
    files = tiny.classified(folder)
    train(tiny.small(folder, "train.max_epochs=1", "task=classify", **files))
    return folder / "model" / "best"


def refusal(model: Path) -> str:
    with pytest.raises(BundleError) as caught:
        load_bundle(model)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 1000 + len(str(model))
    return message.replace(f"{model}/", "").replace(str(model), "MODEL")


def deep(opening: str, closing: str, depth: int = 100_000) -> str:
    return opening * depth + closing * depth


def offsets(found: dict, name: str, *values: object) -> None:  # type: ignore[type-arg]
    found[name]["data_offsets"] = list(values)


VOCABULARY_ROWS: list[tuple[Alteration, str]] = [
    (altering.vocabulary(tags=lambda old: [*old, old[0]]), "vocabulary.json: tags: expected each string once, found 'O' again"),
    (altering.vocabulary(words=lambda old: [*old[:-1], old[0]]), "vocabulary.json: words: expected each string once, found '.' again"),
    (altering.vocabulary(chars=lambda old: [*old[:-1], old[0]]), "vocabulary.json: chars: expected each string once, found 'e' again"),
    (altering.vocabulary(features=[["UP", "UP"]]), "vocabulary.json: features, column 0: expected each string once, found 'UP' again"),
    (altering.vocabulary(tags=lambda old: [*old[:-1], ""]), "vocabulary.json: tags: expected no empty string, found one"),
    (altering.vocabulary(words=lambda old: [*old[:-1], ""]), "vocabulary.json: words: expected no empty string, found one"),
    (altering.vocabulary(words=lambda old: [*old[:-1], 7]), "vocabulary.json: words: expected strings, found a number"),
    (altering.vocabulary(tags=lambda old: [*old[:-1], None]), "vocabulary.json: tags: expected strings, found null"),
    (altering.vocabulary(chars=lambda old: [*old[:-1], "xx"]), "vocabulary.json: chars: expected single characters, found 'xx'"),
    (altering.vocabulary(chars=lambda old: [*old[:-1], "\ud800"]), "vocabulary.json: chars: expected text, found half of a surrogate pair"),
    (altering.vocabulary(words="abc"), "vocabulary.json: words: expected a list of strings, found a string"),
    (altering.vocabulary(words={"a": 1}), "vocabulary.json: words: expected a list of strings, found an object"),
    (altering.vocabulary(features=7), "vocabulary.json: features: expected a list of columns, found a number"),
    (altering.vocabulary(features=[7]), "vocabulary.json: features: expected a list of strings, found a number"),
    (altering.vocabulary(lowercase="yes"), "vocabulary.json: lowercase: expected true or false, found a string"),
    (altering.vocabulary(only_vectors=1), "vocabulary.json: only_vectors: expected true or false, found a number"),
    (altering.vocabulary(features=[]), "vocabulary.json: expected values of 1 feature columns, as data.feature_columns has, found 0"),
    (altering.vocabulary(classes=["a"]), "vocabulary.json: expected no classes, as task = 'tag', found some"),
    (altering.vocabulary(tags=[]), "vocabulary.json: expected tags, as task = 'tag', found none"),
    (altering.vocabulary(tags=["O", "B-PER", "I-PER"]), "vocabulary.json: expected 'E-PER' beside 'B-PER', as in the scheme iobes, which the model learns; found none"),
    (altering.vocabulary(tags=["O", "U-PER"]), "vocabulary.json: expected tags of the scheme iobes, which the model learns, found 'U-PER'"),
    (altering.vocabulary(tags=["O", "NN", "VB"]), "vocabulary.json: expected tags of the scheme iobes, which the model learns, found 'NN'"),
    (altering.vocabulary(tags=["S-PER"]), "vocabulary.json: expected the tag O, as in every iobes, found none"),
    (altering.vocabulary(tags=lambda old: old + [f"S-{i}" for i in range(20_000)]), "model.safetensors: tensor head.linear.weight: expected shape (20007, 32), found (7, 32)"),
    (altering.vocabulary(words=lambda old: [*old, "zzz"]), "model.safetensors: tensor embed.words.trained.weight: expected shape (26, 16), found (25, 16)"),
    (altering.vocabulary(words=[]), "model.safetensors: tensor embed.words.trained.weight: expected shape (2, 16), found (25, 16)"),
    (altering.content("vocabulary.json", b"[]"), "vocabulary.json: expected an object with lists of strings, found a list"),
    (altering.content("vocabulary.json", b"{}"), "vocabulary.json: lacks 'words'"),
    (altering.content("vocabulary.json", b"{"), "vocabulary.json: not JSON at line 1, column 2"),
    (altering.content("vocabulary.json", b'{"words": ["\xff"]}'), "vocabulary.json: not UTF-8 at byte 13"),
    (altering.content("vocabulary.json", deep("[", "]").encode()), "vocabulary.json: nested too deeply"),
    (altering.content("vocabulary.json", b"[" + b"9" * 5000 + b"]"), "vocabulary.json: a number has 5,000 digits"),
    (altering.content("vocabulary.json", b"[1e999]"), "vocabulary.json: a number is too large"),
    (altering.content("vocabulary.json", b"[NaN]"), "vocabulary.json: NaN is not JSON"),
    (altering.content("vocabulary.json", b"[" + b"[]," * 2_200_000 + b"[]]"), "vocabulary.json: holds more entries (4,400,002) than model.safetensors has rows"),
]  # fmt: skip

WEIGHTS_ROWS: list[tuple[Alteration, str]] = [
    (altering.number(HEAD, float("nan")), "model.safetensors: tensor head.linear.weight: expected finite numbers, found NaN or infinity; train the model again"),
    (altering.number("head.crf.transitions", float("-inf")), "model.safetensors: tensor head.crf.transitions: expected finite numbers, found NaN or infinity; train the model again"),
    *((altering.tensor(HEAD, lambda old, kind=kind: old.to(kind)), f"model.safetensors: tensor head.linear.weight: expected numbers of type F32, found {name}")
      for kind, name in [(torch.int32, "I32"), (torch.bool, "BOOL"), (torch.complex64, "C64"), (torch.float64, "F64"), (torch.float16, "F16"), (torch.bfloat16, "BF16"), (torch.float8_e4m3fn, "F8_E4M3")]),
    (altering.tensor(HEAD, lambda old: old.T.contiguous()), "model.safetensors: tensor head.linear.weight: expected shape (7, 32), found (32, 7)"),
    *((altering.tensor(f"feature_crf.{name}", change), "model.safetensors: feature_crf: expected ascending keys, tags from 0 to 6 and a share from 0 to below 1; train the model again")
      for name, change in [("keys", lambda old: old.flip(0)), ("tags", lambda old: old + 7), ("tags", lambda old: old - 1), ("share", torch.ones_like), ("share", lambda old: old - 1)]),
]  # fmt: skip

NOT_VALID = r"model\.safetensors: not a valid safetensors file: [^\n]{,200}"
DAMAGED_WEIGHTS: list[Alteration] = [
    altering.header(lambda found: found[HEAD].update(dtype="F" * 1000)),
    altering.header(lambda found: found[HEAD].update(shape=[10**12, 10**12])),
    altering.header(lambda found: offsets(found, HEAD, 0, 10**15)),
    altering.header(lambda found: offsets(found, HEAD, 10**15, 10**15 + 896)),
    altering.content("model.safetensors", (10**15).to_bytes(8, "little") + b"{}"),
    altering.content("model.safetensors", altering.join_weights(deep("[", "]").encode(), b"")),
]  # fmt: skip

CONFIG_ROWS: list[tuple[Alteration, str]] = [
    (altering.config(("hidden = 16", "hidden = 100_000"), ("layers = 1\nconnection", "layers = 100\nconnection")), "model.safetensors: lacks tensor encoder.layers.1.backwards.bias_hh_l0; it does not fit the configuration"),
    (altering.config(("hidden = 16", "hidden = 100_000")), "model.safetensors: tensor encoder.layers.0.forwards.weight_ih_l0: expected shape (400000, 102), found (64, 102)"),
    (altering.config(("layers = 1\nconnection", "layers = 101\nconnection")), "config.toml: encoder.layers = 101: expected a number less than or equal to 100"),
    (altering.config(("word_dim = 16", "word_dim = 100_000")), "model.safetensors: tensor embed.words.vectors: expected shape (1, 100000), found (1, 16)"),
    (altering.config(('train_scheme = "iobes"', 'train_scheme = "iob2"')), "vocabulary.json: expected tags of the scheme iob2, which the model learns, found 'S-LOC'"),
    (altering.config(('\nscheme = "iob2"', '\nscheme = "auto"')), "config.toml: data.scheme = 'auto': expected the scheme of the corpus"),
    (altering.config(("[head.label_weights]", "[head.label_weights]\nGPE = 2.0")), "config.toml: head.label_weights names the label 'GPE', which is not in the vocabulary"),
    (altering.config(("feature_columns = [\n    1,\n]", "feature_columns = []")), "vocabulary.json: expected values of 0 feature columns, as data.feature_columns has, found 1"),
    (altering.config(('task = "tag"', 'task = "classify"')), "vocabulary.json: expected no tags, as task = 'classify', found some"),
    (altering.config(('task = "tag"', 'task = "both"')), "vocabulary.json: expected classes, as task = 'both', found none"),
    (altering.config(("hidden = 16", "hidden = " + "9" * 5000)), "config.toml: is not TOML: a number has over 4,300 digits"),
    (altering.config(("hidden = 16", "hidden = 0x" + "f" * 5000)), "config.toml: encoder.hidden = a number of many digits: expected a number of at most 64 bits"),
    (altering.content("config.toml", ".".join("a" * 100_000).encode() + b" = 1"), "config.toml: is not a configuration: a dotted key has over 16 parts"),
    (altering.content("config.toml", b"[" + b".".join([b'"a"'] * 100_000) + b"]"), "config.toml: is not a configuration: a dotted key has over 16 parts"),
    (altering.content("config.toml", b"a = " + deep("[", "]").encode()), "config.toml: is not a configuration: nested too deeply"),
    (altering.content("config.toml", b"a = " + deep("{a=", "}").encode()), "config.toml: is not a configuration: nested too deeply"),
    (altering.content("config.toml", b"#" * 5_000_000), "config.toml: expected at most 4,194,304 bytes, found 5,000,000"),
    (altering.content("config.toml", b"\xff"), "config.toml: is not TOML: not UTF-8 at byte 1"),
    (altering.content("config.toml", b"task = 'nonsense'\0"), "config.toml: is not TOML: Expected newline or end of document after a statement (at line 1, column 18)"),
]  # fmt: skip

METADATA_ROWS: list[tuple[Alteration, str]] = [
    *((altering.metadata(format_version=value), f"metadata.json: damaged: expected a format_version of 1 or more, found {shown}")
      for value, shown in [(0, "0"), (-1, "-1"), (True, "true"), (1.0, "1.0"), ("1", '"1"'), (None, "null"), ([1], "[1]")]),
    (altering.metadata(format_version=99, tagkit="x" * 10_000), f"MODEL: made by tagkit {'x' * 40}...{'x' * 20} (format 99); this is tagkit {__version__} (reads up to 2). Upgrade tagkit to load it"),
    (altering.metadata(format_version=99, tagkit=[]), f"MODEL: made by tagkit a later version (format 99); this is tagkit {__version__} (reads up to 2). Upgrade tagkit to load it"),
    *((altering.metadata(sha256=value), f"metadata.json: damaged: expected the SHA-256 of model.safetensors in 64 hexadecimal digits, found {shown}")
      for value, shown in [([], "null"), (None, "null"), ({}, "null"), ("x", "null"), ({"model.safetensors": ["a"]}, '["a"]'), ({"model.safetensors": "A" * 64}, '"' + "A" * 64 + '"')]),
    (lambda model: (model / "metadata.json").write_text("[]"), "metadata.json: damaged: expected JSON with a format_version"),
    (lambda model: (model / "metadata.json").write_text(deep("[", "]")), "metadata.json: damaged: nested too deeply"),
    (altering.metadata(odd=json.loads(deep("[", "]", 40))), "metadata.json: damaged: nested too deeply"),
    (altering.metadata(dev_score=float("nan")), "metadata.json: damaged: NaN is not JSON"),
    (altering.metadata(labels=["\ud800"]), "metadata.json: damaged: text with half of a surrogate pair"),
    (lambda model: (model / "metadata.json").write_bytes(b" " * 20_000_000), "metadata.json: expected at most 16,777,216 bytes, found 20,000,000"),
]  # fmt: skip

ROWS = [*VOCABULARY_ROWS, *WEIGHTS_ROWS, *CONFIG_ROWS, *METADATA_ROWS]


def in_words(value: object) -> str:
    """The name of a row: its message, or the file that is altered; without any address."""
    return (
        value[:60] if isinstance(value, str) else getattr(value, "__qualname__", "").split(".")[0]
    )


@pytest.mark.parametrize(("alter", "message"), ROWS, ids=in_words)
def test_an_altered_tagger_is_refused_in_one_sentence(
    tagger: Path, tmp_path: Path, alter: Alteration, message: str
) -> None:
    model = Path(shutil.copytree(tagger, tmp_path / "model"))
    alter(model)
    began = time.process_time()
    found = refusal(model)
    assert time.process_time() - began < 5
    assert found == message


CLASSIFIER_ROWS: list[tuple[Alteration, str]] = [
    (altering.vocabulary(tags=["O"]), "vocabulary.json: expected no tags, as task = 'classify', found some"),
    (altering.vocabulary(classes=[]), "vocabulary.json: expected classes, as task = 'classify', found none"),
    (altering.vocabulary(classes=lambda old: [*old[:-1], ""]), "vocabulary.json: classes: expected no empty string, found one"),
    (altering.vocabulary(classes=lambda old: [*old[:-1], old[0]]), "vocabulary.json: classes: expected each string once, found 'order' again"),
    (altering.vocabulary(classes=lambda old: [*old, "more"]), "model.safetensors: tensor class_head.layers.1.weight: expected shape (4, 32), found (3, 32)"),
    (altering.config(('multi_label = "no"', 'multi_label = "auto"')), "config.toml: head.multi_label = 'auto': expected 'yes' or 'no'"),
    (altering.config(('pooling = "scaled-attention"', 'pooling = "auto"')), "config.toml: head.pooling = 'auto': expected a way to pool states"),
    (altering.config(('bag_of_words = 1024', 'bag_of_words = "auto"')), "model.safetensors: has an unknown tensor class_head.bag.bias; it does not fit the configuration"),
    (altering.config(('bag_of_words = 1024', 'bag_of_words = 16777216')), "model.safetensors: tensor class_head.bag.idf: expected shape (16777247,), found (1055,)"),
    (altering.config(('multi_label = "no"', 'multi_label = "no"\nthreshold = {nobody = 0.5}')), "config.toml: head.threshold names the class 'nobody', which is not in the vocabulary"),
    (altering.config(('class_weights = "none"', 'class_weights = {nobody = 0.5}')), "config.toml: head.class_weights names the class 'nobody', which is not in the vocabulary"),
    (altering.config(('task = "classify"', 'task = "tag"')), "vocabulary.json: expected tags, as task = 'tag', found none"),
]  # fmt: skip


@pytest.mark.parametrize(("alter", "message"), CLASSIFIER_ROWS, ids=in_words)
def test_an_altered_classifier_is_refused_in_one_sentence(
    classifier: Path, tmp_path: Path, alter: Alteration, message: str
) -> None:
    model = Path(shutil.copytree(classifier, tmp_path / "model"))
    alter(model)
    assert refusal(model) == message


@pytest.mark.parametrize("alter", DAMAGED_WEIGHTS)
def test_a_header_that_lies_is_refused(tagger: Path, tmp_path: Path, alter: Alteration) -> None:
    model = Path(shutil.copytree(tagger, tmp_path / "model"))
    alter(model)
    assert re.fullmatch(NOT_VALID, refusal(model))


def test_a_file_longer_or_shorter_than_its_header_says_is_refused(
    tagger: Path, tmp_path: Path
) -> None:
    model = Path(shutil.copytree(tagger, tmp_path / "model"))
    whole = (model / "model.safetensors").read_bytes()
    for data in (whole + b"12345", whole[:-7]):
        altering.content("model.safetensors", data)(model)
        assert re.fullmatch(NOT_VALID, refusal(model))


def put_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def put_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def put_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def put_lost_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


@pytest.mark.parametrize("name", ["model.safetensors", "config.toml", "vocabulary.json"])
@pytest.mark.parametrize(
    ("put", "problem"),
    [
        (put_folder, "a folder"),
        (put_pipe, "a device or a pipe"),
        (put_loop, "Too many levels"),
        (put_lost_link, "missing"),
    ],
)
def test_a_part_that_is_no_file_is_refused(
    tagger: Path, tmp_path: Path, name: str, put: Alteration, problem: str
) -> None:
    model = Path(shutil.copytree(tagger, tmp_path / "model"))
    put(model / name)
    assert refusal(model) == Says(f"{name}: ", problem)


def test_metadata_that_is_a_folder_and_names_that_no_system_takes_are_refused(
    tagger: Path, tmp_path: Path
) -> None:
    model = Path(shutil.copytree(tagger, tmp_path / "model"))
    put_folder(model / "metadata.json")
    assert refusal(model) == Says("metadata.json", "something")
    path = tmp_path / ("a" * 300)
    assert refusal(path) == Says("MODEL")
    assert refusal(Path("a\0b")) == Says("MODEL", "folder")


@pytest.mark.parametrize("name", ["model.safetensors", "metadata.json"])
def test_a_part_that_may_not_be_read_is_not_called_damaged(
    tagger: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    whole = Path.open

    def forbid(path: Path, *args: str) -> object:
        if path.name == name:
            raise PermissionError(13, "Permission denied", str(path))
        return whole(path, *args)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", forbid)
    assert refusal(tagger) == Says(name, "Permission")


def test_parts_that_are_links_to_files_are_read(tagger: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    for part in tagger.iterdir():
        (folder / part.name).symlink_to(part)
    assert load_bundle(folder).metadata == load_bundle(tagger).metadata


@pytest.mark.slow
def test_a_large_file_without_data_is_not_read_into_memory(tagger: Path, tmp_path: Path) -> None:
    model = Path(shutil.copytree(tagger, tmp_path / "model"))
    path = model / "model.safetensors"
    with path.open("r+b") as file:
        file.truncate(2**28)  # sparse: it takes no place
    program = (
        "import sys, torch\n"
        "from pathlib import Path\n"
        "from tagkit.cli.commands.benchmark import own_peak_mb\n"
        "from tagkit.errors import BundleError\n"
        "from tagkit.models.bundle.bundle import load_bundle\n"
        "before = own_peak_mb()\n"
        "try:\n    load_bundle(Path(sys.argv[1]))\n"
        "except BundleError as error:\n    print(own_peak_mb() - before, error)\n"
    )
    # A process of its own: the peak of this one is that of all tests before.
    command = [sys.executable, "-c", program, model]
    grown, _, told = subprocess.check_output(command, text=True).partition(" ")
    assert "cut short or altered" in told
    assert float(grown) < 100  # MB


def test_every_tensor_that_is_loaded_has_memory_and_is_the_one_saved(
    tagger: Path, classifier: Path
) -> None:
    for folder in (tagger, classifier):
        model = load_bundle(folder).model
        saved = load_file(folder / "model.safetensors")
        for name, tensor in model.state_dict().items():
            assert torch.equal(tensor, saved[name])
        for tensor in (*model.parameters(), *model.buffers()):
            assert tensor.device.type == "cpu"
        assert all(parameter.requires_grad for parameter in model.parameters())
        for module in model.modules():
            if isinstance(module, torch.nn.RNNBase):
                own = [id(parameter) for parameter in module.parameters()]
                assert [id(weight) for weight in module._flat_weights] == own


def test_what_is_not_saved_is_that_of_a_model_built_anew(tagger: Path, classifier: Path) -> None:
    from tagkit.models.task_table import task_of

    for folder in (tagger, classifier):
        bundle = load_bundle(folder)
        fresh = dict(
            task_of(bundle.config).build(bundle.config, bundle.vocabulary, None).named_buffers()
        )
        loaded = dict(bundle.model.named_buffers())
        assert fresh.keys() == loaded.keys()
        for name in fresh.keys() - bundle.model.state_dict().keys():
            assert torch.equal(fresh[name], loaded[name])


def test_loading_leaves_the_random_state_alone(tagger: Path) -> None:
    state = torch.random.get_rng_state()
    load_bundle(tagger)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_a_classifier_that_began_with_a_tagger_may_have_kept_its_tags(
    classifier: Path, tmp_path: Path
) -> None:
    model = Path(shutil.copytree(classifier, tmp_path / "model"))
    altering.config(('init_from = ""', 'init_from = "models/tagger"'))(model)
    altering.vocabulary(tags=["O", "S-PER"])(model)
    assert load_bundle(model).vocabulary.tags == ("O", "S-PER")


def test_finite_weights_far_out_of_range_give_an_error_and_no_nan(
    classifier: Path, tmp_path: Path
) -> None:
    model = Path(shutil.copytree(classifier, tmp_path / "model"))
    altering.tensor("class_head.layers.1.weight", lambda old: torch.full_like(old, 3e38))(model)
    for way in ("forwards", "backwards"):  # gates that are open: states near 1, whose sum overflows
        name = f"encoder.layers.0.{way}.bias_ih_l0"
        altering.tensor(name, lambda old: torch.full_like(old, 1000))(model)
    with pytest.raises(BundleError) as caught:
        load(model, "cpu").predict("Ada visits Oslo .", confidence=True)
    assert str(caught.value) == (
        "the model's probabilities are not numbers: its weights are damaged or far out of range; "
        "train it again"
    )


def test_json_has_null_where_a_number_is_not_finite() -> None:
    value = {"a": float("nan"), "b": [float("inf"), 1.5], "c": (float("-inf"), "é")}
    assert to_json(value) == '{"a": null, "b": [null, 1.5], "c": [null, "é"]}'


@pytest.mark.slow
def test_three_hundred_thousand_words_are_checked_in_a_second() -> None:
    names = [f"word{number}" for number in range(300_000)]
    values = {
        "words": names, "vector_words": names, "only_vectors": False, "chars": ["a"],
        "tags": ["O"], "classes": [], "features": [names], "lowercase": True,
        "normalize_digits": False,
    }  # fmt: skip
    began = time.process_time()
    vocabulary = Vocabulary.from_dict(values)
    json.dumps(vocabulary.to_dict())
    with refuses(ValueError, "'word299998'", "again"):
        Vocabulary.from_dict({**values, "words": [*names[:-1], names[-2]]})
    assert time.process_time() - began < 4


ODD: list[object] = [  # one of each type of JSON first
    None,
    10**400,
    "x" * 10_000,
    [[[]]],
    {"tags": {"scheme": []}, "whole": 1},
    True,
    -1,
    1.5,
    "x",
    [],
    [1],
    {},
    {"a": [{}]},
]


@pytest.mark.parametrize("odd", mostly_slow(ODD, always=5), ids=lambda value: repr(value)[:30])
def test_info_shows_a_model_whatever_its_metadata_say(
    tagger: Path, tmp_path: Path, odd: object
) -> None:
    model = Path(shutil.copytree(tagger, tmp_path / "model"))
    known = json.loads((model / "metadata.json").read_text())
    keys = [key for key in known if key not in ("sha256", "format_version")]
    everything = dict.fromkeys(keys, odd)
    inner = {key: dict.fromkeys(known[key], odd) for key in ("data", "scores") if key in known}
    leaves = {
        key: {name: dict.fromkeys(table, odd) for name, table in known[key].items() if table}
        for key in ("data", "scores")
        if key in known
    }
    for parts in (everything, inner, leaves):
        altering.metadata(**parts)(model)
        found = CliRunner().invoke(app, ["info", str(model)])
        assert found.exit_code == 0, found.output
        assert "BiLSTM with CRF" in found.stdout
        assert len(found.stdout) < 20_000
        as_json = CliRunner().invoke(app, ["info", "--json", str(model)])
        assert json.loads(as_json.stdout)["config"]["task"] == "tag"


def test_info_shows_a_question_mark_where_there_is_no_number(tagger: Path, tmp_path: Path) -> None:
    model = Path(shutil.copytree(tagger, tmp_path / "model"))
    altering.metadata(parameters="many", epoch=None, scores={"dev": {"scheme": "IOB2"}})(model)
    found = CliRunner().invoke(app, ["info", str(model)]).stdout
    assert "BiLSTM with CRF and CRF of word features, ? parameters\n" in found
    assert "epoch       ? of 1, seed 1\n" in found
    assert "dev F1      ? (?)\n" in found


def test_saving_what_was_loaded_writes_the_same_parts(tagger: Path, tmp_path: Path) -> None:
    bundle = load_bundle(tagger)
    save_bundle(tmp_path / "again", bundle.model, bundle.vocabulary, bundle.config, {})
    for name in ("model.safetensors", "vocabulary.json", "config.toml"):
        assert (tmp_path / "again" / name).read_bytes() == (tagger / name).read_bytes()


MUTATIONS = 1500


@pytest.mark.slow
def test_any_mutation_gives_a_working_model_or_a_refusal_within_bounds(
    tagger: Path, classifier: Path, tmp_path: Path
) -> None:
    script = Path(__file__).parents[1] / "support" / "mutate_bundle.py"
    command = [sys.executable, script, tmp_path / "scratch", str(MUTATIONS), tagger, classifier]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    working, refused = map(int, done.stdout.split())
    assert working + refused >= MUTATIONS
    assert 0 < working < refused


@pytest.mark.slow
def test_loading_a_model_does_not_import_torch_s_compiler(tagger: Path) -> None:
    program = (
        "import sys, torch, tagkit.inference.predict.predictor\n"
        "before = set(sys.modules)\n"
        "tagkit.inference.predict.predictor.load(sys.argv[1], 'cpu')\n"
        "new = {name for name in set(sys.modules) - before if name.startswith('torch.')}\n"
        "sys.exit(', '.join(sorted(new)) if len(new) > 10 else 0)"
    )
    subprocess.run([sys.executable, "-c", program, str(tagger)], check=True, timeout=60)
