"""What an operation of the manager would find and take, asked before anything is taken.

Every answer is exact: as long as nothing else happens in between, the operation takes so many blocks and no more. Knows
pool, index and tables, and changes none of them.
"""

from collections.abc import Sequence

from kvref.checks import ids, truth, whole
from kvref.plan.prefix import NOBODY, Namespace
from kvref.plan.store import BlockStore
from kvref.plan.swap import Host
from kvref.plan.tables import Table, Tables

DESIGNS = ("full-blocks", "copy-on-write")


class Forecast(Tables):
    """The questions that a scheduler asks."""

    def __init__(self, store: BlockStore, host: Host, design: str, prefix_caching: bool, max_blocks: int | None) -> None:
        if design not in DESIGNS:
            raise ValueError(f"design: expected {' or '.join(DESIGNS)}, got {design!r}.")
        truth(prefix_caching=prefix_caching)
        if max_blocks is not None:
            whole(max_blocks_per_table=max_blocks)
        super().__init__()
        self._store = store
        self.pool, self.index, self.log, self.host = store.pool, store.index, store.log, host
        self.block_tokens = store.index.block_tokens
        self.design, self.prefix_caching, self.max_blocks_per_table = design, prefix_caching, max_blocks
        self._shares_parts = design == "copy-on-write"  # a block that is partly filled can be in several tables, or be found

    @property
    def available_blocks(self) -> int:
        """Blocks that can be taken: free ones and, by eviction, idle ones."""
        return self._store.available_blocks

    def cached_prefix(self, token_ids: Sequence[int], namespace: Namespace = NOBODY) -> int:
        """Tokens that ``admit`` would find."""
        ids(token_ids=token_ids)
        return self._prefix(token_ids, namespace)[1]

    def blocks_to_admit(self, token_ids: Sequence[int], namespace: Namespace = NOBODY) -> int:
        """Available blocks that are gone once the request is admitted and all these tokens are appended."""
        ids(1, token_ids=token_ids)
        blocks, cached = self._prefix(token_ids, namespace)
        rows = -(-len(token_ids) // self.block_tokens)
        copied = cached % self.block_tokens and self.pool.refs[blocks[-1]]
        return self._store.idle_among(blocks) + rows - len(blocks) + bool(copied)

    def blocks_needed(self, request_id: str, count: int) -> int:
        """Blocks that ``append`` of ``count`` tokens takes, that of a copy included."""
        whole(0, count=count)
        return self._needed(self._table(request_id), count)

    def can_append(self, request_id: str, count: int) -> bool:
        """Whether ``append`` of that many tokens would succeed now."""
        room = self.room(request_id)
        return self.blocks_needed(request_id, count) <= self.available_blocks and (room is None or count <= room)

    def room(self, request_id: str) -> int | None:
        """Tokens that the longest table still has room for; None if tables have no limit."""
        limit = self.max_blocks_per_table
        return None if limit is None else limit * self.block_tokens - self.length(request_id)

    def swap_in_needed(self, request_ids: Sequence[str], count: int = 0) -> int:
        """Blocks that ``swap_in`` of these requests takes, and then ``append`` of ``count`` tokens to each of them."""
        whole(0, count=count)
        return self.host.blocks_needed(self._group(request_ids, self._parked), count)

    def _prefix(self, token_ids: Sequence[int], namespace: Namespace) -> tuple[tuple[int, ...], int]:
        """The blocks to take and the tokens that count as cached: fewer than there are."""
        if not isinstance(namespace, Namespace):
            raise ValueError(f"namespace: expected a Namespace, got {namespace!r}.")
        if not self.prefix_caching or not token_ids:
            return (), 0
        blocks = self.index.match(token_ids, namespace)
        cached = len(blocks) * self.block_tokens
        if cached < len(token_ids):
            return blocks, cached
        if self.design == "full-blocks":
            return blocks[:-1], cached - self.block_tokens
        cached -= 1
        return blocks[: -(-cached // self.block_tokens)], cached

    def _needed(self, table: Table, count: int) -> int:
        rows = table.rows_for(len(table.tokens) + count) - len(table.blocks)
        return rows + (count > 0 and self._store.must_copy(table))

    def _check_limit(self, tokens: int) -> None:
        limit = self.max_blocks_per_table
        if limit is not None and tokens > limit * self.block_tokens:
            most = limit * self.block_tokens
            raise ValueError(f"token_ids: expected a table of at most {most} tokens ({limit} blocks), got {tokens}.")
