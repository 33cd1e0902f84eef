"""The state of the training loop, its batches, losses and times."""
