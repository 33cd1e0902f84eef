"""Sentences -> ids -> padded batches."""
