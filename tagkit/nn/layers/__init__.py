"""Embedding, encoder and the layers between, for training and for cached inference."""
