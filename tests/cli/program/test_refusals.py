"""What a flag that does not exist is answered with: the option that is meant."""

from pathlib import Path

import pytest
from program import Program
from says import Says

from tagkit.cli.program import refusals
from tagkit.cli.program.refusals import remedy_for
from tagkit.config import Config, load_config, option_names, options_of

TRAIN = {"device": "--device", "train.device": "--device", "data.train_file": "--train"}


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("train --max-epochs 3", "--max-epochs; use --set train.max_epochs=VALUE"),
        ("train --lr=0.1", "--lr; use --set train.lr=VALUE"),
        ("train -lr 0.1", "-lr; use --set train.lr=VALUE"),
        ("train -epoch 5", "-epoch; use --set train.max_epochs=VALUE"),
        ("train --crf", "--crf; use --set head.kind=crf"),
        ("train --hidden 5",
         "--hidden; use --set encoder.hidden=VALUE or --set decoder.hidden=VALUE or "
         "--set head.hidden=VALUE"),
        ("train --gpu 0", "--gpu; use --device cuda"),
        ("train --encoder.word-dropout 1",
         "--encoder.word-dropout; use --set encoder.word_dropout=VALUE"),
        ("train --lerning-rate 3", "--lerning-rate; use --set train.lr=VALUE"),
        ("train --glove x", "--glove; use --vectors"),
        ("train --trian x", "--trian (Possible options: --metric, --threads, --train)"),
        ("tune --epochs 3", "--epochs; use --set train.max_epochs=VALUE"),
        ("predict --bs 3", "--bs; use --batch-size"),
        ("predict --epochs 3", "--epochs"),  # nothing that predicting has
        ("train --zzz", "--zzz"),
    ],
)  # fmt: skip
def test_a_flag_that_is_an_option_or_the_word_of_another_program_names_what_sets_it(
    tagkit: Program, typed: str, answer: str
) -> None:
    ended = tagkit(*typed.split())
    assert ended.code == 2
    assert ended.err.endswith(f"\nError: No such option: {answer}\n")


def test_every_option_is_named_by_its_last_part_and_every_word_of_a_peer_means_an_option() -> None:
    for option in option_names():
        typed = f"--{option.rpartition('.')[2].replace('_', '-')}"
        assert TRAIN.get(option, f"--set {option}=") in remedy_for(typed, TRAIN, option_names())
    for name, setting in refusals._NAMES_OF_PEERS.items():
        option, _, value = setting.partition("=")
        assert option in options_of(Config)
        assert name not in {each.rpartition(".")[2] for each in option_names()}
        if value:
            load_config(None, [setting])


def test_vectors_are_a_flag_of_every_training(tagkit: Program, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("Ada B-x\n\n" * 20)
    for command in ("train", "tune", "learning-curve", "config"):
        output = () if command == "config" else ("-o", tmp_path / "out")
        given = ("--train", tmp_path / "a", "--vectors", tmp_path / "none.txt", *output)
        ended = tagkit(command, *given)
        assert (ended.code, ended.err) == (1, Says("none.txt", "no such file"))
