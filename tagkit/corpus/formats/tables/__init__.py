"""Comma- and tab-separated tables of texts."""
