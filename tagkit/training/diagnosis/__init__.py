"""What is wrong with a training run, in one sentence each, with a remedy each.

`corpus_checks` looks at the corpora before the first step, `run_checks` at the history and at the
best model's predictions for dev. A new check is one function and one row of the table of its
module; docs/troubleshooting.md says what each of them means.
"""
