"""target.deterministicWorkers=false: nothing says which worker of a tile comes first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from popvision.formats.profile.model import VertexLanes
from simulator.machine.footprint import WORKERS


def with_free_workers(lanes: list[VertexLanes], random: np.random.Generator) -> list[VertexLanes]:
    """Lanes in which each tile's workers have changed their turns. Who shares a worker with whom stays, so that no
    cycles change."""
    free = []
    for lane in lanes:
        turn = random.integers(0, WORKERS, len(lane.tile_offsets) - 1)
        by_vertex = np.repeat(turn, np.diff(lane.tile_offsets))
        on_worker = lane.worker < WORKERS
        worker = np.where(on_worker, (lane.worker + by_vertex) % WORKERS, lane.worker)
        free.append(replace(lane, worker=worker.astype(lane.worker.dtype)))
    return free
