"""The command line: one file a command; each parses, loads, calls and prints."""
