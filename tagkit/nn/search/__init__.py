"""Beam search over models that are read step by step."""
