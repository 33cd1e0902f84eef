"""Formats in which a line is a text."""
