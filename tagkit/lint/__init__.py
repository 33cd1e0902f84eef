"""What is odd in a corpus, and repairs of it: one idea a file."""
