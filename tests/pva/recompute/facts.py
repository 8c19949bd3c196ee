"""Versions, settings, the target and counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.pva.plain_file import PlainFile

T = 3


def _meta(name: str, *path: str) -> Callable[[PlainFile], Any]:
    def read(f: PlainFile) -> Any:
        value = f.meta[name]
        for key in path:
            value = value[key]
        return value

    return read


VALUES: dict[str, tuple[Callable[[Any], Any], Callable[[PlainFile], Any]]] = {
    "PoplarVersion.string": (lambda r: r.poplarVersion.string, _meta("poplarVersion")),
    "PoplarVersion.major": (lambda r: r.poplarVersion.major, lambda f: int(f.meta["poplarVersion"].split(".")[0])),
    "PoplarVersion.minor": (lambda r: r.poplarVersion.minor, lambda f: int(f.meta["poplarVersion"].split(".")[1])),
    "PoplarVersion.packageHash": (
        lambda r: r.poplarVersion.packageHash,
        lambda f: f.meta["poplarVersion"].split("(")[1].rstrip(")"),
    ),
    "ProfileReportVersion": (
        lambda r: [r.version.major, r.version.minor, r.version.point],
        lambda f: [int(part) for part in f.meta["formatVersion"].split(".")],
    ),
    "InstrumentationSettings.compute": (
        lambda r: r.instrumentationSettings.compute.name,
        _meta("computeInstrumentation"),
    ),
    "InstrumentationSettings.externalExchange": (
        lambda r: r.instrumentationSettings.externalExchange.name,
        _meta("externalExchangeInstrumentation"),
    ),
    "CompilationReport.engineOptions": (lambda r: r.compilation.engineOptions, _meta("engineOptions")),
    "CompilationReport.targetOptions": (lambda r: r.compilation.targetOptions, _meta("targetOptions")),
    "CompilationReport.hostInfo": (lambda r: r.compilation.hostInfo, _meta("host")),
    "CompilationReport.timestamp": (lambda r: r.compilation.timestamp, _meta("timestamp")),
    "CompilationReport.tiles": (lambda r: len(r.compilation.tiles), lambda f: f.tiles),
    "CompilationReport.ipus": (lambda r: [len(i.tiles) for i in r.compilation.ipus], lambda f: [f.per_ipu] * f.ipus),
    "Target.type": (lambda r: r.compilation.target.type.name, _meta("target", "type")),
    "Target.architecture": (lambda r: r.compilation.target.architecture.name, _meta("target", "architecture")),
    "Target.numIPUs": (lambda r: r.compilation.target.numIPUs, _meta("target", "num_ipus")),
    "Target.tilesPerIpu": (lambda r: r.compilation.target.tilesPerIpu, _meta("target", "tiles_per_ipu")),
    "Target.numTiles": (lambda r: r.compilation.target.numTiles, lambda f: f.tiles),
    "Target.bytesPerTile": (lambda r: r.compilation.target.bytesPerTile, _meta("target", "bytes_per_tile")),
    "Target.bytesPerIPU": (
        lambda r: r.compilation.target.bytesPerIPU,
        lambda f: f.per_ipu * f.target["bytes_per_tile"],
    ),
    "Target.totalMemory": (lambda r: r.compilation.target.totalMemory, lambda f: f.tiles * f.target["bytes_per_tile"]),
    "Target.clockFrequency": (lambda r: r.compilation.target.clockFrequency, _meta("target", "clock_hz")),
    "Target.numReplicas": (lambda r: r.compilation.target.numReplicas, _meta("target", "num_replicas")),
    "Target.ipusPerReplica": (
        lambda r: r.compilation.target.ipusPerReplica,
        lambda f: f.ipus // f.target["num_replicas"],
    ),
    "Target.tilesPerReplica": (
        lambda r: r.compilation.target.tilesPerReplica,
        lambda f: f.tiles // f.target["num_replicas"],
    ),
    "Target.memoryPerReplica": (
        lambda r: r.compilation.target.memoryPerReplica,
        lambda f: f.tiles * f.target["bytes_per_tile"] // f.target["num_replicas"],
    ),
    "Target.minSyncDelay": (lambda r: r.compilation.target.minSyncDelay, _meta("target", "min_sync_delay")),
    "Target.relativeSyncDelayByTile": (
        lambda r: r.compilation.target.relativeSyncDelayByTile,
        lambda f: f.array(f.target["relative_sync_delay"]) * f.ipus,
    ),
    "Graph.numComputeSets": (lambda r: r.compilation.graph.numComputeSets, _meta("counts", "num_compute_sets")),
    "Graph.numVertices": (lambda r: r.compilation.graph.numVertices, _meta("counts", "num_vertices")),
    "Graph.numEdges": (lambda r: r.compilation.graph.numEdges, _meta("counts", "num_edges")),
    "Graph.numVars": (lambda r: r.compilation.graph.numVars, _meta("counts", "num_variables")),
}
