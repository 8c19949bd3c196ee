"""Host tracing with libpvti's Python names: channels, tracepoints, graphs and heat maps, written to a .pvti file.

`PVTI_OPTIONS='{"enable": "true", "directory": "reports"}' python program.py` records; without the variable every
call returns at once and no file is made. Standard library only.
"""

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
    tracePoplar,
)
from popvision.pvti.graphs import Graph, HeatmapDouble, Series, decodeHeatmapData
from popvision.pvti.instrument import instrument, instrument_fn
from popvision.pvti.session import session as _session
from popvision.pvti.tracepoint import Tracepoint

channel = createTraceChannel
"""Short name of `createTraceChannel` for our own code."""


def getCurrentTraceFilename() -> str:
    """The path of this process's trace, absolute; "" when tracing is off. The file exists from the first event on."""
    return _session.path


def closeTrace() -> None:
    """End the trace of this process and finalise its file; nothing is recorded after it."""
    _session.close()


def isRecording() -> bool:
    """True while events of enabled channels are recorded."""
    return _session.recording


def runId() -> str:
    """What the files of this run have in common with the trace; "" when tracing is off."""
    return _session.run_id


def setTraceMetadata(key: str, value: object) -> None:
    """State a fact about the whole trace, such as `simulated_device`; shown in the viewer's summary."""
    _session.set_meta(key, value)


__all__ = [
    "Graph",
    "HeatmapDouble",
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
    "tracePoplar",
]
