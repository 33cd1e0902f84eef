"""Networks: tensors in, tensors out. Nothing here knows a word, a file or an option."""
