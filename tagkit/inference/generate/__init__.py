"""Language models: texts that are generated, lines that are scored."""
