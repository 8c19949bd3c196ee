"""Options of the models that tests wrap."""

from __future__ import annotations

from typing import Any

from simulator.frontends import poptorch


def options(**values: Any) -> poptorch.Options:
    """Options without a progress bar, and with each value by the name of its setter."""
    chosen = poptorch.Options().showCompilationProgressBar(False)
    for name, value in values.items():
        getattr(chosen, name)(value)
    return chosen
