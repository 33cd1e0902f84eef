"""Digests of altered models."""

import hashlib
import json
from pathlib import Path


def redigest(model: Path) -> None:
    """Make the metadata agree with the files as they are now."""
    metadata = json.loads((model / "metadata.json").read_text())
    for name in metadata["sha256"]:
        metadata["sha256"][name] = hashlib.sha256((model / name).read_bytes()).hexdigest()
    (model / "metadata.json").write_text(json.dumps(metadata))
