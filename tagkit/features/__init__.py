"""Records -> ids -> padded batches."""
