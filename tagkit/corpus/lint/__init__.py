"""What is odd in a corpus, and repaired copies."""
