"""Every number of pva and the same from the file by hand: name of docs/pva.md -> (what pva says, what the file says).

`r` is the opened report, `f` the PlainFile. Tile 3 holds something of every kind.
"""

from tests.pva.recompute import execution, facts, liveness, memory, programs

VALUES = facts.VALUES | memory.VALUES | programs.VALUES | liveness.VALUES | execution.VALUES
