"""From a file, a pipe or a packed file to its lines."""
