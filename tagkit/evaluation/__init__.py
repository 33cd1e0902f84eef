"""Gold and predicted labels -> metrics, reports, comparison of files."""
