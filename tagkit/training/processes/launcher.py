"""What a launcher of several processes says: torchrun and others set RANK and WORLD_SIZE.

Commands ask before they import torch, so this module imports nothing.
"""

import os


def is_first() -> bool:
    """Whether this process is the one that writes and prints."""
    return os.environ.get("RANK", "0") == "0"


def is_alone() -> bool:
    """Whether there is one process only."""
    return os.environ.get("WORLD_SIZE", "1") == "1"
