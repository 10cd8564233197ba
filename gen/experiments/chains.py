"""The chained hashes of prompts, block by block, and where each stops being found among the blocks of another.

Hashes are those of `kvref.plan.prefix`, hits those of `kvref.plan.manager`. Knows token ids and no model.
"""

from collections.abc import Callable, Sequence
from typing import Any

from kvref.plan.manager import KVManager
from kvref.plan.prefix import NOBODY, Namespace, PrefixIndex

Prompts = dict[str, list[int]]
SIZES = (1, 2, 4, 8, 16, 32)
ROOM = 1024  # blocks: more than all prompts take
SHORT = 8  # digits of a hash that a page shows
SALT = "another tenant"


def _held(prompt: Sequence[int], size: int) -> KVManager:
    """A manager in which one prompt is computed."""
    manager = KVManager(ROOM, size)
    manager.admit("A", prompt)
    manager.append("A", prompt)
    manager.confirm("A", len(prompt))
    return manager


def chains(prompts: Prompts, first_changed: Sequence[int], piece: Callable[[int], str], size: int) -> dict[str, Any]:
    """For each other prompt, and for the first one with another salt, its blocks beside those of the first prompt."""
    base, *others = prompts
    held = _held(prompts[base], size)
    cases: dict[str, tuple[Sequence[int], Namespace]] = {
        base: (prompts[base], NOBODY),
        **{name: (prompts[name], NOBODY) for name in others},
        "first": (first_changed, NOBODY),
        "salt": (prompts[base], Namespace(salt=SALT)),
    }
    return {
        "short_digits": SHORT,
        "salt": SALT,
        "base": base,
        "order": list(cases),
        "of": {name: _chain(held, ids, namespace, piece, size) for name, (ids, namespace) in cases.items()},
    }


def _chain(held: KVManager, ids: Sequence[int], namespace: Namespace, piece: Callable[[int], str], size: int) -> dict[str, Any]:
    hits = len(held.index.match(ids, namespace))
    admitted = held.cached_prefix(ids, namespace)
    keys = _keys(ids, namespace, size)
    blocks = [
        {
            "text": "".join(piece(one) for one in ids[start : start + size]),
            "ids": list(ids[start : start + size]),
            "key": keys[row] if row < len(keys) else None,  # a block that is not full has none
            "short": str(keys[row])[:SHORT] if row < len(keys) else None,
            "hit": row < hits,
        }
        for row, start in enumerate(range(0, len(ids), size))
    ]
    return {"tokens": len(ids), "blocks": blocks, "hits": hits, "cached_tokens": admitted}


def _keys(ids: Sequence[int], namespace: Namespace, size: int) -> list[Any]:
    """The hash of each full block; each is made from the one before it."""
    index, keys = PrefixIndex(size), list[Any]()
    for row in range(len(ids) // size):
        keys.append(index.insert(row, ids[row * size : (row + 1) * size], namespace, row - 1 if row else None))
    return keys


def found_by_size(prompts: Prompts) -> dict[str, Any]:
    """Tokens of each prompt that are found once the first one is computed, by size of the block."""
    base = next(iter(prompts))
    found = {name: [_held(prompts[base], size).cached_prefix(ids) for size in SIZES] for name, ids in prompts.items()}
    return {"sizes": list(SIZES), "of": found}
