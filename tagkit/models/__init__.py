"""Networks of the tasks, and models as folders."""
