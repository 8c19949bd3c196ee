"""Entries of each program over the recorded runs: steps are counted, entries of containers follow from the tree.

A program is entered once for each time its parent runs it: as often as the parent was entered, times the trips of a
Repeat; a function at each of its calls; a branch of the root switch once for each run that chose it. The branch record
of each run has the trips and branches that data chose (If, Switch, RepeatWhile), where control flow is instrumented.
The resulting numbers are compared with the recorded steps; where they differ, entries are unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.report.columns import programs_of
from popvision.arrays import Int64Array
from popvision.formats.profile.model import PHASE_OF_TYPE

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.formats.profile.model import Programs


_BY_DATA = ("RepeatWhile", "If", "Switch")
_LARGEST = 2**62


def entries(source: ReportSource, executions: Int64Array) -> Int64Array:
    """By program; -1 where nothing says. `executions` are the recorded steps by program."""
    programs = programs_of(source)
    n = len(programs.type)
    runs = source.reader.runs()
    leaf = np.array([type_ in PHASE_OF_TYPE for type_ in programs.type], bool)
    leaf &= np.diff(np.asarray(programs.child_offsets)) == 0
    unknown = np.where(leaf | (executions > 0), executions, -1)
    if not len(runs.name):
        return np.zeros(n, np.int64)
    entered = _propagate(programs, np.asarray(runs.program_index).tolist(), _trips_by_data(source))
    if entered is None or bool(np.any(runs.truncated)) or not np.array_equal(entered[leaf], executions[leaf]):
        return unknown
    return np.where(leaf, executions, entered)


def _trips_by_data(source: ReportSource) -> dict[int, int] | None:
    """Bodies of each RepeatWhile and entries of each branch that data chose, in all recorded runs; None where a run has
    no record of them."""
    trips_by_program: dict[int, int] = {}
    for run in range(len(source.reader.runs().name)):
        record = source.reader.branch_record(run)
        if not len(record.program):
            return None
        for program, trips in zip(record.program.tolist(), record.trips.tolist(), strict=True):
            trips_by_program[program] = trips_by_program.get(program, 0) + trips
    return trips_by_program


def _propagate(programs: Programs, chosen: list[int], by_data: dict[int, int] | None) -> Int64Array | None:
    """Numbers that follow from the tree; None where data choose without a record of it (`by_data`) or programs contain
    each other."""
    unrecorded = by_data is None and any(type_ in _BY_DATA for type_ in programs.type)
    if unrecorded or ("Call" in programs.type and programs.callee is None):
        return None
    recorded = by_data or {}
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
        for place, child in enumerate(below):
            by_run = recorded.get(child, 0), recorded.get(program, 0), place == len(below) - 1
            entered[child] += _entered_below(programs.type[program], times, place, chosen, by_run)
        if callee[program] >= 0:
            entered[callee[program]] += times
            below = [*below, callee[program]]
        for child in below:
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    return np.array(entered, np.int64) if done == len(programs.type) and max(entered) <= _LARGEST else None


def _entered_below(type_: str, times: int, place: int, chosen: list[int], by_data: tuple[int, int, bool]) -> int:
    """How often a program of a type, entered so often, comes to the child in a `place`. `by_data`: what is recorded of
    the child, of the program itself, and whether the child is its last."""
    of_child, of_program, is_last = by_data
    if type_ in ("If", "Switch"):
        return of_child
    if type_ == "RepeatWhile":
        return of_program if is_last else times + of_program
    return chosen.count(place) if type_ == "OnEveryTileSwitch" else times
