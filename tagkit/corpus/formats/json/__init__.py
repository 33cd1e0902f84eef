"""JSON Lines: keys, records, spans."""
