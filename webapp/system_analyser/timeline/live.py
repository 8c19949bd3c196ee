"""What a page asks of a host trace that its program still writes: a few values, counted once per opened file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from popvision.analysis.trace.drawing import events_between

if TYPE_CHECKING:
    from popvision.analysis.trace.columns import HostTrace


def live_state(source: HostTrace, reports: str) -> dict[str, str]:
    """`identity` changes where other processes or runs wrote the files, `known` with everything that is added, and with
    `reports`, the state of the reports of the execution."""
    identity = "+".join(
        f"{file.meta.get('run_id', '')}/{file.meta.get('clock_offset_ns', '')}/"
        f"{'.'.join(str(pid) for pid, _, _ in file.processes)}"
        for file in source.files
    )
    states = ".".join(file.state for file in source.files)
    samples = sum(len(times) for _, times, _ in source.series) + sum(len(times) for _, times, _ in source.heatmaps)
    instants = sum(len(thread.instant_time) for thread in source.threads)
    unfinished = sum(len(thread.unfinished) for thread in source.threads)
    counted = f"{source.events}.{instants}.{samples}.{source.begin}.{source.end}.{unfinished}.{source.moved}"
    return {"identity": identity, "known": f"{identity}:{states}:{counted}:{reports}"}


def window_state(source: HostTrace, begin: int, end: int) -> str:
    """A text that changes with what a growing trace holds of a window, ns since the epoch: with the number of its
    events, with the spans that late ends have moved, and, where the window reaches the end or one of its events has not
    ended, with the end of the trace."""
    count = f"{events_between(source, begin, end)}.{source.moved}"
    is_settled = end <= source.end and not any(
        (depth, len(lane) - 1) in thread.unfinished and lane.start[-1] < end
        for thread in source.threads
        for depth, lane in enumerate(thread.lanes)
        if len(lane)
    )
    return count if is_settled else f"{count}.{source.end}"
