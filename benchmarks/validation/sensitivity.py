"""How much the matmul chain depends on each constant that has no public source: what 10 % more of it changes."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from benchmarks.validation.matmul_chain import SHAPES
from simulator.compiler.compile import compile_graph
from simulator.compiler.settings import CompileSettings
from simulator.machine import targets
from simulator.machine.unsourced import UNSOURCED, Unsourced
from simulator.poplar import FLOAT, Graph, TargetType
from simulator.poplar.program import Sequence
from simulator.poplar.target import Target
from simulator.poplibs import poplin, poputil
from simulator.runtime.device_clock import DeviceClock

MORE = 1.1


def figures(hardware: bool) -> tuple[int, int]:
    """(cycles of a run, bytes of all tiles with gaps left out) of the chain on Mk2, compiled anew."""
    chip = targets.MK2
    target = Target(
        TargetType.IPU if hardware else TargetType.IPU_MODEL, chip, min_sync_delay=chip.min_ipu_sync_delay,
        global_sync_cycles=chip.global_sync_cycles,
    )  # fmt: skip
    graph, program = Graph(target), Sequence()
    matrices = [graph.addVariable(FLOAT, list(shape), f"m{i}") for i, shape in enumerate(SHAPES, start=1)]
    for matrix in matrices:
        poputil.mapTensorLinearly(graph, matrix)
    m4 = poplin.matMul(graph, matrices[0], matrices[1], program, "m4")
    poplin.matMul(graph, m4, matrices[2], program, "m5")
    wanted = CompileSettings(compute_level="tile", external_exchange=True, control_flow=True)
    executable = compile_graph(graph.store, target, [program], wanted)
    lowered = executable.lowered
    clock = DeviceClock(lowered.table, lowered.cycles, lowered.function_roots, executable.machine)
    run = clock.run(lowered.branches[0])
    ends = [
        int((base[0] + clock.patterns[pattern[0]].start.astype("i8") + clock.patterns[pattern[0]].cycles).max())
        for base, pattern in zip(run.segment.base, run.segment.pattern, strict=True)
    ]
    memory = executable.compilation.tile_memory
    assert memory is not None
    return max(ends), int(memory.excluding_gaps.sum())


@contextmanager
def changed(constant: Unsourced) -> Iterator[tuple[float, float]]:
    """The constant 10 % higher (whole ones by 1 at least) wherever it was imported; gives (before, now)."""
    module = importlib.import_module(f"simulator.machine.{constant.module}")
    owner, _, key = constant.name.partition("." if "." in constant.name else "[")
    key = key.rstrip("]")
    old: Any = getattr(module, "MK2" if owner == "Chip" else owner)
    if owner == "Chip" or "." in constant.name:
        before = getattr(old, key)
        new: Any = replace(old, **{key: _more(before)})
        now = getattr(new, key)
    elif key:
        before, now = old[key], _more(old[key])
        new = {**old, key: now}
    else:
        before, new = old, _more(old)
        now = new
    places = _places("MK2" if owner == "Chip" else owner, old, module)
    for place, name in places:
        setattr(place, name, new)
    try:
        yield float(before), float(now)
    finally:
        for place, name in places:
            setattr(place, name, old)


def _more(value: float) -> float:
    return max(value + 1, round(value * MORE)) if isinstance(value, int) else value * MORE


def _places(name: str, value: Any, module: Any) -> list[tuple[Any, str]]:
    """Every simulator module that holds the constant under its name, by import or by definition."""
    found = [(module, name)]
    for title, other in list(sys.modules.items()):
        if title.startswith("simulator.") and other is not module and other is not None:
            same = getattr(other, name, None)
            if same is value and (not isinstance(value, int) or _imports(other, name, module.__name__)):
                found.append((other, name))
    return found


def _imports(module: Any, name: str, source: str) -> bool:
    """Whether `module` imports the number `name` from `source`: small integers are one object everywhere."""
    import ast
    import inspect

    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.ImportFrom) and node.module == source and any(a.name == name for a in node.names):
            return True
    return False


def section() -> list[str]:
    """The table of constants without a published source."""
    base = {hardware: figures(hardware) for hardware in (False, True)}
    lines = [
        "### Constants without a published source",
        "",
        f"{len(UNSOURCED)} constants are fitted to published figures or guessed (`simulator/machine/unsourced.py`). "
        "Sensitivity: relative change of the chain's total cycles and of its memory (gaps left out) when the constant "
        "is 10 % larger (whole numbers: by 1 at least), on the IPU Model and on simulated hardware, where code and "
        "launches count. 0 = the chain does not use it, or the figure does not move.",
        "",
        "| constant | value | class | fitted to, or why | cycles, model | memory, model | cycles, hardware "
        "| memory, hardware |",
        "|---|---:|---|---|---:|---:|---:|---:|",
    ]
    for constant in UNSOURCED:
        with changed(constant) as (before, _):
            shifts = []
            for hardware, old in base.items():
                new = figures(hardware)
                shifts += [_percent(new[0], old[0]), _percent(new[1], old[1])]
        title = f"`{constant.module}.{constant.name}`"
        lines.append(f"| {title} | {before:g} | {constant.kind} | {constant.why} | {' | '.join(shifts)} |")
    return [*lines, ""]


def _percent(new: int, old: int) -> str:
    return f"{100 * (new / old - 1):+.2f} %" if new != old else "0"
