"""Document of a host trace: what it holds, the drawing of a window, the statistics of its labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from popvision.analysis.report.not_recorded import FormatError
from popvision.analysis.trace.columns import HostTrace
from popvision.analysis.trace.difference import difference_frame, trace_difference
from popvision.analysis.trace.drawing import events_between
from popvision.analysis.trace.kernels import KERNEL_QUESTIONS, has_kernels
from popvision.analysis.trace.statistics import label_statistics
from webapp.base.formats import integer_text
from webapp.documents.confidential import Names
from webapp.documents.document import Block, Drawing, Facts, Field, Note, Table
from webapp.documents.memory_views import frame_table
from webapp.documents.trace_drawing import (
    Window,
    clock_text,
    device_legend_svg,
    devices_svg,
    difference_svg,
    flames_svg,
    graph_svg,
    legend_svg,
)
from webapp.system_analyser.timeline.device_rows import DrawnDevice
from webapp.system_analyser.timeline.difference_flame import difference_blocks, legend
from webapp.system_analyser.timeline.kernels_tab import HEADINGS, kernel_column

#: Threads that are drawn, those with most events.
MOST_THREADS = 40

#: IPUs that are drawn.
MOST_DEVICES = 16

#: Paths of two traces that are listed.
_MOST_PATHS = 500

_MICROSECONDS = ("total", "self", "mean", "min", "p50", "p95", "p99", "max")


def window_of(source: HostTrace, params: Mapping[str, str]) -> Window:
    """The window and the hidden channels of an address: tl_from and tl_to, ns since the first event; tl_hide. Values
    that are no numbers of this trace are ignored."""
    length = source.end - source.begin
    begin, end = _whole(params.get("tl_from", ""), 0), _whole(params.get("tl_to", ""), length)
    if not 0 <= begin < end:
        begin, end = 0, length
    hidden = frozenset(_whole(each, -1) for each in params.get("tl_hide", "").split(","))
    known = hidden & frozenset(range(len(source.names.channel_name)))
    return Window(source, source.begin + begin, source.begin + min(max(end, 1), max(length, 1)), known)


def _whole(text: str, otherwise: int) -> int:
    try:
        return int(float(text))
    except (ValueError, OverflowError):
        return otherwise


def timeline_blocks(
    source: HostTrace, params: Mapping[str, str], names: Names, devices: Sequence[DrawnDevice] = ()
) -> list[Block]:
    """Facts, the drawing with its key, the devices, line graphs, statistics of the window, threads."""
    window = window_of(source, params)
    if not (source.events or any(len(thread.instant_time) for thread in source.threads)):
        return [_facts(window), Note("This trace holds no events.")]
    blocks: list[Block] = [_facts(window)]
    threads = [number for number in range(len(source.threads)) if _is_drawn(window, number)]
    chosen = sorted(sorted(threads, key=lambda number: -source.threads[number].events)[:MOST_THREADS])
    blocks.append(Drawing(f"Events over {source.clock}", flames_svg(window, chosen, names) + legend_svg(window, names)))
    notes = []
    if len(chosen) < len(threads):
        notes.append(f"The drawing shows the {len(chosen)} threads with most events of {len(threads):,}.")
    if window.hidden:
        notes.append(f"{len(window.hidden)} channels are hidden in the drawing; figures include their events.")
    blocks += [Note(" ".join(notes))] if notes else []
    blocks += _device_blocks(window, devices, names)
    blocks += _graphs(window, names)
    if source.heatmaps:
        blocks.append(Note(f"Heat maps of the trace that this file does not show: {len(source.heatmaps)}."))
    return [*blocks, _statistics(window), *_kernels(source), _threads(source)]


def difference_document(source: HostTrace, target: HostTrace, names: Names) -> list[Block]:
    """The differential flame graph of two traces, and the paths with the largest differences. Raises FormatError."""
    difference = trace_difference(source, target)
    blocks, narrow = difference_blocks(difference, source)
    frame = difference_frame(difference, difference.listed(_MOST_PATHS))
    frame["label"] = ["\u2003" * depth + label for depth, label in zip(frame["depth"], frame["label"], strict=True)]
    figures = [
        Field(
            f"{name}_us_{side}",
            f"{name.capitalize()} {source.figure_unit}, {side}".replace("diff", "difference"),
            "decimal",
        )
        for name in ("total", "self")
        for side in ("source", "target", "diff")
    ]
    columns = [Field("label", "Event", "label"), Field("channel", "Channel", "channel"), *figures]
    table = frame_table("Largest differences by call path", frame, columns)
    return [Drawing("Calls of both traces by path", difference_svg(blocks, names)), Note(legend(narrow)), table]


def _kernels(source: HostTrace) -> list[Block]:
    """What accelerators ran, of a trace of PyTorch's profiler."""
    blocks: list[Block] = []
    for question, (ask, _) in KERNEL_QUESTIONS.items() if has_kernels(source) else ():
        try:
            frame = ask(source)
        except FormatError:  # channels of that name, but no kernel
            return []
        columns = [kernel_column(name) for name in frame.columns]
        fields = [
            Field(column.field, column.title, "label" if column.field == "label" else column.kind, column.help)
            for column in columns
        ]
        blocks.append(frame_table(HEADINGS[question], frame, fields))
    return blocks


def _device_blocks(window: Window, devices: Sequence[DrawnDevice], names: Names) -> list[Block]:
    if not devices:
        return []
    shown = devices[:MOST_DEVICES]
    drawing = devices_svg(window, shown, names) + device_legend_svg()
    note = (
        "Two clocks: the axis is host time; a run's cycles are spread evenly over its Engine::run. They are never "
        "added to host time."
    )
    if len(shown) < len(devices):
        note += f" The drawing shows the first {len(shown)} of {len(devices):,} IPUs."
    return [Drawing("Steps of the device under the host", drawing), Note(note)]


def _is_drawn(window: Window, thread: int) -> bool:
    instants = window.source.threads[thread].instant_time
    inside = len(instants) and instants[-1] >= window.begin and instants[0] <= window.end
    return bool(window.visible_lanes(thread) or inside)


def _facts(window: Window) -> Facts:
    source, length = window.source, window.end - window.begin
    begin = f"{clock_text(source, window.begin - source.begin)} after the first event"
    return Facts(
        [
            ("Length shown" if source.unit else "Host time shown", clock_text(source, length), begin),
            ("Events shown", integer_text(events_between(source, window.begin, window.end)), f"of {source.events:,}"),
            ("Threads", integer_text(len(source.threads)), ""),
            ("Channels", integer_text(len(source.names.channel_name)), ""),
        ]
    )


def _graphs(window: Window, names: Names) -> list[Block]:
    graphs: dict[int, list[int]] = {}
    for number, (row, *_) in enumerate(window.source.series):
        graphs.setdefault(row.graph_id, []).append(number)
    blocks: list[Block] = []
    for lines in graphs.values():
        rows = [window.source.series[number][0] for number in lines]
        unit = f" ({rows[0].unit})" if rows[0].unit and not names.confidential else ""
        title = names.show("line graph", rows[0].graph) + unit
        series = [names.show("line", row.name) for row in rows]
        blocks.append(Drawing(title, graph_svg(window, lines, title), series))
    return blocks


def _statistics(window: Window) -> Table:
    source = window.source
    everything = window.begin == source.begin and window.end >= source.end
    frame = label_statistics(source, None if everything else window.begin, None if everything else window.end)
    fields = [
        Field("label", "Label", "label"),
        Field("channel", "Channel", "channel"),
        Field("count", "Count", "integer"),
        *(Field(f"{name}_us", f"{name.capitalize()} µs", "decimal") for name in _MICROSECONDS),
    ]
    fields = [
        dataclasses.replace(field, title=field.title.replace("µs", source.figure_unit))
        for field in fields
        if field.name in frame.columns
    ]
    title = (
        "Time of each label" if everything else "Time of each label; totals count the parts of events inside the window"
    )
    return frame_table(title, frame.sort_values("self_us", ascending=False, kind="stable"), fields)


def _threads(source: HostTrace) -> Table:
    file_of = [number for number, file in enumerate(source.files, 1) for _ in file.threads]
    rows = [
        {
            "number": file_of[index],
            "file": source.files[file_of[index] - 1].label,
            "thread": thread.row.name or str(thread.row.tid),
            "events": thread.events,
            "instants": len(thread.instant_time),
            "depth": len(thread.lanes),
        }
        for index, thread in enumerate(source.threads[:1000])
    ]
    fields = [
        *([Field("number", "File", "integer"), Field("file", "Name", "file")] if len(source.files) > 1 else []),
        Field("thread", "Thread", "thread"),
        Field("events", "Events", "integer"),
        Field("instants", "Instants", "integer"),
        Field("depth", "Depth", "integer"),
    ]
    return Table("Threads", fields, rows, len(source.threads))


def trace_provenance(source: HostTrace, address: str, confidential: bool) -> list[tuple[str, str]]:
    """Origin of the file; without paths and commands where it is confidential."""
    rows = [("Clock", source.clock), *(("Figures", note) for note in source.notes)]
    if not source.unit:
        begin = datetime.fromtimestamp(source.begin // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        rows.insert(1, ("First event", begin))
    for number, file in enumerate(source.files, 1):
        meta, of_file = file.meta, f" of file {number}" if len(source.files) > 1 else ""
        rows.append((f"State{of_file}", meta.get("state", "unknown")))
        if file.shift:
            rows.append((f"Moved{of_file}", f"{file.shift:,} ns"))
        if not confidential:
            rows.append((f"Producer{of_file}", meta.get("producer", "unknown")))
            rows += [(f"Command{of_file}", meta["command"])] if "command" in meta else []
            rows += [(f"Run id{of_file}", meta["run_id"])] if "run_id" in meta else []
    return [*rows, ("Exported", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")), ("Address", address)]
