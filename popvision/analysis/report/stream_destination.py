"""Where a stream copy goes: the host, a remote buffer, or not known.

A StreamCopy program is named after its stream or buffer. A report whose meta lists `remoteBuffers` (names; an empty
list where the program has none) tells the two apart; a report without the list does not. One StreamCopy program moves
one stream, so a mixture of destinations within one step cannot be recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.arrays import UInt8Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

DESTINATIONS = ("host", "remote buffer", "unknown")


def destinations(source: ReportSource) -> UInt8Array:
    """Row = program: index into DESTINATIONS; says nothing about programs that are not stream copies."""
    return source.kept.once("stream destinations", lambda: _destinations(source))


def _destinations(source: ReportSource) -> UInt8Array:
    names = source.reader.programs().name
    buffers = source.reader.meta.get("remoteBuffers")
    if not isinstance(buffers, list):
        return np.full(len(names), DESTINATIONS.index("unknown"), np.uint8)
    known = {str(each) for each in buffers}
    return np.array([int(name in known) for name in names], np.uint8)
