"""Times and memory of this machine, each with the samples it was taken from and what was predicted."""
