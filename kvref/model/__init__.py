"""From the weights of a checkpoint to logits."""
