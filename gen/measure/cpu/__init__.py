"""What is measured on a processor, with the real default model."""
