"""Gold and predicted labels -> counts, scores, metrics, intervals."""
