"""A model and a corpus -> scores."""
