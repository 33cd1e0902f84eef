"""Formats of several files or a folder."""
