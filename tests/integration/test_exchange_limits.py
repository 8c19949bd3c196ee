"""Every exchange of random programs stays within the limits of the fabric: words a cycle, sends, whole words.

`debug.verify` checks them on each exchange (`simulator.compiler.verify`); the examples run under it in
tests/examples/test_examples_verified.py."""

from __future__ import annotations

import pytest

from simulator.poplar import Engine
from tests.integration.running import device, make, seeded

OPTIONS = {"debug.verify": "true", "debug.allowOutOfMemory": "true"}


def verified(seed: int) -> int:
    """Compile a random program under debug.verify; returns the number of its exchanges."""
    pick = seeded(seed)
    with device(bool(pick(0, 1)), pick(4, 16)) as place:
        made = make(pick, place)
        for number, variable in enumerate(made.variables):  # so that nothing is read before it is written
            made.graph.createHostWrite(f"write{number}", variable.tensor)
        with Engine(made.graph, made.body.program, OPTIONS) as engine:
            return engine.executable.compiled.lowered.table.type.count("DoExchange")


@pytest.mark.parametrize("first", [0, 30, *(pytest.param(n, marks=pytest.mark.long) for n in range(60, 600, 30))])
def test_exchanges_of_random_programs_obey_the_limits(first: int) -> None:
    assert sum(verified(seed) for seed in range(first, first + 30)) > 100
