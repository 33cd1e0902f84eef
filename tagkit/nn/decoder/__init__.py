"""Encoder-decoder networks: attention, and a decoder that writes a sequence unit by unit."""
