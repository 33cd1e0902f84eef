"""The formats of corpora: one module a format, and one table."""
