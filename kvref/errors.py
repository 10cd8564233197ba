"""What can go wrong outside a caller's own arguments, as types.

A caller's mistake is a plain ``ValueError`` that names the argument, what was expected and what came. The
types here are for the two other cases. Knows nothing about tensors.
"""


class CheckpointError(ValueError):
    """A folder or file of weights cannot be used; the message is one sentence that says which and why."""


class OutOfCapacity(RuntimeError):
    """A cache has no room left for the tokens of this pass; nothing was written."""


class OutOfBlocks(OutOfCapacity):
    """More blocks are needed than can be had, idle ones included; nothing was changed."""

    def __init__(self, needed_blocks: int, available_blocks: int, pool: str = "pool") -> None:
        self.needed_blocks, self.available_blocks = needed_blocks, available_blocks
        super().__init__(f"Blocks needed: {needed_blocks}; the {pool} can give {available_blocks}.")
