"""Host tracing with libpvti's Python names: channels, tracepoints, graphs and heat maps, written to a .pvti file.

`PVTI_OPTIONS='{"enable": "true", "directory": "reports"}' python program.py` records; without the variable every
call returns at once and no file is made. Standard library only.
"""

from popvision.pvti.arguments import check_text
from popvision.pvti.channels import (
    Metadata,
    ThreadName,
    TraceChannel,
    checkTraceChannel,
    createJsonMetadata,
    createTraceChannel,
    disableTraceChannel,
    enableTraceChannel,
    listTraceChannel,
    traceDrivers,
    traceFramework,
    tracePoplar,
)
from popvision.pvti.flows import Flow
from popvision.pvti.graphs import Graph, Series
from popvision.pvti.heatmaps import HeatmapDouble, HeatmapFloat, HeatmapInt, decodeHeatmapData
from popvision.pvti.instrument import instrument, instrument_fn
from popvision.pvti.session import session as _session
from popvision.pvti.tracepoint import Tracepoint

channel = createTraceChannel
"""Our short name of `createTraceChannel`."""


def getCurrentTraceFilename() -> str:
    """The absolute path of this process's trace; "" when tracing is off. The first event creates the file."""
    return _session.path


def closeTrace() -> None:
    """End the trace of this process and finalise its file; later events are dropped."""
    _session.close()


def isRecording() -> bool:
    """True while events of enabled channels are recorded."""
    return _session.recording


def runId() -> str:
    """The id that the files of this run share; "" when tracing is off."""
    return _session.run_id


def setTraceMetadata(key: str, value: object) -> None:
    """Record a fact about the whole trace, such as `simulated_device`; the viewer's summary shows it."""
    check_text(key, "the name of a fact")
    _session.set_meta(key, value if isinstance(value, str | int | float) else str(value))


__all__ = [
    "Flow",
    "Graph",
    "HeatmapDouble",
    "HeatmapFloat",
    "HeatmapInt",
    "Metadata",
    "Series",
    "ThreadName",
    "TraceChannel",
    "Tracepoint",
    "channel",
    "checkTraceChannel",
    "closeTrace",
    "createJsonMetadata",
    "createTraceChannel",
    "decodeHeatmapData",
    "disableTraceChannel",
    "enableTraceChannel",
    "getCurrentTraceFilename",
    "instrument",
    "instrument_fn",
    "isRecording",
    "listTraceChannel",
    "runId",
    "setTraceMetadata",
    "traceDrivers",
    "traceFramework",
    "tracePoplar",
]
