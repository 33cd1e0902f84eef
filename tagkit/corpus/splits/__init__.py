"""The parts of a corpus: train, dev and test, as files or cut from one."""
