"""Hundreds of random schedulers in a process of its own, so that the checks of types at every call do not slow them down."""

import json
import subprocess
import sys

import pytest

from tests.properties import scheduler_driver

SEEDS, OPERATIONS = 500, 400
LEAST = {"preempted": 2000, "swapped in": 4000, "copied": 40, "ended": 1000, "refused": 3000}  # none of it may be left untried


@pytest.mark.slow
def test_random_operations_break_no_rule() -> None:
    command = [sys.executable, "-m", "tests.properties.scheduler_driver", "1000", str(SEEDS), str(OPERATIONS)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr[-3000:]
    did = json.loads(ran.stdout)
    assert all(did[name] >= least for name, least in LEAST.items()), did
    each = did["submitted"] + did["refused"] + did["planned"] + did["committed"] + did["ended"]
    of_the_manager = 2 * did["appended"] + 2 * did["admitted"]  # appended and confirmed, admitted and freed
    assert each + of_the_manager >= 700_000, did


def test_a_few_with_types_checked() -> None:
    scheduler_driver.main(0, 6, 200)
