"""Files of any length in, predictions out, by one process or several workers."""
