"""Strings alone: records, tag schemes, tokens, windows."""
