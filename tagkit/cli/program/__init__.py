"""The program around the commands: arguments, options, streams, signals, the console."""
