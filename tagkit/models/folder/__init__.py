"""The folder of a model: where it is, and what it holds beside the weights. No torch."""
