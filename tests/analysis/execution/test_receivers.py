"""Receiving tiles of a window's exchanges against the page of exchanges, program by program."""

from __future__ import annotations

import numpy as np
import pytest

from popvision.analysis.exchange.programs import bandwidth, moved_bytes
from popvision.analysis.execution.timeline import timeline
from popvision.analysis.execution.window import receiving_tiles, window_figures
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import target_of
from tests.samples import SAMPLES


@pytest.fixture(scope="module")
def chain() -> ReportSource:
    return ReportSource(SAMPLES / "matmul_chain")


def test_tiles_equal_those_of_the_exchange_page(chain: ReportSource) -> None:
    moved = moved_bytes(chain)
    internal = np.array([name == "DoExchange" for name in moved.type])
    assert internal.any()
    assert receiving_tiles(chain, 0)[moved.program[internal]].tolist() == moved.receivers[internal].tolist()


def test_the_window_of_one_exchange_has_its_share_of_the_plain_rate(chain: ReportSource) -> None:
    """The heaviest exchange, its busy cycles as the window."""
    moved, rates = moved_bytes(chain), bandwidth(chain)
    row = int(np.argmax(np.where([name == "DoExchange" for name in moved.type], moved.received, 0)))
    steps = timeline(chain, 0)
    step = int(np.flatnonzero(steps.program == moved.program[row])[0])
    window = window_figures(chain, 0, int(steps.spans.busy_begin[step]), int(steps.spans.busy_end[step]))
    exchange = window.transfers["exchange"]
    assert exchange.port_cycles == exchange.cycles * moved.receivers[row]
    share = exchange.measured / (target_of(chain).exchange_bytes_per_cycle * exchange.port_cycles)
    assert share == pytest.approx(float(rates.achieved[row] / rates.possible[row]))
