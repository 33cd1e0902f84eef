"""A model on disk, and models inside other models."""
