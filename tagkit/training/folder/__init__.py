"""The folder of a run: what is in it, what is a run's own, checkpoints."""
