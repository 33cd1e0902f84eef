"""From a configuration to all that a run needs."""
