"""Fuzzing: valid inputs of every kind are altered, and what the program promises must still hold.

    python -m tests.fuzz --inputs 1000000            all targets, each by its share
    python -m tests.fuzz --target conllu --minutes 60 --seed 123
    python -m tests.fuzz --replay fuzz-findings/conllu-123-4711.json
    python -m tests.fuzz --list

`case` holds what an input is, `engine` runs one and judges it, `targets` is the table of all
targets. A new format is a row in `samples.SAMPLES`; a new kind of input is a row in `TARGETS`.

A plain generator with a seed is used. Hypothesis, which other tests use, makes about 500 such
records a second, as it records each choice for shrinking; this makes over 10,000. Atheris is guided
by coverage, but instruments every function and starts from bytes, where inputs here begin as valid
files and so reach the code behind the parsers. A failing input is saved with its bytes, so that it
can be replayed when the generators have changed.
"""
