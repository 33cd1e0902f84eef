"""Names of the files that show that a folder is that of a run.

They are in no larger module, as that of locks imports a package which prediction does not need.
"""

LOCK = ".tagkit-run.lock"  # of a process that writes in the folder, or was killed there
MANIFEST = "tagkit-run.json"  # of the files of the run
HISTORY = "history.jsonl"  # of the epochs: each is listed once the model of the best one is saved
CURVE = "learning-curve.json"  # of a learning curve, which has no model
