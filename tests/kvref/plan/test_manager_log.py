"""The event log: what stands in it, in which form, and that it may be bounded."""

import json
from collections import deque

import pytest

from kvref.plan.events import Appended, Confirmed, Freed, SwappedOut, Truncated
from kvref.plan.manager import KVManager
from kvref.plan.prefix import NOBODY, chain_hash
from tests.kvref.plan.test_manager import compute, end, run
from tests.properties.manager_log import Replay


def test_the_log_of_a_shared_prefix_and_a_copy() -> None:
    manager = KVManager(4, 2, design="copy-on-write")
    run(manager, "a", [5, 6])
    run(manager, "b", [5, 6])
    end(manager, "a")
    key = chain_hash(None, (5, 6), NOBODY)
    assert [tuple(event.as_dict().values()) for event in manager.log] == [
        ("admitted", "a", 0),
        ("allocated", "a", 0, 0),
        ("appended", "a", 0, [5, 6]),
        ("confirmed", "a", 2),
        ("indexed", "a", 0, 0, key),
        ("admitted", "b", 1),
        ("hit", "b", 0, 0, 2),
        ("allocated", "b", 1, 0),
        ("copied", "b", 0, 1, 0, 1),
        ("released", "b", 0, 0, 1, False),
        ("appended", "b", 1, [6]),
        ("confirmed", "b", 2),
        ("indexed", "b", 1, 0, key),
        ("released", "a", 0, 0, 0, True),
        ("freed", "a"),
    ]


def test_events_are_plain_data() -> None:
    assert Appended("a", 3, (1, 2)).as_dict() == {"event": "appended", "request": "a", "start": 3, "token_ids": [1, 2]}
    assert SwappedOut("a", 1, 0, 4).as_dict() == {"event": "swapped_out", "request": "a", "block": 1, "row": 0, "host_block": 4}
    assert Confirmed("a", 3) == Confirmed("a", 3) != Truncated("a", 3)
    assert repr(Freed("a")) == "Freed(request='a')"
    with pytest.raises(AttributeError):
        Freed("a").why = "done"  # type: ignore[attr-defined]


@pytest.mark.parametrize("design", ["full-blocks", "copy-on-write"])
def test_a_log_from_a_file_rebuilds_every_table(design: str) -> None:
    manager = KVManager(6, 4, design=design, host_blocks=6)
    run(manager, "a", range(7))
    manager.fork("a", "b")
    compute(manager, "b", [20, 21, 22, 23])
    manager.swap_out(("a", "b"))
    run(manager, "c", range(12))
    manager.truncate("c", 3)
    manager.swap_in(("a",))
    end(manager, "c")
    replay = Replay(6, 4, reserve_null=False)
    replay.read(json.loads(json.dumps([event.as_dict() for event in manager.log])))
    replay.agree(manager)
    assert replay.tokens("b") == manager.tokens("b")


def test_a_bounded_log_keeps_the_last_events() -> None:
    log: deque = deque(maxlen=3)
    manager = KVManager(4, 4, log=log)
    run(manager, "a", range(4))
    end(manager, "a")
    assert manager.log is log
    assert [event.as_dict()["event"] for event in log] == ["indexed", "released", "freed"]
