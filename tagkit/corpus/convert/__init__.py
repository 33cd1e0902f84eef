"""Records of one format into another, and what the other cannot hold."""
