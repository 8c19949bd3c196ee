"""Codelets of the random programs, for each element type: workers, one of them in batches, supervisor, multi."""

from __future__ import annotations

from typing import Any

import numpy as np

from simulator.codelets.vertex import InOut, Input, MultiVertex, Output, SupervisorVertex, Vector, Vertex
from simulator.poplar import Type


def codelets(type_: Type) -> list[type[Vertex]]:
    """Twice (y = 2x, in batches), Blend (y = y + x), Mirror (y = x reversed), Step (y = x + 1), RowSum, Total."""

    class Twice(Vertex):
        x = Input(Vector(type_))
        y = Output(Vector(type_))

        def compute(self) -> None:
            self.y[:] = self.x + self.x

        def compute_batch(self) -> None:
            self.y[...] = self.x + self.x

        @classmethod
        def estimate(cls, sizes: Any, values: Any, target: Any) -> Any:
            return 11 + 3 * sizes["x"]

    class Blend(Vertex):
        x = Input(Vector(type_))
        y = InOut(Vector(type_, layout="one_ptr"))

        def compute(self) -> None:
            self.y[:] = self.y + self.x

    class Mirror(SupervisorVertex):
        x = Input(Vector(type_))
        y = Output(Vector(type_))

        def compute(self) -> None:
            self.y[:] = self.x[::-1]

    class Step(MultiVertex):
        x = Input(Vector(type_))
        y = Output(Vector(type_))
        by = type_

        def compute(self, workerId: int) -> None:
            self.y[workerId::6] = self.x[workerId::6] + np.asarray(self.by).astype(self.x.dtype)

    class RowSum(Vertex):
        rows = Vector(Input(Vector(type_)))
        y = Output(Vector(type_))

        def compute(self) -> None:
            self.y[:] = sum(self.rows[1:], self.rows[0])

    class First(Vertex):
        parts = Vector(Input(type_))
        out = Output(type_)

        def compute(self) -> None:
            self.out = self.parts[-1]

    made = [Twice, Blend, Mirror, Step, RowSum, First]
    for cls in made:
        cls.name = f"{cls.__name__}_{type_.name}"  # type: ignore[attr-defined]
    return made
