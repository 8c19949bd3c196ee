"""What a tensor says of itself: its metadata tensor, and texts for people."""

from __future__ import annotations

import sys
from typing import Self

import numpy as np

from simulator.base.errors import tensor_metadata_error
from simulator.base.types import QUARTER_METADATA
from simulator.graph.tensor_core import TensorCore


class DescribedTensor(TensorCore):
    """Metadata and descriptions."""

    __slots__ = ()

    def hasMetadata(self) -> bool:
        """Whether the tensor has a metadata tensor, as those of type QUARTER do."""
        return self.valid() and self._type.requiresMetadata() and self._metadata_element() is not None

    def getMetadata(self) -> Self:
        """The metadata tensor (shape []) of a QUARTER tensor; `tensor_metadata_error` for other types."""
        self._require()
        element = self._metadata_element() if self._type.requiresMetadata() else None
        if element is None:
            raise tensor_metadata_error(f"{self!r} has no metadata; only tensors of type quarter have.")
        variable = int(self._store.variable_of(np.array([element], np.int64))[0])
        out = type(self)._of_variable(self._store, variable, QUARTER_METADATA, ())
        out._start = element
        return out

    def _metadata_element(self) -> int | None:
        variables = self._variables() or [self._variable]
        return self._store.variables.metadata.get(variables[0])

    def shapeToString(self) -> str:
        """The shape as Poplar spells it, for example "{2,3}"."""
        return "{" + ",".join(str(n) for n in self._shape) + "}"

    def getVarStr(self) -> str:
        """The names of the variables that the tensor is made of, each once, joined by commas."""
        names = self._store.variables.name
        return ",".join(names[v] or f"<variable {v}>" for v in self._variables())

    def getDebugStr(self) -> str:
        """Variables, type and shape, for messages."""
        return f"{self.getVarStr()}:{self._type.name}{self.shapeToString()}" if self.valid() else "<invalid tensor>"

    def dump(self) -> None:
        """Write the tensor's description on standard error."""
        sys.stderr.write(self.getDebugStr() + "\n")

    def dumpRegions(self) -> None:
        """Write the runs of memory that spell the flattened tensor on standard error, one a line."""
        names = self._store.variables.name
        for run in self.getVarRegions():
            name = names[run.var.id] or f"<variable {run.var.id}>"
            sys.stderr.write(f"{name}[{run.interval.begin}:{run.interval.end})\n")
