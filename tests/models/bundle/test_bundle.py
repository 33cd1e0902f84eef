"""A model as a folder: what is saved comes back, and what is damaged is refused in one sentence."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from redigesting import redigest
from safetensors.torch import load_file, save_file
from says import Says, refuses

from tagkit import __version__, read
from tagkit.errors import BundleError, DataError
from tagkit.inference.predict.predictor import load
from tagkit.models.bundle import bundle as bundles
from tagkit.models.bundle.bundle import FORMAT_VERSION, load_bundle, save_bundle
from tagkit.models.folder.parts import find_bundle
from tagkit.training.trainer import train

_TEXT = "Ada Miller visits Cape Town ."


@pytest.fixture(scope="module")
def trained_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    train(tiny.config(folder, "train.max_epochs=2"))
    return folder / "model"


@pytest.fixture
def model(trained_folder: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    shutil.copytree(trained_folder / "best", tmp_path / "model")
    return tmp_path / "model"


def test_the_folder_holds_four_files_and_no_pickle(model: Path) -> None:
    names = sorted(path.name for path in model.iterdir())
    assert names == ["config.toml", "metadata.json", "model.safetensors", "vocabulary.json"]


@pytest.mark.slow
def test_a_model_predicts_the_same_after_save_and_load_in_a_new_process(
    trained_folder: Path,
) -> None:
    here = load(trained_folder).predict(_TEXT, confidence=True)
    program = (
        "import sys, tagkit\n"
        f"tagged = tagkit.load(sys.argv[1]).predict({_TEXT!r}, confidence=True)\n"
        "sys.stdout.write(repr(tagged))"
    )
    command = [sys.executable, "-c", program, str(trained_folder)]
    there = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert there.stdout == repr(here)


def test_a_run_s_folder_and_its_best_and_last_can_all_be_loaded(trained_folder: Path) -> None:
    run = load_bundle(trained_folder).metadata
    assert run == load_bundle(trained_folder / "best").metadata
    assert load_bundle(trained_folder / "last").metadata["epoch"] == 2
    assert run["scores"]["test"]["mode"] == "conlleval-compatible"
    assert run["data"]["train"]["sentences"] == 80


def test_neither_a_run_nor_a_model_of_it_is_a_corpus(trained_folder: Path) -> None:
    for folder in (trained_folder, trained_folder / "best"):
        with pytest.raises(DataError) as caught:
            list(read(folder))
        assert str(caught.value) == Says(folder, "corpus")


def test_no_part_of_a_loaded_model_is_left_in_training(model: Path) -> None:
    # Else the first call would turn dropout off part by part, while other threads predict already.
    assert not any(part.training for part in load_bundle(model).model.modules())


def test_metadata_holds_the_digests_of_weights_and_corpora(model: Path) -> None:
    metadata = json.loads((model / "metadata.json").read_text())
    for name, digest in metadata["sha256"].items():
        assert digest == hashlib.sha256((model / name).read_bytes()).hexdigest()
    train_file = Path(metadata["data"]["train"]["file"])
    expected = hashlib.sha256(train_file.read_bytes()).hexdigest()
    assert metadata["data"]["train"]["sha256"] == expected


def test_saving_again_replaces_the_old_model_and_leaves_nothing_beside_it(
    model: Path, tmp_path: Path
) -> None:
    bundle = load_bundle(model)
    save_bundle(model, bundle.model, bundle.vocabulary, bundle.config, {"epoch": 77})
    assert load_bundle(model).metadata["epoch"] == 77
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_disk_that_fills_up_leaves_the_old_model(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = load_bundle(model)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with refuses(BundleError, "written"):
        save_bundle(model, bundle.model, bundle.vocabulary, bundle.config, {"epoch": 78})
    assert load_bundle(model).metadata["epoch"] != 78


def test_a_stop_between_the_two_renames_leaves_the_old_model_to_be_found(model: Path) -> None:
    model.rename(model.with_name(".model.old"))
    assert load_bundle(model).metadata["epoch"] in (1, 2)


def damage_nothing(model: Path) -> None:
    shutil.rmtree(model)


def without(name: str) -> Callable[[Path], None]:
    return lambda model: (model / name).unlink()


def cut_short(model: Path) -> None:
    path = model / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def altered(model: Path) -> None:
    path = model / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def altered_vocabulary(model: Path) -> None:
    path = model / "vocabulary.json"
    path.write_text(path.read_text().replace("oslo", "omsk"))


def newer(model: Path) -> None:
    path = model / "metadata.json"
    metadata = json.loads(path.read_text())
    path.write_text(json.dumps({**metadata, "format_version": 99, "tagkit": "9.0"}))


def damaged_metadata(model: Path) -> None:
    (model / "metadata.json").write_text('{"format_version": 1, ')


def wrong_shape(model: Path) -> None:
    weights = load_file(model / "model.safetensors")
    weights["head.linear.weight"] = torch.zeros(3, 32)
    save_file(weights, model / "model.safetensors")
    redigest(model)


def missing_tensor(model: Path) -> None:
    weights = load_file(model / "model.safetensors")
    del weights["head.linear.bias"]
    save_file(weights, model / "model.safetensors")
    redigest(model)


def extra_tensor(model: Path) -> None:
    weights = load_file(model / "model.safetensors")
    save_file({**weights, "evil": torch.zeros(1)}, model / "model.safetensors")
    redigest(model)


def not_safetensors(model: Path) -> None:
    (model / "model.safetensors").write_bytes(b"\x80\x04pickle")
    redigest(model)


def unknown_option(model: Path) -> None:
    path = model / "config.toml"
    path.write_text(path.read_text().replace("hidden = 16", "hiden = 16"))
    redigest(model)


def without_dimension_of_affixes(model: Path) -> None:
    path = model / "config.toml"
    path.write_text(path.read_text().replace("affix_dim = 50\n", ""))  # as in a model of 0.1.0
    redigest(model)


def without_affixes(model: Path) -> None:
    path = model / "vocabulary.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "affixes": []}))
    redigest(model)


def more_affixes(model: Path) -> None:
    path = model / "vocabulary.json"
    entries = json.loads(path.read_text())
    path.write_text(json.dumps({**entries, "affixes": [*entries["affixes"], "-zz"]}))
    redigest(model)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_nothing, Says("model", "folder")),
        (without("metadata.json"), Says("metadata.json")),
        (without("model.safetensors"), Says("model.safetensors")),
        (without("config.toml"), Says("config.toml", "missing")),
        (without("vocabulary.json"), Says("vocabulary.json")),
        (cut_short, Says("model.safetensors")),
        (altered, Says("model.safetensors")),
        (altered_vocabulary, Says("vocabulary.json")),
        (
            newer,
            Says("9.0", "99", __version__, FORMAT_VERSION),
        ),
        (damaged_metadata, Says("metadata.json", "JSON", "1", "23")),
        (wrong_shape, Says("head.linear.weight", "7", "32", "3", "tensor")),
        (missing_tensor, Says("head.linear.bias", "configuration")),
        (extra_tensor, Says("configuration")),
        (not_safetensors, Says("model.safetensors")),
        (unknown_option, Says("encoder.hiden", "encoder.hidden")),
        (without_dimension_of_affixes, Says("config.toml", "embeddings.affix_dim", "0")),
        (without_affixes, Says("model.safetensors", "embed.affixes.table.weight")),
        (more_affixes, Says("model.safetensors", "embed.affixes.table.weight")),
    ],
)
def test_a_damaged_model_is_refused_with_one_clear_sentence(
    model: Path, damage: Callable[[Path], None], message: str
) -> None:
    damage(model)
    with refuses(BundleError, message) as caught:
        load_bundle(model)
    assert "\n" not in str(caught.value)


def test_the_last_model_does_not_answer_for_a_best_one_that_has_lost_a_file(
    trained_folder: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained_folder, run)
    (run / "best" / "metadata.json").unlink()
    with pytest.raises(BundleError) as caught:
        load_bundle(run)
    assert str(caught.value) == (
        f"{run / 'best'}: metadata.json is missing; this is not a whole model"
    )


@pytest.mark.parametrize(
    ("lost", "remedy"),
    [
        (["best"], ", resume the run, or name RUN/last for that of the last epoch"),
        (["best", "last"], ", or resume the run"),
    ],
)
def test_the_last_model_does_not_answer_for_a_best_one_that_is_lost(
    lost: list[str], remedy: str, trained_folder: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained_folder, run)
    for name in lost:
        shutil.rmtree(run / name)
    with pytest.raises(BundleError) as caught:
        load_bundle(run)
    assert str(caught.value) == (
        f"{run}: its best model is missing (best/); restore it{remedy.replace('RUN', str(run))}"
    )
    if "last" not in lost:
        assert load_bundle(run / "last").metadata["epoch"] == 2


def test_a_run_that_was_stopped_before_the_first_score_has_the_last_model(
    trained_folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(trained_folder / "last", tmp_path / "run" / "last")
    assert find_bundle(tmp_path / "run") == tmp_path / "run" / "last"
    (tmp_path / "run" / "history.jsonl").touch()  # without a line no epoch has been scored
    assert find_bundle(tmp_path / "run") == tmp_path / "run" / "last"


def test_a_folder_that_is_no_model_is_refused(tmp_path: Path) -> None:
    with refuses(BundleError, "metadata"):
        load_bundle(tmp_path)


@pytest.mark.parametrize("name", [".tagkit-run.lock", "tagkit-run.json"])
def test_a_run_that_was_killed_before_it_saved_a_model_is_said_to_be_one(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).touch()
    with pytest.raises(BundleError) as caught:
        load_bundle(tmp_path)
    assert str(caught.value) == (Says(tmp_path, "resume"))


def test_a_learning_curve_is_said_to_have_no_model(tmp_path: Path) -> None:
    for name in ("learning-curve.json", "tagkit-run.json"):
        (tmp_path / name).touch()
    with pytest.raises(BundleError) as caught:
        load_bundle(tmp_path)
    assert str(caught.value) == (Says(tmp_path, "learning"))


def test_of_trainings_with_several_seeds_that_were_killed_one_can_be_named(tmp_path: Path) -> None:
    for name in ("seed-10", "seed-2", "seeds", "seed-2x"):
        (tmp_path / name).mkdir()
    with refuses(BundleError, f"{tmp_path}: ", "(seed-10, seed-2)"):
        load_bundle(tmp_path)


def test_a_file_is_no_model_folder(tmp_path: Path) -> None:
    file = tmp_path / "model.txt"
    file.touch()
    with refuses(BundleError, "txt", "folder"):
        load_bundle(file)


@pytest.mark.cuda
def test_a_model_trained_on_a_gpu_predicts_the_same_on_a_cpu(tmp_path: Path) -> None:
    trained = train(tiny.config(tmp_path, "train.device=cuda", "train.max_epochs=2"))
    assert trained.predictor.device.type == "cuda"
    on_cpu = load(trained.folder, device="cpu").predict(_TEXT, confidence=True)
    on_gpu = trained.predictor.predict(_TEXT, confidence=True)
    assert [token.tag for token in on_cpu.tokens] == [token.tag for token in on_gpu.tokens]
    for here, there in zip(on_cpu.spans, on_gpu.spans, strict=True):
        assert here.probability == pytest.approx(there.probability, abs=1e-3)


def test_the_folder_in_which_one_is_can_be_named(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(model)
    assert load_bundle(Path(".")).metadata["parameters"] > 0
    monkeypatch.chdir(tmp_path)
    with refuses(BundleError, "folder"):
        load_bundle(Path("."))


@pytest.mark.parametrize("times", [1, 2])
def test_a_model_that_is_replaced_while_it_is_read_is_read_again(
    model: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    bundle = load_bundle(model)
    whole, replaced = bundles._read_weights, []

    def late(*given: Any) -> Any:
        if len(replaced) < times:
            with torch.no_grad():
                next(bundle.model.parameters()).add_(1)
            replaced.append(1)
            save_bundle(model, bundle.model, bundle.vocabulary, bundle.config, {"epoch": 80})
        return whole(*given)

    monkeypatch.setattr(bundles, "_read_weights", late)
    found = load_bundle(model)
    assert len(replaced) == times
    assert found.metadata["epoch"] == 80
    expected = bundle.model.state_dict()
    assert all(
        torch.equal(value, expected[name]) for name, value in found.model.state_dict().items()
    )


def test_a_damaged_model_that_nobody_replaces_is_read_once(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_short(model)
    readings = []
    whole = bundles._read_weights
    monkeypatch.setattr(bundles, "_read_weights", lambda *a: readings.append(1) or whole(*a))
    with refuses(BundleError, "altered"):
        load_bundle(model)
    assert len(readings) == 1
