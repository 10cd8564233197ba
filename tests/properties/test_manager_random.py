"""A great many random operations, in a process of its own, so that the checks of types at every call do not slow them down.

With those on the scheduler, which has its own tests, more than a million over the whole suite.
"""

import json
import subprocess
import sys

import pytest

from kvref.plan.manager import DESIGNS
from tests.properties import manager_driver, pool_driver

OF_THE_MANAGER = 150_000  # in each design
OF_THE_POOL = 400_000  # and a quarter as many of the index
# None of it may be left untried. Counts are of events, and of operations that ended in OutOfBlocks or were refused.
LEAST = {"out": 10_000, "refused": 10_000, "Evicted": 5_000, "Hit": 3_000, "Indexed": 10_000, "Forked": 3_000}
LEAST |= {"Shared": 6_000, "Truncated": 2_000, "SwappedOut": 1_000, "SwappedIn": 500}
LEAST_COPIES = {"Copied": 400, "Unindexed": 200}
LEAST_OF_THE_POOL = {"allocate out": 10_000, "release refused": 5_000, "reclaim done": 10_000, "evict": 5_000, "forget": 5_000}


def ran(module: str, *arguments: str) -> dict[str, int]:
    command = [sys.executable, "-m", f"tests.properties.{module}", *arguments]
    process = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert process.returncode == 0, process.stderr[-3000:]
    did: dict[str, int] = json.loads(process.stdout)
    print(did)
    return did


@pytest.mark.parametrize("design", DESIGNS)
def test_random_operations_on_the_manager(design: str) -> None:
    did = ran("manager_driver", design, str(OF_THE_MANAGER))
    assert did["done"] + did["refused"] + did["out"] == OF_THE_MANAGER
    least = LEAST | (LEAST_COPIES if design == "copy-on-write" else {})
    assert all(did[name] >= many for name, many in least.items()), did
    assert ("Copied" in did) == ("Unindexed" in did) == (design == "copy-on-write")


def test_random_operations_on_the_pool_and_the_index() -> None:
    did = ran("pool_driver", str(OF_THE_POOL))
    assert sum(did.values()) == OF_THE_POOL + OF_THE_POOL // 4
    assert all(did[name] >= many for name, many in LEAST_OF_THE_POOL.items()), did


@pytest.mark.parametrize("design", DESIGNS)
def test_a_few_with_types_checked(design: str) -> None:
    manager_driver.main(design, 600)
    pool_driver.pool(2000)
    pool_driver.index(800)
