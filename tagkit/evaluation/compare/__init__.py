"""Two files, or several systems, against each other."""
