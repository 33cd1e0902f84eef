"""A model and sentences -> predictions."""
