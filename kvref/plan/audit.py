"""Every invariant of the manager, stated once and recomputed from the tables alone."""

from collections import Counter
from collections.abc import Mapping

from kvref.plan.blocks import BlockPool
from kvref.plan.prefix import PrefixIndex
from kvref.plan.tables import Table


def check(pool: BlockPool, index: PrefixIndex, tables: Mapping[str, Table]) -> None:
    """Assert all that concerns the device; takes a step for every block."""
    pool.check()
    index.check()
    total = pool.free_blocks + pool.idle_blocks + pool.used_blocks + pool.reserved_blocks
    assert total == pool.total_blocks, f"the classes have {total} blocks, the pool {pool.total_blocks}."
    _check_refs(pool, tables)
    idle = {block for block in range(pool.total_blocks) if pool.state(block) == "idle"}
    assert idle == set(index.idle_order()), f"{len(idle)} blocks are idle in the pool, {len(index.idle_order())} in the index."
    for request_id, table in tables.items():
        _check_table(pool, index, request_id, table)


def check_host(pool: BlockPool | None, swapped: Mapping[str, Table]) -> None:
    """Assert all that concerns host memory."""
    if pool is not None:
        pool.check()
        _check_refs(pool, swapped)
        assert not pool.idle_blocks, f"{pool.idle_blocks} host blocks are idle, expected 0."
    else:
        rows = sum(len(table.blocks) for table in swapped.values())
        assert not rows, f"{rows} rows are in host memory, there are 0 host blocks."


def _check_refs(pool: BlockPool, tables: Mapping[str, Table]) -> None:
    rows = Counter(block for table in tables.values() for block in table.blocks)
    for block in range(pool.total_blocks):
        assert pool.ref_count(block) == rows[block], f"block {block}: {pool.ref_count(block)} holders, {rows[block]} rows."


def _check_table(pool: BlockPool, index: PrefixIndex, request_id: str, table: Table) -> None:
    size = table.block_tokens
    assert len(table.blocks) == table.rows_for(len(table.tokens)), f"{request_id}: {len(table.blocks)} rows."
    assert table.confirmed <= len(table.tokens), f"{request_id}: {table.confirmed} of {len(table.tokens)} confirmed."
    assert len(set(table.blocks)) == len(table.blocks), f"{request_id}: a block is in two rows of {table.blocks}."
    for row, block in enumerate(table.blocks):
        unwritten = table.confirmed < min((row + 1) * size, len(table.tokens))
        known = block in index
        assert not (unwritten and known), f"{request_id}: row {row} has unconfirmed tokens and can be found."
        assert not (unwritten and pool.ref_count(block) > 1), f"{request_id}: unconfirmed row {row} is shared."
        assert known or row >= table.indexed_rows, f"{request_id}: row {row} of {table.indexed_rows} cannot be found."
        if known:
            content = list(index.token_ids(block))[: len(table.row_tokens(row))]
            assert content == table.row_tokens(row), f"{request_id}: row {row} is found as {content}."
