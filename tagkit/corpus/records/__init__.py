"""Facts and checks of records, once they are read."""
