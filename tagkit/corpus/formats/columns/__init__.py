"""Column files: where things are in their lines, reading, writing."""
