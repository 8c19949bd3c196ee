"""How long each program's steps really kept a tile busy: what bytes per cycle are measured by.

The flat length of a step (allCycles) is what it adds to the total. Where tiles run apart, as I/O tiles beside those
that compute, a step that ends before a slower one adds little or nothing, although its tiles worked all the while;
bytes divided by that length can exceed any link. What bounds the bytes is the time of the tiles that move them:

    cycles of an execution = the largest of all tiles' own cycles in that step, over all IPUs
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.programs.program_tree import programs_of
from popvision.analysis.report.tile_knowledge import tiles_unknown
from popvision.analysis.report.tiles import target_of
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


def longest_tiles(source: ReportSource) -> Int64Array:
    """By program: cycles of the longest tile in each of its executions, summed over the recorded runs. Of a report that
    does not know its tiles (`tiles_unknown`) the flat lengths of its slowest IPU, the only ones it has. Raises
    FormatError when the report is damaged."""
    return source.kept.recent(("longest_tiles", source.generation), lambda: _longest_tiles(source))


def _longest_tiles(source: ReportSource) -> Int64Array:
    reader = source.reader
    program = np.asarray(reader.steps().program, np.int64)
    flat = bool(tiles_unknown(source))
    longest = np.zeros(len(program), np.int64)
    for ipu in range(target_of(source).num_ipus):
        steps = reader.steps_on_ipu(ipu)
        longest = np.maximum(longest, np.asarray(steps.cycles if flat else steps.max_cycles, np.int64))
    sums = np.zeros(len(programs_of(source).type), np.int64)
    np.add.at(sums, program, longest)
    return sums
