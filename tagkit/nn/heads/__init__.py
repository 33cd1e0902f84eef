"""From hidden states to tags, or to classes of whole texts."""
