"""Reports of a score, and their text."""
