"""The figures of execution steps on one IPU, as lists: scripts ask for one number a step, a hundred thousand times."""

from __future__ import annotations

from typing import Any

import numpy as np

from popvision.formats.profile import model


class StepColumns:
    """Columns of `model.StepsOnIpu`; each becomes a list of plain numbers when it is first asked for."""

    def __init__(self, arrays: model.StepsOnIpu) -> None:
        self.arrays = arrays
        self._lists: dict[str, list[Any]] = {}

    def at(self, column: str, step: int) -> Any:
        """One number of one step."""
        values = self._lists.get(column)
        if values is None:
            values = self._lists[column] = np.asarray(getattr(self.arrays, column)).tolist()
        return values[step]
