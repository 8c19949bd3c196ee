"""Replace one public body at a time by a no-op and run the test that claims it: every one must fail.

    python tests/poplar/stubs.py                  all rows of public_names.csv
    python tests/poplar/stubs.py 003:655 002:525  some of them
    python tests/poplar/stubs.py Graph.connect    all rows of a name

Only the calls that belong to the row become no-ops (`public_names.calls`); other overloads of the name stay. Each test
runs in a process of its own, forked from one that has imported everything. Survivors are printed; their number is the
exit code.
"""

from __future__ import annotations

import functools
import inspect
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from public_names import Row, calls, owner_of, rows

ROOT = Path(__file__).parents[2]
_SECONDS = 120
_NOT_RED = (pytest.ExitCode.OK, pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED)


@contextmanager
def replaced(row: Row) -> Iterator[None]:
    """The row's calls do nothing."""
    owner, name = owner_of(row)
    raw = inspect.getattr_static(owner, name) if inspect.isclass(owner) else getattr(owner, name)
    static = isinstance(raw, staticmethod)
    stub = _stub(row, raw.__func__ if static else raw, inspect.isclass(owner) and not static)
    setattr(owner, name, staticmethod(stub) if static else stub)
    try:
        yield
    finally:
        setattr(owner, name, raw)


def _stub(row: Row, body: Callable[..., Any], method: bool) -> Callable[..., Any]:
    if inspect.isclass(body):  # a nested class: what makes it gives nothing
        return lambda *args, **kwargs: None

    @functools.wraps(body)
    def stub(*args: Any, **kwargs: Any) -> Any:
        return None if calls(row, args[1:] if method else args, kwargs) else body(*args, **kwargs)

    return stub


def fails(row: Row) -> bool:
    """Whether the claiming test fails while the row's calls do nothing."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) not in _NOT_RED
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    with replaced(row):
        signal.alarm(_SECONDS)  # a test that waits for ever is red too
        code = pytest.main(["-q", "-x", "-p", "no:cacheprovider", str(ROOT / row.test)])
    os._exit(int(code))


def main(wanted: list[str]) -> int:
    chosen = [r for r in rows() if r.test and (not wanted or r.key in wanted or r.python in wanted)]
    survivors = []
    for row in chosen:
        if not fails(row):
            survivors.append(row)
            print(f"survives: {row.key} {row.python}({'; '.join(a.name for a in row.arguments)}) claimed by {row.test}")
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} rows turn their test red.")
    return len(survivors)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
