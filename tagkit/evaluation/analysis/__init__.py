"""What is behind a score: kinds of errors, slices, doubts, learning curves."""
