"""What a page asks of a host trace that its program still writes: a few values, counted once per opened file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from popvision.analysis.trace.columns import HostTrace


def live_state(source: HostTrace, reports: str) -> dict[str, str]:
    """`identity` changes where other processes or runs wrote the files, `known` with everything that is added, and with
    `reports`, the state of the reports of the execution."""
    identity = "+".join(
        f"{file.meta.get('run_id', '')}/{'.'.join(str(pid) for pid, _, _ in file.processes)}" for file in source.files
    )
    states = ".".join(file.state for file in source.files)
    samples = sum(len(times) for _, times, _ in source.series) + sum(len(times) for _, times, _ in source.heatmaps)
    instants = sum(len(thread.instant_time) for thread in source.threads)
    counted = f"{source.events}.{instants}.{samples}.{source.begin}.{source.end}"
    return {"identity": identity, "known": f"{identity}:{states}:{counted}:{reports}"}
