"""One pass through the model as a scheduler plans it: plain, frozen data that an engine carries out.

Everything the pass needs stands in it, so that it can be logged, compared and run again. Knows nothing about why it was
planned.
"""

from dataclasses import dataclass
from typing import NamedTuple

from kvref.plan.manager import Copy, Move


class Work(NamedTuple):
    """Consecutive tokens of one request in a pass: a whole prompt, a chunk of it, or the one token of a decode step.

    The tokens stand at positions ``start``, ``start`` + 1, …; their keys and values go to ``slots``, and they read the slots
    that ``table`` names, block by block, up to their own. ``samples``: the logits of the last one give the request's next
    token.
    """

    request_id: str
    start: int
    token_ids: tuple[int, ...]
    slots: tuple[int, ...]
    table: tuple[int, ...]
    samples: bool


@dataclass(frozen=True, slots=True)
class Step:
    """A pass: what moves first, then the work. Steps count from 1.

    To be carried out in this order: ``swapped_out`` (device to host), ``swapped_in`` (host to device), ``copies`` (device to
    device), each in its own order, then one pass over all of ``work``. Work is in the order of service, which is that of
    submission. ``admitted`` and ``preempted`` are ids; who was preempted is swapped out, or forgotten and computed again
    later.
    """

    number: int
    work: tuple[Work, ...]
    copies: tuple[Copy, ...]
    swapped_out: tuple[Move, ...]
    swapped_in: tuple[Move, ...]
    admitted: tuple[str, ...]
    preempted: tuple[str, ...]

    @property
    def tokens(self) -> int:
        """Tokens that the pass computes."""
        return sum([len(work.token_ids) for work in self.work])
