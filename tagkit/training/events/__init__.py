"""What a run tells its listeners."""
