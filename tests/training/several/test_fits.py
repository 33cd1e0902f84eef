"""What cannot be trained removes nothing, with `force` either."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import tiny
from marks import mostly_slow
from says import refuses

from tagkit.config import Config
from tagkit.config.search_space import parse_spaces
from tagkit.errors import ConfigError, TagkitError
from tagkit.training.several.learning_curve import learning_curve
from tagkit.training.several.seeds import train_seeds
from tagkit.training.several.tune import tune
from tagkit.training.trainer import device_of, train

Command = Callable[[Config, bool], object]


def search(config: Config, force: bool) -> object:
    pytest.importorskip("optuna")
    return tune(config, parse_spaces(["encoder.hidden=4,5"]), trials=1, force=force)


COMMANDS: Mapping[str, Command] = {
    "train": lambda config, force: train(config, force=force),
    "seeds": lambda config, force: train_seeds(config, force=force),
    "tune": search,
    "learning-curve": lambda config, force: learning_curve(config, (20, 40, 80), force=force),
}


def settings(folder: Path, command: str, *overrides: str) -> Config:
    several = ("train.seeds=[1]",) if command == "seeds" else ()
    flags = dict(each.split("=", 1) for each in overrides if each.startswith("data."))
    others = [each for each in overrides if not each.startswith("data.")]
    return tiny.config(folder, "train.max_epochs=1", *several, *others, **flags)


def files(folder: Path) -> dict[str, bytes]:
    """What is in the files there, by name."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module", params=COMMANDS)
def done(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """A command, and the folder in which it has written `model`."""
    folder = tmp_path_factory.mktemp(request.param)
    COMMANDS[request.param](settings(folder, request.param), False)
    return request.param, folder


WRONG = {
    "embeddings.vectors=missing.vec": "missing.vec",
    "train.init_from=nowhere": "nowhere",
    "embeddings.contextual=['nowhere']": "nowhere",
    "train.device=cpu train.precision=fp16": "GPU",
    "data.train_file=missing.conll": "missing.conll",
    "data.dev_file=missing.conll": "missing.conll",
    "train.metric=f1:NOWHERE": "NOWHERE",
    "data.scheme=labels head.tag_sharing=true": "head.tag_sharing",
}


@pytest.mark.parametrize("wrong", mostly_slow(WRONG, always=1))
def test_what_cannot_be_trained_removes_nothing(done: tuple[str, Path], wrong: str) -> None:
    command, folder = done
    before = files(folder / "model")
    with refuses(TagkitError, WRONG[wrong]):
        COMMANDS[command](settings(folder, command, *wrong.split()), True)
    assert files(folder / "model") == before


READ = [
    "train.init_from={}/best",
    "data.dev_file={}/dev.gold",
    "embeddings.contextual=['{}/best']",
    "data.train_file={}/dev.pred",
    "data.weights={}/weights.jsonl",
    "embeddings.vectors={}/own.vec",
]


@pytest.mark.parametrize("read", mostly_slow(READ, always=2))
def test_what_is_read_from_the_folder_that_is_replaced_is_refused(
    done: tuple[str, Path], read: str
) -> None:
    command, folder = done
    model = folder / "model"
    before = files(model)
    with refuses(ConfigError, "replaced"):
        COMMANDS[command](settings(folder, command, read.format(model)), True)
    assert files(model) == before


def test_fp16_takes_a_gpu(tmp_path: Path) -> None:
    with refuses(TagkitError, "train.precision", "'fp16'", "GPU"):
        device_of(tiny.config(tmp_path, "train.device=cpu", "train.precision=fp16"))
    assert device_of(tiny.config(tmp_path, "train.device=cpu")).type == "cpu"
