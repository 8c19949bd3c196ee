"""How often recorded runs came to each program: steps that ran are counted, what holds them follows from the tree.

A program is entered once for each time its parent runs it: as often as the parent was entered, times the trips of a
Repeat; a function at each of its calls; a branch of the root switch once for each run that chose it. The numbers
that follow are compared with the recorded steps, and where they differ what they would say is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.analysis.program_tree import programs_of
from popvision.formats.profile.model import PHASE_OF_TYPE

if TYPE_CHECKING:
    from popvision.analysis.source import ReportSource
    from popvision.formats.profile.model import Programs

Int64 = npt.NDArray[np.int64]

_BY_DATA = ("RepeatWhile", "If", "Switch")
_LARGEST = 2**62


def entries(source: ReportSource, executions: Int64) -> Int64:
    """By program; -1 where nothing says. `executions` are the recorded steps by program."""
    programs = programs_of(source)
    n = len(programs.type)
    runs = source.reader.runs()
    leaf = np.array([type_ in PHASE_OF_TYPE for type_ in programs.type], bool)
    leaf &= np.diff(np.asarray(programs.child_offsets)) == 0
    unknown = np.where(leaf | (executions > 0), executions, -1)
    if not len(runs.name):
        return np.zeros(n, np.int64)
    found = _propagated(programs, np.asarray(runs.program_index).tolist())
    if found is None or bool(np.any(runs.truncated)) or not np.array_equal(found[leaf], executions[leaf]):
        return unknown
    return np.where(leaf, executions, found)


def _propagated(programs: Programs, chosen: list[int]) -> Int64 | None:
    """Numbers that follow from the tree; None where data choose or programs contain each other."""
    if any(type_ in _BY_DATA for type_ in programs.type) or ("Call" in programs.type and programs.callee is None):
        return None
    offsets = np.asarray(programs.child_offsets).tolist()
    children = np.asarray(programs.children).tolist()
    callee = [-1] * len(programs.type) if programs.callee is None else np.asarray(programs.callee).tolist()
    waiting = [0] * len(programs.type)  # parents and callers not yet counted
    for child in children + [each for each in callee if each >= 0]:
        waiting[child] += 1
    is_root = [not each and owner == "control" for each, owner in zip(waiting, programs.owner, strict=True)]
    control = [row for row, root in enumerate(is_root) if root]
    entered = [0] * len(programs.type)
    for index in chosen:
        if control:
            entered[control[index if len(control) > index else 0]] += 1
    ready = [row for row, each in enumerate(waiting) if not each]
    done = 0
    while ready:
        program = ready.pop()
        done += 1
        below = children[offsets[program] : offsets[program + 1]]
        times = entered[program] * (int(programs.repeat_count[program]) if programs.type[program] == "Repeat" else 1)
        if times > _LARGEST:
            return None
        switch = programs.type[program] == "OnEveryTileSwitch"
        for place, child in enumerate(below):
            entered[child] += chosen.count(place) if switch else times
        if callee[program] >= 0:
            entered[callee[program]] += times
            below = [*below, callee[program]]
        for child in below:
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    return np.array(entered, np.int64) if done == len(programs.type) and max(entered) <= _LARGEST else None
