"""Fields of single vertices that are filled element by element: `connect(v["in"][2], t)`, `setFieldSize(v["in"], 3)`.

Elements wait here until the size of the field is known and all are given; then they become an ordinary connection or
value of the block.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simulator.base.errors import graph_connection_error, index_error, no_size_specified, type_error
from simulator.graph.field_columns import FieldColumns, state_value


@dataclass
class Elements:
    """One field of one vertex: its size (None = not given) and its elements so far."""

    size: int | None = None
    given: dict[int, Any] = field(default_factory=dict)  #: (starts, lengths) of an edge, or a value


class IndexedFields:
    """The fields of a block that are given element by element, by (row, field)."""

    def __init__(self, fields: FieldColumns) -> None:
        self._fields = fields
        self._waiting: dict[tuple[int, str], Elements] = {}
        self._sizes: dict[tuple[int, str], int] = {}

    def size_of(self, row: int, name: str) -> int | None:
        """The size that setFieldSize gave."""
        return self._sizes.get((row, name))

    def set_size(self, row: int, name: str, size: int) -> None:
        """setFieldSize; raises `graph_connection_error` where the field has another size already."""
        known = self._fields.known_size(row, name)
        if known is not None and known != size:
            raise graph_connection_error(
                f"{self._fields.vertex(row)}: field '{name}' has {known} elements; its size cannot become {size}."
            )
        waiting = self._waiting.get((row, name), Elements())
        beyond = [i for i in waiting.given if i >= size]
        if known is None and beyond:
            raise self._no_element(row, name, size, beyond[0])
        self._sizes[row, name] = size
        if known is None:
            self._waiting[row, name] = waiting
            waiting.size = size
            self._finish_when_complete(row, name, waiting)

    def check_element(self, row: int, name: str, index: int) -> None:
        """Raises `graph_connection_error` for an element that is connected, `index_error` for one beyond the size."""
        waiting = self._waiting.get((row, name))
        if waiting is not None and index in waiting.given and name in self._fields.edges:
            raise graph_connection_error(
                f"{self._fields.vertex(row)}: element {index} of field '{name}' is connected twice."
            )
        size = self._sizes.get((row, name))
        if size is not None and index >= size:
            raise self._no_element(row, name, size, index)

    def give(self, row: int, name: str, index: int, what: Any) -> None:
        """Set one element of a field: regions of an edge, or a value."""
        self.check_element(row, name, index)
        waiting = self._waiting.setdefault((row, name), Elements(self._sizes.get((row, name))))
        waiting.given[index] = what
        self._finish_when_complete(row, name, waiting)

    def set_initial(self, row: int, name: str, index: int | None, value: Any) -> None:
        """setInitialValue of a simple field, or of one element of it."""
        fields = self._fields
        if index is None:
            size = self.size_of(row, name)
            if size is not None and np.size(value) != size:
                raise type_error(
                    f"{fields.vertex(row)}: field '{name}' has {size} elements, got {np.size(value)} values."
                )
            fields.set_value(row, name, value)
            return
        if name not in fields.values:
            raise fields.no_value(name)
        known: Any = fields.values[name].get(row)
        if np.ndim(known) == 1 and index >= len(known):
            raise index_error(
                f"{fields.vertex(row)}: field '{name}' has {len(known)} elements; there is no element {index}."
            )
        if np.ndim(known) == 1:
            known = known.copy()
            known[index] = state_value(fields.type, name, value, element=True)
            fields.values[name][row] = known
            fields.stale = True
        else:
            self.give(row, name, index, state_value(fields.type, name, value, element=True))

    def remove(self, row: int) -> None:
        """Take back all that was given for a vertex."""
        for waiting in (self._waiting, self._sizes):
            for key in [key for key in waiting if key[0] == row]:
                del waiting[key]

    def _no_element(self, row: int, name: str, size: int, index: int) -> Exception:
        return index_error(
            f"{self._fields.vertex(row)}: field '{name}' has {size} elements; there is no element {index}."
        )

    def _finish_when_complete(self, row: int, name: str, waiting: Elements) -> None:
        if waiting.size is None or len(waiting.given) < waiting.size:
            return
        column = self._fields.edges.get(name)
        if column is None:
            self._settle_state(row, name, waiting)
            return
        parts = [waiting.given[i] for i in range(waiting.size)]
        if column.spec.kind == "vectors":
            for starts, lengths in parts:
                column.add(row, starts, lengths)
        elif parts:
            column.add(row, [s for starts, _ in parts for s in starts], [n for _, lengths in parts for n in lengths])
        self._fields.stale = True
        del self._waiting[row, name]

    def check(self) -> None:
        """Raises `no_size_specified` for fields without a size, `graph_connection_error` for elements that are not
        connected; state vectors of a known size without values are zeros. A vector of edges that was connected as a
        whole has the size of its tensors, whatever it was given before."""
        for (row, name), waiting in list(self._waiting.items()):
            if name in self._fields.edges and not waiting.given:
                if self._fields.edges[name].spec.kind == "vector":
                    self._check_size(row, name, waiting.size)
                continue
            where = f"{self._fields.vertex(row)}: field '{name}'"
            if waiting.size is None:
                raise no_size_specified(f"{where} has no size; call setFieldSize.")
            missing = next((i for i in range(waiting.size) if i not in waiting.given), None)
            if missing is not None and name in self._fields.edges:
                raise graph_connection_error(f"{where}: element {missing} of {waiting.size} is not connected.")
            if name not in self._fields.edges:
                self._settle_state(row, name, waiting)

    def _check_size(self, row: int, name: str, size: int | None) -> None:
        """Raises `graph_connection_error` for a field that was connected as a whole, with another size."""
        known = self._fields.known_size(row, name)
        if known is not None and known != size:
            raise graph_connection_error(
                f"{self._fields.vertex(row)}: field '{name}' was given {size} elements, but {known} are connected."
            )

    def _settle_state(self, row: int, name: str, waiting: Elements) -> None:
        assert waiting.size is not None
        values = np.zeros(waiting.size, self._fields.state_type(name))
        for i, value in waiting.given.items():
            values[i] = value
        self._fields.set_value(row, name, values)
        del self._waiting[row, name]

    def empty_edges(self) -> set[tuple[int, str]]:
        """Edge fields of size 0, which need no connection."""
        return {key for key, size in self._sizes.items() if size == 0}
