"""A file's lines <-> Sentences: one file a format."""
