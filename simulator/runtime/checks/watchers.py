"""Select the watchers for an engine's settings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from simulator.base.errors import poplar_error
from simulator.base.options.run import RunSettings
from simulator.compiler.compiled_graph import CompiledGraph
from simulator.runtime.checks.edge_trace import EdgeTrace
from simulator.runtime.checks.float_errors import FloatErrors
from simulator.runtime.checks.planted_errors import PlantedErrors
from simulator.runtime.checks.watch import Watcher
from simulator.runtime.checks.write_guard import WriteGuard
from simulator.runtime.values.arena import ArenaLayout

#: The codelet that changes floating-point settings of tiles (simulator.building.floating_point).
_CHANGES_FLOATS = "poplar_rt::ModifyFloatingPoint"


def watchers_of(
    compiled: CompiledGraph,
    layout: ArenaLayout,
    settings: RunSettings,
    planted: PlantedErrors,
    memories: Callable[[], Sequence[Any]],
) -> list[Watcher]:
    """The watchers, innermost first."""
    watchers: list[Watcher] = []
    store = compiled.source.store
    if settings.float_exceptions or _CHANGES_FLOATS in compiled.compilation.vertex_types.name:
        watchers.append(FloatErrors(compiled))
    if settings.verify:
        watchers.append(WriteGuard(store, layout, memories))
    if settings.trace:
        watchers.append(EdgeTrace(store, layout, memories, _stream_of(settings)))
    watchers.append(planted)
    return watchers


def _stream_of(settings: RunSettings) -> Callable[[], TextIO]:
    """The stream of the trace. The file is opened at the first write, which removes the trace of earlier engines."""
    if settings.trace_file is None:
        return lambda: sys.stderr
    path = settings.trace_file
    opened: list[TextIO] = []

    def stream() -> TextIO:
        if not opened:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                opened.append(path.open("w", buffering=1))
            except OSError as error:
                raise poplar_error(
                    f"The trace cannot be written to {path} ({error.strerror or error}); give debug.traceFile another "
                    "path."
                ) from None
        return opened[0]

    return stream
