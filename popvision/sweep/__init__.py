"""Sweeps: one program at many points of a grid, each point a report folder (docs/sweeps.md).

    from popvision.sweep import read_sweep, run_sweep
    outcome = run_sweep(read_sweep("sweep.toml"), "reports")

A point is a program run in a child process with profiling on. Its identity is a digest of what the report depends on:
a sweep that was stopped goes on where it was, and a point is run again only when something it depends on has changed.
"""

from __future__ import annotations

from popvision.sweep.plan import Point, Sweep, SweepError
from popvision.sweep.run import Outcome, run_sweep
from popvision.sweep.sweep_file import read_sweep

__all__ = ["Outcome", "Point", "Sweep", "SweepError", "read_sweep", "run_sweep"]
