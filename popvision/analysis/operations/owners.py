"""Owners of programs, compute sets and variables: the operation of a software layer that created each.

An operation is a debug context of the layer that has none of the same layer above it: the outermost call, such as one
`poplin::matMul` with its copies, its convolution and its reduction. It owns everything created under it, at any depth:

- a program or variable belongs to the operation above its own debug context, and to no other;
- a program of a function belongs to the operation that created the function, wherever it is called from;
- of several parents of a context the first one counts that has an operation of the layer at or above it;
- a compute set belongs to the operation of the programs that run it, to none where programs of several do.

Row 0 is "not attributed". One pass over the debug contexts, parents first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.programs.related_programs import layers
from popvision.analysis.report.columns import programs_of, variables
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.formats.debug_info import DebugContexts


__all__ = ["DEBUG_INFORMATION", "DEFAULT_LAYERS", "NO_OPERATION", "Owners", "chosen_layer", "layers", "owners"]

DEBUG_INFORMATION = (
    "This report holds no debug information: run with autoReport.outputDebugInfo=true to see the program's operations."
)

#: The row of what no operation accounts for.
NO_OPERATION = 0

#: The layer that is shown first: of these the first that the report has. A model's user knows its modules best.
DEFAULT_LAYERS = ("poptorch", "tensorflow", "ir", "torch", "poplibs")

#: Readings of a file whose contexts stand before their parents; ours need one.
_MOST_READINGS = 100


@dataclass(frozen=True)
class Owners:
    """Operations of a layer in the order of their first programs, those without programs last by id. `program[p]`,
    `compute_set[c]` and `variable[v]` are rows of `context` and `name`; row 0 is "no operation" (context -1)."""

    layer: str
    context: Int64Array  #: id of the debug context
    name: list[str]
    program: Int64Array
    compute_set: Int64Array
    variable: Int64Array  #: empty where the report holds no variables


def chosen_layer(source: ReportSource, wanted: str = "") -> str:
    """The layer of that name in any case, without a name the framework's, else PopLibs, else the most
    frequent one.

    Raises NotRecordedError without debug information, ValueError for a layer that no context names."""
    known = layers(source)
    if not known:
        raise NotRecordedError(DEBUG_INFORMATION)
    if not wanted:
        by_name = {each.lower(): each for each in reversed(known)}
        return next((by_name[each] for each in DEFAULT_LAYERS if each in by_name), known[0])
    for each in known:
        if each.lower() == wanted.lower():
            return each
    raise ValueError(f"there is no layer {wanted[:100]!r}: this report has {', '.join(known)}")


def owners(source: ReportSource, layer: str = "") -> Owners:
    """The operations of a layer and what each created. Raises as `chosen_layer`."""
    name = chosen_layer(source, layer)
    return source.kept.recent(("operation_owners", name), lambda: _owners(source, name))


def _owners(source: ReportSource, layer: str) -> Owners:
    above = operations_above(source.debug, layer)
    programs = programs_of(source)
    of_program = _look_up(above, np.asarray(programs.debug_id, np.int64))
    try:
        of_variable = _look_up(above, np.asarray(variables(source).debug_id, np.int64))
    except NotRecordedError:
        of_variable = np.empty(0, np.int64)
    contexts = np.concatenate([of_program, np.sort(of_variable)])
    contexts = contexts[contexts >= 0]
    ids, first = np.unique(contexts, return_index=True)
    ids = ids[np.argsort(first, kind="stable")]
    row = np.full(int(ids.max(initial=-1)) + 2, NO_OPERATION, np.int64)  # the last one is looked up by -1
    row[ids] = np.arange(1, len(ids) + 1)
    program = row[of_program]
    return Owners(
        layer,
        np.concatenate([[-1], ids]),
        ["", *(str(source.debug.record(id).get("name", "")) for id in ids.tolist())],
        program,
        _compute_set_owners(source, program),
        row[of_variable],
    )


def operations_above(contexts: DebugContexts, layer: str) -> dict[int, int]:
    """By id of a context the id of the outermost context of the layer at or above it, -1 where there is none. A parent
    that is not in the file counts as none."""
    outermost: dict[int, int] = {}
    waiting = list(contexts.records())
    for _ in range(_MOST_READINGS):
        late = []
        for id, record in waiting:
            parents = record.get("parents")
            above = -1
            for each in parents if isinstance(parents, list) else ():
                if not isinstance(each, int):
                    continue
                upper = outermost.get(each)
                if upper is None and each in contexts and each != id:
                    late.append((id, record))
                    break
                if above < 0 and upper is not None:
                    above = upper
            else:
                outermost[id] = id if above < 0 and record.get("layer") == layer else above
        if not late or len(late) == len(waiting):
            break
        waiting = late
    return outermost


def _look_up(above: dict[int, int], debug_id: Int64Array) -> Int64Array:
    """The operation's context of each debug id, -1 where there is none."""
    return np.array([above.get(each, -1) for each in debug_id.tolist()], np.int64)


def _compute_set_owners(source: ReportSource, of_program: Int64Array) -> Int64Array:
    """The one operation whose programs run each compute set; NO_OPERATION where there are several, or none."""
    compute_set = np.asarray(programs_of(source).compute_set, np.int64)
    count = len(source.reader.compute_sets().name)
    runs = (compute_set >= 0) & (compute_set < count)
    least = np.full(count, len(of_program) + 1, np.int64)
    most = np.full(count, NO_OPERATION, np.int64)
    np.minimum.at(least, compute_set[runs], of_program[runs])
    np.maximum.at(most, compute_set[runs], of_program[runs])
    return np.where(least == most, most, NO_OPERATION)
