"""Alterations of a model folder, whose digests are made to agree with it again."""

import hashlib
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

WEIGHTS, CONFIG, VOCABULARY, METADATA = (
    "model.safetensors",
    "config.toml",
    "vocabulary.json",
    "metadata.json",
)
Alteration = Callable[[Path], None]


def redigest(model: Path) -> None:
    """Make the metadata agree with the files as they are now."""
    metadata = json.loads((model / METADATA).read_text())
    for name in metadata["sha256"]:
        metadata["sha256"][name] = hashlib.sha256((model / name).read_bytes()).hexdigest()
    (model / METADATA).write_text(json.dumps(metadata))


def content(name: str, data: bytes) -> Alteration:
    """Other bytes in place of a part's."""

    def alter(model: Path) -> None:
        (model / name).write_bytes(data)
        redigest(model)

    return alter


def vocabulary(**parts: Any) -> Alteration:
    """Other parts of the vocabulary, each a value or what makes one of the old."""

    def alter(model: Path) -> None:
        values = json.loads((model / VOCABULARY).read_text())
        for name, value in parts.items():
            values[name] = value(values[name]) if callable(value) else value
        (model / VOCABULARY).write_text(json.dumps(values))
        redigest(model)

    return alter


def config(*pairs: tuple[str, str]) -> Alteration:
    """Other text in the configuration."""

    def alter(model: Path) -> None:
        text = (model / CONFIG).read_text()
        for old, new in pairs:
            assert old in text, old
            text = text.replace(old, new)
        (model / CONFIG).write_text(text)
        redigest(model)

    return alter


def metadata(**parts: Any) -> Alteration:
    """Other values in the metadata."""

    def alter(model: Path) -> None:
        path = model / METADATA
        path.write_text(json.dumps({**json.loads(path.read_text()), **parts}))

    return alter


def tensor(name: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Alteration:
    """Another tensor in place of one."""

    def alter(model: Path) -> None:
        weights = load_file(model / WEIGHTS)
        weights[name] = change(weights[name])
        save_file(weights, model / WEIGHTS)
        redigest(model)

    return alter


def number(name: str, value: float) -> Alteration:
    """One number of a tensor."""

    def change(old: torch.Tensor) -> torch.Tensor:
        old.view(-1)[-1] = value
        return old

    return tensor(name, change)


def header(change: Callable[[dict[str, Any]], object]) -> Alteration:
    """Another header of the weights, the data as they are."""

    def alter(model: Path) -> None:
        found, data = split_weights((model / WEIGHTS).read_bytes())
        change(found)
        (model / WEIGHTS).write_bytes(join_weights(json.dumps(found).encode(), data))
        redigest(model)

    return alter


def split_weights(raw: bytes) -> tuple[dict[str, Any], bytes]:
    """Header and data of a safetensors file."""
    (length,) = struct.unpack("<Q", raw[:8])
    return json.loads(raw[8 : 8 + length]), raw[8 + length :]


def join_weights(header: bytes, data: bytes) -> bytes:
    """A safetensors file."""
    return struct.pack("<Q", len(header)) + header + data
