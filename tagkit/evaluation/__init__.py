"""Scores from labels."""
