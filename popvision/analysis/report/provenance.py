"""One line for the head of every text and export: simulated, by which model, for which target."""

from __future__ import annotations

from popvision.analysis.report.source import ReportSource

TYPE_LABELS = {"Ipu": "IPU", "IpuModel": "IPU Model", "Cpu": "CPU"}


def provenance_line(source: ReportSource) -> str:
    """For example `Simulated: model version 1; target IPU Model Ipu2, 1,472 tiles; 3.4.0 (popvision 0.1.0)`."""
    meta, target = source.reader.meta, source.reader.target()
    model = meta.get("modelVersion", "unknown")
    kind = "Simulated" if meta.get("simulated", False) else "Profile"
    device = f"{TYPE_LABELS.get(target.type, target.type)} {target.architecture}, {target.num_tiles:,} tiles"
    return f"{kind}: model version {model}; target {device}; {meta.get('poplarVersion', 'version unknown')}"
