"""The origin of a report: its producer, versions and options, and the first line of every text and export."""

from __future__ import annotations

from popvision.analysis.report.nouns import with_noun
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.target import machine_name


def provenance_line(source: ReportSource) -> str:
    """For example `Simulated: model version 1; target Mk2 IPU Model, 1,472 tiles; 3.4.0 (popvision 0.1.0)`."""
    meta, target = source.reader.meta, source.reader.target()
    model = meta.get("modelVersion", "unknown")
    kind = "Simulated" if meta.get("simulated", False) else "Profile"
    device = f"{machine_name(target)}, {with_noun(target.num_tiles, 'tile')}"
    return f"{kind}: model version {model}; target {device}; {meta.get('poplarVersion', 'version unknown')}"


_PROVENANCE_KEYS = (
    ("poplarVersion", "Poplar API level"),
    ("modelVersion", "Model version"),
    ("whatIf", "What-if"),
    ("engineName", "Engine"),
    ("timestamp", "Compiled"),
    ("reportId", "Report id"),
    ("runId", "Run id"),
    ("generation", "Generation"),
)


def provenance_of(source: ReportSource) -> list[tuple[str, str]]:
    """(label, value): producer of the report, time, versions."""
    meta = source.reader.meta
    origin = "simulated" if meta.get("simulated", False) else "not said to be simulated"
    facts = [("Origin", origin)]
    facts += [(label, str(meta[key])) for key, label in _PROVENANCE_KEYS if meta.get(key) not in (None, "")]
    version = meta.get("formatVersion")
    if version is not None:
        text = ".".join(str(part) for part in version) if isinstance(version, list) else str(version)
        facts.append(("Format version", text))
    return facts


def options_of(source: ReportSource) -> list[tuple[str, str, str]]:
    """("engine" or "target", name, value) of every option the report names, sorted."""
    meta = source.reader.meta
    rows = []
    for group, key in (("engine", "engineOptions"), ("target", "targetOptions")):
        options = meta.get(key)
        if isinstance(options, dict):
            rows += [(group, str(name), str(value)) for name, value in sorted(options.items())]
    return rows
