"""What Python's manager does with random operations, for the page's to do the same: `python tests/js/blocks_vectors.py FILE`.

Every step has its operation, its answer, the events that it logged and the state it left. Written anew by each run of the
JavaScript tests, so that it is never stale; seeded, so that a failure can be looked at again.
"""

import json
import random
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from kvref.errors import OutOfBlocks  # noqa: E402  (this is a script)
from kvref.plan.manager import DESIGNS, KVManager  # noqa: E402
from kvref.plan.prefix import NOBODY, Key, Namespace, chain_hash  # noqa: E402

EPISODES, STEPS = 40, 150  # of each design
NAMES = "ABCDEFGHIJ"
SPACES = (NOBODY, NOBODY, NOBODY, Namespace(adapter="a"), Namespace(salt="a"))


def made() -> list[dict[str, Any]]:
    """All episodes: `{settings, steps}`."""
    draw = random.Random(20261130)
    return [_episode(draw, design, number) for design in DESIGNS for number in range(EPISODES)]


def _episode(draw: random.Random, design: str, number: int) -> dict[str, Any]:
    block_tokens = draw.choice((1, 2, 3, 4, 4, 4, 8, 16))
    settings: dict[str, Any] = {
        "blocks": draw.randint(2, 64 // block_tokens + 2),
        "block_tokens": block_tokens,
        "design": design,
        "prefix_caching": number % 8 != 7,
        "reserve_null": number % 6 == 5,
        "constant_hash": number % 4 == 3,
    }
    manager = KVManager(
        settings["blocks"],
        block_tokens,
        design=design,
        prefix_caching=settings["prefix_caching"],
        reserve_null=settings["reserve_null"],
        hash_function=_constant if settings["constant_hash"] else chain_hash,
    )
    texts = [[draw.randint(0, 1) for _ in range(40)] for _ in range(2)]
    return {"settings": settings, "steps": [_step(draw, manager, texts) for _ in range(STEPS)]}


def _constant(parent: Key | None, token_ids: tuple[int, ...], namespace: Namespace) -> Key:
    return 7


def _step(draw: random.Random, manager: KVManager, texts: list[list[int]]) -> dict[str, Any]:
    operation = _operation(draw, manager, texts)
    before = len(manager.log)
    answer = _answer(manager, operation)
    manager.check()
    return {
        "do": operation,
        "answer": answer,
        "events": [event.as_dict() for event in list(manager.log)[before:]],
        "state": _state(manager),
    }


def _operation(draw: random.Random, manager: KVManager, texts: list[list[int]]) -> list[Any]:
    """[name, arguments…], mostly such as can be done."""
    live = manager.requests
    kinds = ("admit", "append", "confirm", "fork", "truncate", "free", "ask")
    kind = draw.choices(kinds, (4, 9, 9, 2, 2, 3, 1))[0] if live or draw.random() < 0.1 else "admit"
    fresh = [name for name in NAMES if name not in live or draw.random() < 0.05] or NAMES
    name = draw.choice(fresh) if not live or kind == "admit" or draw.random() < 0.03 else draw.choice(live)
    length = manager.length(name) if name in live else 0
    prompt = draw.choice(texts)[: draw.randint(0, 24)]
    match kind:
        case "admit" | "ask":
            space = draw.choice(SPACES)
            return [kind, name, prompt, {"adapter": space.adapter, "salt": space.salt}]
        case "append":
            text = draw.choice(texts)
            return [kind, name, text[length : length + draw.choice((1, 1, 1, 2, 5, 12))] or [1]]
        case "confirm":
            return [kind, name, length if draw.random() < 0.8 else draw.randint(0, length + 1)]
        case "fork":
            return [kind, name, draw.choice(fresh)]
        case "truncate":
            return [kind, name, draw.randint(-1 if draw.random() < 0.1 else 0, length + 1)]
    return [kind, name]


def _answer(manager: KVManager, operation: list[Any]) -> Any:
    """What came of it; a mistake of the caller, or too few blocks, under its name."""
    kind, name, *rest = operation
    try:
        match kind:
            case "admit":
                return manager.admit(name, rest[0], Namespace(**rest[1]))
            case "ask":
                space = Namespace(**rest[1])
                asked = [manager.cached_prefix(rest[0], space), manager.blocks_needed(name, len(rest[0]))]
                return [*asked, manager.blocks_to_admit(rest[0], space) if rest[0] else 0]
            case "append":
                grant = manager.append(name, rest[0])
                copies = [{"source": one.source, "target": one.target, "tokens": one.tokens} for one in grant.copies]
                return {"slots": list(grant.slots), "copies": copies}
            case _:
                return getattr(manager, kind)(name, *rest)
    except OutOfBlocks as full:
        return {"needed": full.needed_blocks, "available": full.available_blocks}
    except ValueError:
        return "mistake"


def _state(manager: KVManager) -> dict[str, Any]:
    pool = manager.pool
    return {
        "free": list(pool.free_order()),
        "idle": list(manager.index.idle_order()),
        "counts": [pool.free_blocks, pool.idle_blocks, pool.used_blocks, pool.reserved_blocks],
        "refs": [pool.ref_count(block) for block in range(pool.total_blocks)],
        "found": [block for block in range(pool.total_blocks) if block in manager.index],
        "tables": [[name, manager.table(name), manager.length(name), manager.confirmed(name)] for name in manager.requests],
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(made(), separators=(",", ":")), encoding="utf-8")
