"""Processor time by test: a plugin of pytest (`-p tests.processor_time`, in pyproject.toml).

A test costs what its call takes of processor time, all threads and the children it waited for included; fixtures are
left out, since several tests share them. The summary names the tests above `NAMED` seconds that no mark excuses;
`--processor-limit SECONDS` fails the run where one is above that. Wall times say more about what else the machine does.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Generator
from typing import Any

import pytest

#: Seconds of processor time above which the summary names a test.
NAMED = 2.0

#: Marks of tests that may take longer.
EXCUSED = ("long", "fuzz", "browser")

_PROPERTY = "processor_seconds"
_SECONDS = pytest.StashKey[float]()


def _now() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--processor-limit",
        type=float,
        metavar="SECONDS",
        help="fail where the call of a test without mark takes more seconds of processor time",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    begin = _now()
    try:
        return (yield)
    finally:
        item.stash[_SECONDS] = _now() - begin


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    report = yield
    whole = report.when == "call" and _SECONDS in item.stash  # a report of a subtest comes before the call ends
    if whole and not any(item.get_closest_marker(mark) for mark in EXCUSED):
        report.user_properties.append((_PROPERTY, item.stash[_SECONDS]))
    return report


class _Costs:
    """What the tests of a run took; under xdist the process that prints hears of all of them."""

    def __init__(self, limit: float | None) -> None:
        self._limit = limit
        self._seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == _PROPERTY:
                self._seconds[report.nodeid] = float(str(value))

    def _above(self, seconds: float) -> list[str]:
        dear = [name for name, value in self._seconds.items() if value > seconds]
        return sorted(dear, key=self._seconds.__getitem__, reverse=True)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._limit is not None and self._above(self._limit) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if dear := self._above(NAMED):
            terminalreporter.section(f"calls of more than {NAMED:g} s of processor time")
            for name in dear:
                terminalreporter.write_line(f"{self._seconds[name]:6.1f} s  {name}")
        if self._limit is not None and (over := self._above(self._limit)):
            tests = "1 test takes" if len(over) == 1 else f"{len(over)} tests take"
            terminalreporter.write_line(
                f"{tests} more than the limit of {self._limit:g} s: make it smaller, or mark it long.", red=True
            )


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Costs(config.getoption("--processor-limit")), "processor_costs")
