"""`python -m tests.stubs [WORD ...]`: every claim of claims.csv, or those whose name contains one of the words.

`python -m tests.stubs claim` runs the tests once to see who calls what, and looks for a test of each body without one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.stubs import claims
from tests.stubs.surface import Body, bodies
from tests.stubs.trial import turns_red

#: Where tests of the public API stand.
ROOMS = ("tests/poplar", "tests/runtime", "tests/codelets", "tests/compiler")
#: Tests tried for one body, the shortest first.
TRIES = 8
_QUICK = ("-q", "-s", "-p", "no:cacheprovider", "-m", "not long and not fuzz and not browser")
Items = Mapping[str, pytest.Item]


class _Session:
    """A pytest plugin: collect, then do `work` with the tests by node id in place of running them."""

    def __init__(self, work: Callable[[Items], int]) -> None:
        self.work = work
        self.code = 1

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """All tests are collected."""
        self.code = self.work({item.nodeid: item for item in session.items})
        return True


def in_session(tests: list[str], work: Callable[[Items], int]) -> int:
    """What `work` returns, given the tests that these arguments of pytest stand for."""
    plugin = _Session(work)
    pytest.main([*_QUICK, *tests], plugins=[plugin])
    return plugin.code


def check(words: list[str], items: Items) -> int:
    """Print the survivors: bodies that no test claims, whose test stays green, or whose test is red anyway."""
    known = claims.load()
    rows = [body for body in bodies() if not words or any(word in body.key for word in words)]
    survivors = [f"{body.key}: no test claims it" for body in rows if body.key not in known]
    stale = sorted(set(known) - {body.key for body in bodies()})
    survivors += [f"{name}: is claimed, but there is no such body" for name in stale if not words]
    claimed = [(body, known[body.key].test) for body in rows if body.key in known and not known[body.key].excluded]
    survivors += [f"{body.key}: there is no test {test}" for body, test in claimed if test not in items]
    claimed = [(body, test) for body, test in claimed if test in items]
    tests = sorted({test for _, test in claimed})
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        broken = list(pool.map(lambda test: turns_red(None, items[test]), tests))
        survivors += [f"{test}: is red without any stub" for test, red in zip(tests, broken, strict=True) if red]
        noticed = list(pool.map(lambda pair: turns_red(pair[0], items[pair[1]]), claimed))
    survivors += [
        f"{body.key}: {test} stays green" for (body, test), red in zip(claimed, noticed, strict=True) if not red
    ]
    excluded = sum(bool(known[body.key].excluded) for body in rows if body.key in known)
    print("\n".join(survivors) or "No survivors.")
    print(f"{len(rows)} bodies: {sum(noticed)} noticed by their test, {excluded} excluded, {len(survivors)} survivors.")
    return 1 if survivors else 0


def claim(callers: Mapping[str, Mapping[str, float]], items: Items) -> int:
    """Find tests for bodies that have none, or whose test stays green, and write claims.csv."""
    known = claims.load()

    def find(body: Body) -> claims.Claim | None:
        before = known.get(body.key)
        if before is not None and before.excluded:
            return before
        who = callers.get(body.key, {})
        tests = ([before.test] if before is not None else []) + sorted(who, key=lambda name: who[name])[:TRIES]
        for test in tests:
            if test in items and turns_red(body, items[test]) and not turns_red(None, items[test]):
                return claims.Claim(body.key, test)
        return None

    rows = bodies()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [made for made in pool.map(find, rows) if made is not None]
    claims.save({made.name: made for made in found})
    missing = sorted({body.key for body in rows} - {made.name for made in found})
    print("\n".join(missing))
    print(f"{len(found)} claims, {len(missing)} bodies without one.")
    return 1 if missing else 0


def callers_of_bodies() -> dict[str, dict[str, float]]:
    """For each body the tests that call it, with their seconds."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "calls.json"
        command = [sys.executable, "-m", "pytest", "-p", "tests.stubs.calls", *_QUICK, *ROOMS]
        subprocess.run(command, env={**os.environ, "STUB_CALLS": str(file)}, check=False)
        return dict(json.loads(file.read_text()))


def main(words: list[str]) -> int:
    """The exit code."""
    if words == ["claim"]:
        callers = callers_of_bodies()
        return in_session(list(ROOMS), lambda items: claim(callers, items))
    tests = sorted({one.test.partition("::")[0] for one in claims.load().values() if one.test})
    return in_session(tests, lambda items: check(words, items))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
