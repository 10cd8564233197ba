"""A pytest plugin: how long the tests of each folder took, so that a slow one is seen."""

from collections import Counter

import pytest

seconds: Counter[str] = Counter()
tests: Counter[str] = Counter()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    folder = "/".join(report.nodeid.split("/")[:2])
    seconds[folder] += report.duration
    tests[folder] += report.when == "call"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for folder, took in seconds.most_common():
        terminalreporter.write_line(f"{folder}: {tests[folder]} tests in {took:.0f} s")
