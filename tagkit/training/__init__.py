"""The loop, and what serves it: setup, optimizer, checkpoints, seeds, search."""
