"""Classes of texts, alone or beside tags."""
