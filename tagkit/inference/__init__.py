"""A model and text -> answers: predictor, streaming, workers, rendering, scoring."""
