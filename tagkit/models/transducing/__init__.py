"""The task "transduce": a string for a string."""
