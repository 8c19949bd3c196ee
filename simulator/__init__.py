"""The simulated IPU: Poplar's API in `simulator.poplar`, and `simulator.profile` for PyTorch modules."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """`simulator.profile`, which needs PyTorch, is imported when it is first used."""
    if name == "profile":
        from simulator.frontends.profiling import profile

        return profile
    raise AttributeError(f"module 'simulator' has no attribute {name!r}")
