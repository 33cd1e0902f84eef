"""Gold and predicted labels -> scores, metrics, reports, comparison of files, verification."""
