"""What is measured on a GPU, with torch, this repository and nothing else: no weights, no tokenizer, no transformers."""
