"""Networks: tensors -> tensors; no word, file or option is known here."""
