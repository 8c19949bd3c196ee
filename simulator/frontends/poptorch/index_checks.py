"""Indices out of range while a model runs: each operator that reads one is named once, or raises an error."""

from __future__ import annotations

from dataclasses import dataclass, field

from simulator.frontends.poptorch.environment import raises_for_indices
from simulator.frontends.poptorch.errors import Error
from simulator.frontends.poptorch.logging import logger


@dataclass
class IndexChecks:
    """What the runs of one model read. Called by `popops.slices.index_watch`."""

    told: set[str] = field(default_factory=set)

    def __call__(self, operator: str, wrong: int, size: int) -> None:
        """Raises Error if POPVISION_INDICES is "raise"; else each operator is named once."""
        text = f"Index {wrong} of {operator} is out of range for size {size}"
        if raises_for_indices():
            raise Error(f"{text}.")
        if operator not in self.told:
            self.told.add(operator)
            logger.warning(
                "%s: the device reads zeros there and writes nothing, as hardware does; POPVISION_INDICES=raise makes "
                "it an error.",
                text,
            )
