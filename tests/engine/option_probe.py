"""A tiny program that shows what an option changes: the same run under two values of it, compared by category."""

from __future__ import annotations

import contextlib
import io
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from popvision.formats.profile.reader import ProfileReader
from simulator.codelets.vertex import Input, Output, Vector, Vertex
from simulator.engine.devices.device import Device
from simulator.poplar import (
    FLOAT,
    HALF,
    UNSIGNED_INT,
    Engine,
    Graph,
    StreamCallback,
    Target,
    TargetType,
    poplar_error,
    replication_factor,
)
from simulator.poplar.program import Block, Copy, Execute, If, Repeat, Sequence
from simulator.poplibs.poputil import mapTensorLinearly

TILES = 4


class Root(Vertex):
    """y = square root of x, twice as large a half beside it."""

    x = Input(Vector(FLOAT))
    h = Input(Vector(HALF))
    y = Output(Vector(FLOAT))
    twice = Output(Vector(HALF))

    def compute(self):
        self.y[:] = np.sqrt(self.x)
        self.twice[:] = 2 * self.h

    @classmethod
    def estimate(cls, sizes, values, target):
        return 10 + sizes["x"], sizes["x"]


@dataclass(frozen=True)
class Case:
    """The program: `x` and `h` are its inputs, `large` floats lie on tile 0, `far` rows of 1 kB are remote, of which
    row 1 is read though nobody wrote it where `unwritten`."""

    x: float = 4.0
    h: float = 3.0
    large: int = 0
    far: int = 2
    replicas: int = 1
    unwritten: bool = False


class Source(StreamCallback):
    """Gives `value`; notes what is asked of it and whether the thread of the program asks."""

    def __init__(self, value, calls):
        self.value, self.calls = value, calls

    def _note(self, what):
        self.calls.append((what, threading.current_thread() is threading.main_thread()))

    def fetch(self, p):
        self._note("fetch")
        p[:] = self.value

    def prefetch(self, p):
        self._note("prefetch")
        p[:] = self.value
        return StreamCallback.Result.Success

    def complete(self):
        self._note("complete")

    def invalidatePrefetched(self):
        self._note("invalidate")


def observe(
    case: Case, kind: TargetType, options: Mapping[str, str], folder: Path, code: bool = False
) -> dict[str, Any]:
    """Run the program in an empty working directory; what it showed, by category. `code`: compileIPUCode."""
    target = Target(kind, num_ipus=case.replicas, tiles_per_ipu=TILES, compile_ipu_code=code)
    folder.mkdir(parents=True)
    before, errors, text = Path.cwd(), [], io.StringIO()
    os.chdir(folder)
    seen: dict[str, Any] = {}
    try:
        with contextlib.redirect_stderr(text):
            _run(case, target, options, errors, seen)
    finally:
        os.chdir(before)
    seen["files"] = (
        sorted(
            (str(path.relative_to(folder)), path.stat().st_size if path.suffix == ".a" else 0)
            for path in folder.rglob("*")
            if path.is_file()
        ),
        seen.pop("streamed", 0),
    )
    seen["errors"], seen["text"] = errors, text.getvalue()
    return seen


def _run(
    case: Case, target: Target, options: Mapping[str, str], errors: list[tuple[str, str]], seen: dict[str, Any]
) -> None:
    graph, programs = _program(case, target)

    def attempt(what: str, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except poplar_error as error:
            errors.append((what, type(error).__name__))
            return None

    engine = attempt("compile", lambda: Engine(graph, programs, options))
    if engine is None:
        return
    out = np.zeros((case.replicas, 8), np.float32)
    calls: list[tuple[str, bool]] = []
    for replica in range(case.replicas):
        engine.connectStreamToCallback("in", replica, Source(case.x, calls))
    engine.connectStream("out", out)
    device = Device(target)
    with device:
        if attempt("load", lambda: engine.load(device) or True):
            for number in (0, 0, 1):
                attempt("run", lambda number=number: engine.run(number))
            twice = np.zeros((case.replicas, 8), np.float16)
            engine.readTensor("twice", twice)
            seen["values"] = out.tobytes(), twice.tobytes()
            seen["cycles"] = engine.getTimeStamp().device_cycles
        attempt("report", engine.getReport)
        seen["host"] = sorted(set(calls))
        seen["streamed"] = _runs_on_disk(Path("profile.pop"))
        seen.update(_compiled(engine))
        engine.close()


def _program(case: Case, target: Target) -> tuple[Graph, list[Any]]:
    graph = Graph(target, replication_factor(case.replicas))
    graph.addCodelets(Root)
    x, y, z = (graph.addVariable(FLOAT, [8], name) for name in "xyz")
    h, twice = (graph.addVariable(HALF, [8], name) for name in ("h", "twice"))
    row, flag = graph.addVariable(FLOAT, [256], "row"), graph.addVariable(UNSIGNED_INT, [], "flag")
    for tile in range(TILES):
        part = slice(2 * tile, 2 * tile + 2)
        for tensor in (x, y, h, twice):
            graph.setTileMapping(tensor[part], tile)
        graph.setTileMapping(z[part], TILES - 1 - tile)
    graph.setTileMapping(row, 2)
    a, b = (graph.addVariable(FLOAT, [32, 32], name) for name in "ab")
    for tensor in (a, b):
        mapTensorLinearly(graph, tensor)
    graph.setTileMapping(flag, 1)
    graph.setInitialValue(flag, 1)
    graph.setInitialValue(h, [case.h] * 8)
    sets = graph.addComputeSet("roots")
    for tile in range(TILES):
        part = slice(2 * tile, 2 * tile + 2)
        fields = {"x": x[part], "h": h[part], "y": y[part], "twice": twice[part]}
        graph.setTileMapping(graph.addVertex(sets, "Root", fields), tile)
    far = graph.addRemoteBuffer("far", FLOAT, 256, case.far)
    index = graph.addConstant(UNSIGNED_INT, [1], [1 if case.unwritten else 0], "index")
    first = graph.addConstant(UNSIGNED_INT, [1], [0], "first")
    for constant in (index, first):
        graph.setTileMapping(constant, 0)
    line = row.reshape([1, 256])
    body = Sequence(Execute(sets), Execute(sets), Copy(y, z), Copy(z, y), Copy(a.transpose(), b), Copy(b, a))
    parts = [
        Copy(graph.addHostToDeviceFIFO("in", FLOAT, 8), x),
        Block(Repeat(3, body), "block"),
        If(flag, Copy(y, z), Copy(z, y)),
        Copy(line, far, first),
        Copy(far, line, index),
        Copy(y, graph.addDeviceToHostFIFO("out", FLOAT, 8)),
    ]
    if case.large:
        block = graph.addVariable(FLOAT, [case.large], "large")
        graph.setTileMapping(block, 0)
        graph.createHostWrite("large", block)
    graph.createHostRead("twice", twice)
    return graph, [Sequence(parts), Copy(y, z)]


def _compiled(engine: Any) -> dict[str, Any]:
    """What compilation and the recorder know."""
    compilation, recorder = engine.executable.compiled.compilation, engine.core.recorder
    memory = [(m.category, m.region, m.overlapped, m.ipu, m.bytes.tolist()) for m in compilation.category_memory]
    totals = compilation.tile_memory
    sizes = None if totals is None else (totals.including_gaps.tolist(), totals.excluding_gaps.tolist())
    programs = compilation.programs
    groups = [work.sync_group for work in engine.executable.compiled.lowered.table.work]
    runs = [
        (run.program_index, run.branches is not None, [(on.tile, len(on.program)) for on in run.blocks])
        for run in recorder.records
    ]
    lanes = [lane.worker.tolist() for lane in compilation.vertex_lanes]
    blocks = [[(on.tile, len(on.program)) for on in run] for run in recorder.block_records]
    report = programs.type, programs.sync_type, groups, compilation.compute_sets.flops.tolist(), runs, lanes, blocks
    return {"bytes": (memory, sizes), "report": report}


def _runs_on_disk(path: Path) -> int:
    return len(ProfileReader(path).runs().name) if path.is_file() else 0


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    """The categories in which two runs differ. After different errors nothing else is comparable."""
    if one["errors"] != other["errors"]:
        return {"errors"}
    return {name for name in one if one[name] != other.get(name)}
