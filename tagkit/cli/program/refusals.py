"""A wrong command line: options that do not exist, have no effect, or contradict each other."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from tagkit.errors import ConfigError

# What other programs call options of the configuration, in small letters and with underscores.
_NAMES_OF_PEERS = {
    "amp": "train.precision=bf16", "autotune_validation": "data.dev_file",
    "bilstm": "encoder.bidirectional", "bs": "train.batch_size", "clip": "train.max_grad_norm",
    "cpu": "train.device=cpu", "crf": "head.kind=crf", "cuda": "train.device=cuda",
    "dim": "embeddings.word_dim", "early_stopping": "train.patience",
    "embedding": "embeddings.vectors", "embedding_dim": "embeddings.word_dim",
    "embeddings": "embeddings.vectors", "epoch": "train.max_epochs", "epochs": "train.max_epochs",
    "fp16": "train.precision=fp16", "glove": "embeddings.vectors", "gpu": "train.device=cuda",
    "grad_clip": "train.max_grad_norm", "hidden_dim": "encoder.hidden",
    "hidden_size": "encoder.hidden", "input": "data.train_file", "iteration": "train.max_epochs",
    "l2": "train.weight_decay", "learning_rate": "train.lr", "lstm_layer": "encoder.layers",
    "max_norm": "train.max_grad_norm", "max_steps": "train.max_epochs",
    "mincount": "embeddings.min_count", "mini_batch_size": "train.batch_size",
    "model_type": "encoder.cell", "n_epochs": "train.max_epochs", "no_crf": "head.kind=softmax",
    "no_cuda": "train.device=cpu", "no_gpu": "train.device=cpu", "num_epochs": "train.max_epochs",
    "num_layers": "encoder.layers", "num_train_epochs": "train.max_epochs",
    "pretrainedvectors": "embeddings.vectors", "rnn_dropout": "encoder.locked_dropout",
    "rnn_type": "encoder.cell", "scheduler": "train.schedule",
    "thread": "train.threads", "use_crf": "head.kind=crf", "use_gpu": "train.device=cuda",
    "valid": "data.dev_file", "validation": "data.dev_file", "warmup": "train.warmup_steps",
    "word_emb_dim": "embeddings.word_dim", "word_seq_feature": "encoder.cell",
    "wordngrams": "head.bag_of_words", "wordvec_file": "embeddings.vectors",
}  # fmt: skip


def remedy_for(typed: str, flags: Mapping[str, str], names: Sequence[str]) -> str:
    """What sets the option of the configuration that an unknown flag means; empty for no such one.

    Args:
        typed: the flag.
        flags: those of the command, by their fields and by the options that they set.
        names: of all options of the configuration; none where the command has no --set.
    """
    name = typed.lstrip("-").lower().translate({ord("-"): "_", ord("."): "_"})
    meant: dict[str, list[str]] = {}
    for option in names:
        for spelled in (option.replace(".", "_"), option.rpartition(".")[2]):
            meant.setdefault(spelled, []).append(option)
    known = meant | {peers: [option] for peers, option in _NAMES_OF_PEERS.items()}
    # A near name, unless it is nearer to a flag: of this command alone.
    near = [name] if name in known else difflib.get_close_matches(
        name, [flag.lstrip("-").replace("-", "_") for flag in flags.values()] + [*known], 1, 0.8
    )  # fmt: skip
    found = []
    for setting in known.get(near[0], ()) if near else ():
        option, _, value = setting.partition("=")
        # A command without a configuration may have a flag of the same name: --device.
        flag = flags.get(option) or flags.get(option.rpartition(".")[2])
        if flag:
            found.append(f"{flag} {value}".rstrip())
        elif names:
            found.append(f"--set {option}={value or 'VALUE'}")
    return " or ".join(found)


def refuse(given: Mapping[str, bool], because: str) -> None:
    """Refuse options that would have no effect.

    Raises:
        typer.BadParameter: one is given.
    """
    for option, is_given in given.items():
        if is_given:
            raise typer.BadParameter(f"{option} {because}")


def refuse_contradictions(command: str, options: Any, of_seed: str, resumed: str) -> None:
    """Refuse two options of a training that contradict each other: neither may win in silence.

    Args:
        command: its name.
        options: of the command, with --seed, --seeds, --resume and --force among them.
        of_seed: what one seed is for.
        resumed: what --resume continues.

    Raises:
        ConfigError: two of them are given.
    """
    problem = ""
    if options.seed is not None and options.seeds is not None:
        problem = f"--seed is for one {of_seed}, --seeds for several: name one"
    elif options.resume and options.force:
        problem = f"--resume continues the {resumed}, --force starts a new one: name one"
    if problem:
        raise ConfigError(f"tagkit {command}", [problem])
