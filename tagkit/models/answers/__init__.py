"""What models predict of a text: how it is asked for, written, shown and turned into JSON."""
