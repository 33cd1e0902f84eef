"""Fuzzing: valid inputs of every kind are altered, and what the program promises must still hold.

    python -m tests.fuzz --inputs 1000000            all targets, each by its share
    python -m tests.fuzz --target conllu --minutes 60 --seed 123
    python -m tests.fuzz --replay fuzz-findings/conllu-123-4711.json
    python -m tests.fuzz --list

`case` holds what an input is, `engine` runs one and judges it, `targets` is the table of all
targets. A new format is a row in `samples.SAMPLES`; a new kind of input is a row in `TARGETS`.

A plain generator with a seed is used. Compared with hypothesis it runs more than ten times as many
inputs a second, as nothing of an input is recorded for shrinking; compared with atheris it needs no
compiler and no instrumented interpreter, and its inputs begin as valid files, so that they reach
the code behind the parsers without coverage feedback.
"""
