"""Predictions as lines, cells, JSON and marked text."""
