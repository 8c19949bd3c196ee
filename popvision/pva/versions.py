"""The software that wrote a report, the version of its layout, and how the program was instrumented."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from popvision.pva.enums import BoundEnum, member


@dataclass(frozen=True)
class PoplarVersion:
    """The API level that wrote the report; `string` is `major.minor.point (writer)`. A simulated report names popvision
    there and in `packageHash`, because no SDK was involved."""

    major: int
    minor: int
    point: int
    packageHash: str
    string: str


def poplar_version(text: str) -> PoplarVersion:
    """Parse `3.4.0 (popvision 0.1.0)`; missing parts are 0 and ""."""
    match = re.match(r"(\d+)\.(\d+)\.(\d+)(?:\s*\((.*)\))?", text)
    if not match:
        return PoplarVersion(0, 0, 0, "", text)
    major, minor, point = (int(part) for part in match.groups()[:3])
    return PoplarVersion(major, minor, point, match.group(4) or "", text)


@dataclass(frozen=True)
class ProfileReportVersion:
    """Version of the layout of profile.pop; 0.0.0 for a file that does not name one."""

    major: int
    minor: int
    point: int
    isUnstableFormat: bool = False


class ComputeInstrumentationLevel(BoundEnum):
    """How finely compute sets were timed."""

    Off = 0
    Vertex = 1
    Tile = 2
    Ipu = 3
    Device = 4
    Unknown = 5


class ExternalExchangeInstrumentationLevel(BoundEnum):
    """Whether host and inter-IPU exchanges were timed."""

    Off = 0
    Tile = 1
    Unknown = 2


class InstrumentationSettings:
    """How the program was instrumented; `Unknown` where the report does not say. As in libpva, enum members are also
    names of this class; `.Off`, `.Tile` and `.Unknown` are those of the second enum, the external exchange's."""

    ComputeInstrumentationLevel = ComputeInstrumentationLevel
    ExternalExchangeInstrumentationLevel = ExternalExchangeInstrumentationLevel
    Vertex = ComputeInstrumentationLevel.Vertex
    Ipu = ComputeInstrumentationLevel.Ipu
    Device = ComputeInstrumentationLevel.Device
    Off = ExternalExchangeInstrumentationLevel.Off
    Tile = ExternalExchangeInstrumentationLevel.Tile
    Unknown = ExternalExchangeInstrumentationLevel.Unknown

    def __init__(self, meta: dict[str, Any]) -> None:
        self.compute: ComputeInstrumentationLevel = member(
            ComputeInstrumentationLevel, meta.get("computeInstrumentation")
        )
        self.externalExchange: ExternalExchangeInstrumentationLevel = member(
            ExternalExchangeInstrumentationLevel, meta.get("externalExchangeInstrumentation")
        )

    def __repr__(self) -> str:
        return f"InstrumentationSettings(compute={self.compute.name}, externalExchange={self.externalExchange.name})"
