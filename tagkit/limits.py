"""Sizes that the commands and the library share; it imports nothing, so that help is quick."""

BATCH_SIZE = 128  # sentences a batch of prediction
MAX_LENGTH = 4096  # words; longer sentences are tagged in windows
MAX_LINE_CHARS = 100_000_000  # of one line, or of a text in a file of its own; more is refused
