"""Which lowered programs take their way by data, so that two runs of them may differ."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.compiler.ir.program_table import ProgramTable

#: Program types that choose by data.
CHOOSING = ("If", "Switch", "RepeatWhile")


class DataChoices:
    """Below one branch of the root switch. `function_roots`: row of each called function's body."""

    def __init__(self, table: ProgramTable, function_roots: Mapping[int, int], branch: int) -> None:
        self._table, self._roots, self._branch = table, function_roots, branch
        self._known: dict[int, bool] = {}

    def in_program(self, row: int) -> bool:
        """Whether the program in this row, anything below it or anything it calls chooses by data."""
        if row not in self._known:
            table = self._table
            if table.type[row] in CHOOSING:
                self._known[row] = True
            elif table.type[row] == "OnEveryTileSwitch":
                self._known[row] = self.in_program(self._branch)
            elif table.function[row] >= 0:
                self._known[row] = self.in_program(self._roots[table.function[row]])
            else:
                self._known[row] = any(self.in_program(child) for child in table.children[row])
        return self._known[row]
