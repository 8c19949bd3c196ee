"""The target of a report, as text and as facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from popvision.analysis.report.nouns import with_noun
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import target_of

if TYPE_CHECKING:
    from popvision.formats.profile.model import Target


ARCHITECTURE_NAMES = {"ipu1": "Mk1", "ipu2": "Mk2", "ipu21": "Bow"}
TYPE_NAMES = {"Ipu": "IPU", "IpuModel": "IPU Model", "Cpu": "CPU"}


def architecture_name(target: Target) -> str:
    return ARCHITECTURE_NAMES.get(target.architecture.lower(), target.architecture)


def type_name(target: Target) -> str:
    return TYPE_NAMES.get(target.type, target.type)


def machine_name(target: Target) -> str:
    """For example "Mk2 IPU Model"; of another tool's machine its type, then what it calls the architecture."""
    names = architecture_name(target), type_name(target)
    return " ".join(names if target.type in TYPE_NAMES else reversed(names))


def describe_target(target: Target) -> str:
    """For example "Mk2 IPU Model, 1 IPU x 1,472 tiles"."""
    return f"{machine_name(target)}, {with_noun(target.num_ipus, 'IPU')} x {with_noun(target.tiles_per_ipu, 'tile')}"


@dataclass(frozen=True)
class TargetFacts:
    """The machine; bytes and counts over all replicas unless said otherwise."""

    type: str
    architecture: str
    clock_hz: float
    tiles_per_ipu: int
    total_ipus: int
    total_tiles: int
    replicas: int
    ipus_per_replica: int
    bytes_per_tile: int
    bytes_per_ipu: int
    bytes_per_replica: int
    bytes_total: int
    compute_instrumentation: str
    external_exchange_instrumentation: str

    def rows(self) -> list[tuple[str, str, float | str]]:
        """(name, kind, value) of every fact; `kind` "text", "bytes", "integer" or "hertz"; replicas where there are
        several."""
        facts: list[tuple[str, str, float | str]] = [
            ("Type", "text", self.type),
            ("Architecture", "text", self.architecture),
            ("Clock", "hertz", self.clock_hz),
            ("Tiles per IPU", "integer", self.tiles_per_ipu),
            ("IPUs per replica", "integer", self.ipus_per_replica),
            ("Replicas", "integer", self.replicas),
            ("Total IPUs", "integer", self.total_ipus),
            ("Total tiles", "integer", self.total_tiles),
            ("Memory per tile", "bytes", self.bytes_per_tile),
            ("Memory per IPU", "bytes", self.bytes_per_ipu),
            ("Memory per replica", "bytes", self.bytes_per_replica),
            ("Total memory", "bytes", self.bytes_total),
            ("Compute set instrumentation", "text", self.compute_instrumentation or "–"),
            ("External exchange instrumentation", "text", self.external_exchange_instrumentation or "–"),
        ]
        of_replicas = {"IPUs per replica", "Replicas", "Memory per replica"}
        return facts if self.replicas > 1 else [fact for fact in facts if fact[0] not in of_replicas]


def target_facts(source: ReportSource) -> TargetFacts:
    """The machine the program was compiled for."""
    return _target_facts(target_of(source), source.reader.meta)


def _target_facts(target: Target, meta: dict[str, Any]) -> TargetFacts:
    replicas = max(1, target.num_replicas)
    ipus_per_replica = target.num_ipus // replicas
    bytes_per_ipu = target.bytes_per_tile * target.tiles_per_ipu
    return TargetFacts(
        type=type_name(target),
        architecture=architecture_name(target),
        clock_hz=target.clock_hz,
        tiles_per_ipu=target.tiles_per_ipu,
        total_ipus=target.num_ipus,
        total_tiles=target.num_tiles,
        replicas=replicas,
        ipus_per_replica=ipus_per_replica,
        bytes_per_tile=target.bytes_per_tile,
        bytes_per_ipu=bytes_per_ipu,
        bytes_per_replica=bytes_per_ipu * ipus_per_replica,
        bytes_total=bytes_per_ipu * target.num_ipus,
        compute_instrumentation=str(meta.get("computeInstrumentation", "")),
        external_exchange_instrumentation=str(meta.get("externalExchangeInstrumentation", "")),
    )
