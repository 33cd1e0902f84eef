"""Several tag columns at once."""
