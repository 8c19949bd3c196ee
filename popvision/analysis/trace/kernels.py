"""Kernels of accelerators in traces of PyTorch's profiler (Kineto): what ran, what communicated, why streams were idle.

A kernel is an event on the channel `kernel`, `gpu_memcpy` or `gpu_memset`; its arguments name device, stream and the
correlation with the call of the host that launched it. The definitions follow Holistic Trace Analysis, in parts that
add up: a gap of a stream is split, where HTA gives all of it to one reason. All columns, a sort per stream; arguments
are parsed once per distinct text. Times in ns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from popvision.analysis.trace.columns import HostTrace
from popvision.arrays import BoolArray, Float64Array, Int64Array
from popvision.formats.errors import FormatError

if TYPE_CHECKING:
    from pandas import DataFrame

#: Channels of kernels and of the calls that launch them, in lower case: names of Kineto's ActivityType, and what its
#: first versions wrote (Kernel, Memcpy, Memset, Runtime).
_KERNELS = frozenset({"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"})
_LAUNCHES = frozenset({"runtime", "driver"}).union(
    f"{device}_{layer}" for device in ("cuda", "hip", "xpu", "mtia", "privateuse1") for layer in ("runtime", "driver")
)

#: How names of collective communication begin (NVIDIA's library, AMD's).
_COMMUNICATION = ("nccl", "rccl")

COMPUTE, COMMUNICATION, MEMORY = "compute", "communication", "memory"
_KINDS = (COMPUTE, COMMUNICATION, MEMORY)

#: The label of the row that counts time of all communication once.
ALL_COMMUNICATION = "(all communication)"

#: A device, a stream or a correlation that the trace does not name.
_UNKNOWN = -1

#: Digits of the number of a rank: one that a pandas column of integers holds.
_MOST_DIGITS = 18

#: Formulas of the figures, for whoever shows them.
FORMULAS = {
    "count": "Kernels of this name on this stream.",
    "total_us": "Sum of the kernels' durations.",
    "mean_us": "Total / count.",
    "min_us": "The shortest duration.",
    "max_us": "The longest duration.",
    "share": "Total / sum of the durations of all kernels of the rank.",
    "occupancy_percent": "Mean of 'est. achieved occupancy %' of the kernels that have it, weighted by duration.",
    "overlapped_us": "Part of total in which a compute kernel of the same device runs.",
    "exposed_us": "Total minus the overlapped part.",
    "overlap": "Overlapped / total.",
    "window_us": "From the first begin to the last end of the stream's kernels.",
    "busy_us": "Part of the window in which a kernel of the stream runs; kernels at the same time count once.",
    "idle_us": "Window minus busy; host + communication + other.",
    "host_us": "Parts of gaps before the host began the call that launched the kernel after the gap.",
    "communication_us": "Rest of the gaps in which a communication kernel of another stream of the device runs.",
    "other_us": "Rest of the gaps: the kernel was launched, and no communication runs.",
    "idle_share": "Idle / window.",
}  # fmt: skip


@dataclass(frozen=True)
class Kernels:
    """Row i is a kernel. `file`, `device`, `stream` and `name` are numbers, `kind` one of _KINDS; `launch` is when the
    call of the host that launched it began, the begin of the kernel where that is unknown; `occupancy` is NaN where
    the trace has none."""

    file: Int64Array
    device: Int64Array
    stream: Int64Array
    name: Int64Array
    kind: Int64Array
    begin: Int64Array
    end: Int64Array
    launch: Int64Array
    occupancy: Float64Array

    def __len__(self) -> int:
        return len(self.begin)

    def only(self, rows: BoolArray | Int64Array) -> Kernels:
        """Some of the kernels."""
        return Kernels(*(getattr(self, column.name)[rows] for column in fields(self)))

    def parts(self, *keys: str) -> Iterator[tuple[tuple[int, ...], Kernels]]:
        """The kernels that have the same numbers, by these numbers."""
        columns = [getattr(self, key) for key in keys]
        order = np.lexsort(columns[::-1])
        table = np.stack(columns, axis=1)[order]
        first = np.flatnonzero(np.any(np.diff(table, axis=0, prepend=table[:1] - 1) != 0, axis=1))
        for begin, end in zip(first.tolist(), [*first[1:].tolist(), len(order)], strict=True):
            yield tuple(table[begin].tolist()), self.only(order[begin:end])


@dataclass
class _Arguments:
    """Numbers of the sites of a file, by site."""

    device: Int64Array
    stream: Int64Array
    correlation: Int64Array
    occupancy: Float64Array


@dataclass
class _Columns:
    """Events of a file: number of the thread, begin, end, name and site."""

    thread: list[Int64Array] = field(default_factory=list)
    begin: list[Int64Array] = field(default_factory=list)
    end: list[Int64Array] = field(default_factory=list)
    name: list[Int64Array] = field(default_factory=list)
    site: list[Int64Array] = field(default_factory=list)

    def joined(self) -> list[Int64Array]:
        """The columns, each in one piece."""
        return [np.concatenate(getattr(self, column.name) or [np.zeros(0, np.int64)]) for column in fields(self)]


def kernels_of(source: HostTrace) -> Kernels:
    """All kernels of a trace, by file, device, stream and begin; they are kept with it."""
    return source.kept.once("kernels", lambda: _kernels_of(source))


def has_kernels(source: HostTrace) -> bool:
    """Whether a trace may have kernels, by the names of its channels."""
    return any(channel.lower() in _KERNELS for channel in source.names.channel_name)


def _kernels_of(source: HostTrace) -> Kernels:
    channels = [channel.lower() for channel in source.names.channel_name]
    channel = source.names.channel
    is_kernel = np.array([name in _KERNELS for name in channels], bool)[channel]
    is_launch = np.array([name in _LAUNCHES for name in channels], bool)[channel]
    kinds = _kinds(source, channels)
    parts = [_of_file(source, number, is_kernel, is_launch, kinds) for number in range(len(source.files))]
    columns = (np.concatenate([getattr(part, column.name) for part in parts]) for column in fields(Kernels))
    kernels = Kernels(*columns)
    return kernels.only(np.lexsort((kernels.begin, kernels.stream, kernels.device, kernels.file)))


def _kinds(source: HostTrace, channels: list[str]) -> Int64Array:
    """The number in _KINDS of each name."""
    kinds = [
        COMMUNICATION
        if label.lower().startswith(_COMMUNICATION)
        else MEMORY
        if channels[int(channel)].startswith(("gpu_mem", "mem"))
        else COMPUTE
        for label, channel in zip(source.names.label, source.names.channel, strict=True)
    ]
    return np.array([_KINDS.index(kind) for kind in kinds], np.int64)


def _of_file(source: HostTrace, file: int, is_kernel: BoolArray, is_launch: BoolArray, kinds: Int64Array) -> Kernels:
    kernels, launches = _Columns(), _Columns()
    threads = source.files[file].threads
    for number in threads:
        for lane in source.threads[number].lanes:
            for chosen, columns in ((is_kernel, kernels), (is_launch, launches)):
                rows = np.flatnonzero(chosen[lane.name])
                columns.thread.append(np.full(len(rows), number, np.int64))
                columns.begin.append(lane.start[rows])
                columns.end.append(lane.end[rows])
                columns.name.append(lane.name[rows].astype(np.int64))
                columns.site.append(lane.site[rows].astype(np.int64))
    thread, begin, end, name, site = kernels.joined()
    _, call, _, _, call_site = launches.joined()
    texts = source.metadata_texts(threads[0]) if len(threads) else {}
    arguments = _arguments(texts, np.unique(np.concatenate([site, call_site])))
    pid, tid = (np.array([getattr(row.row, key) for row in source.threads], np.int64) for key in ("pid", "tid"))
    return Kernels(
        np.full(len(begin), file, np.int64),
        np.where(arguments.device[site] == _UNKNOWN, pid[thread], arguments.device[site]),
        np.where(arguments.stream[site] == _UNKNOWN, tid[thread], arguments.stream[site]),
        name,
        kinds[name],
        begin,
        end,
        _launches(arguments.correlation[site], begin, arguments.correlation[call_site], call),
        arguments.occupancy[site],
    )


def _launches(kernel: Int64Array, begin: Int64Array, call: Int64Array, called: Int64Array) -> Int64Array:
    """When the launch of each kernel began: of the calls with its correlation the first."""
    known = call != _UNKNOWN
    order = np.lexsort((called[known], call[known]))
    call, called = call[known][order], called[known][order]
    if not len(call):
        return begin
    row = np.minimum(np.searchsorted(call, kernel), len(call) - 1)
    return np.where((kernel != _UNKNOWN) & (call[row] == kernel), called[row], begin)


def _arguments(texts: Mapping[int, str], sites: Int64Array) -> _Arguments:
    size = int(sites[-1]) + 1 if len(sites) else 0
    numbers = [np.full(size, _UNKNOWN, np.int64) for _ in range(3)]
    occupancy = np.full(size, np.nan)
    for site in sites.tolist():
        facts = _facts(texts.get(site, "{}"))
        for column, key in zip(numbers, ("device", "stream", "correlation"), strict=True):
            column[site] = _number(facts.get(key))
        share = facts.get("est. achieved occupancy %")
        if isinstance(share, (int, float)):
            occupancy[site] = share
    return _Arguments(numbers[0], numbers[1], numbers[2], occupancy)


def _facts(text: str) -> dict[str, Any]:
    """The arguments of an event; none of what is no object of JSON, which another program may have written."""
    try:
        facts = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return facts if isinstance(facts, dict) else {}


def _number(value: Any) -> int:
    """The number of a device, a stream or a correlation; _UNKNOWN of what is none."""
    is_number = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62
    return value if is_number else _UNKNOWN


# -- Intervals


@dataclass(frozen=True)
class _Union:
    """Intervals that do not meet, in order; `before` is the length of all before each."""

    begin: Int64Array
    end: Int64Array
    before: Int64Array

    @property
    def length(self) -> int:
        return int((self.end - self.begin).sum())

    def inside(self, begin: Int64Array, end: Int64Array) -> Int64Array:
        """How much of each of other intervals lies in these."""
        return self._up_to(np.maximum(begin, end)) - self._up_to(begin)

    def _up_to(self, time: Int64Array) -> Int64Array:
        if not len(self.begin):
            return np.zeros(len(time), np.int64)
        row = np.maximum(0, np.searchsorted(self.begin, time, "right") - 1)
        return np.asarray(self.before[row] + np.clip(time - self.begin[row], 0, self.end[row] - self.begin[row]))


def _union(begin: Int64Array, end: Int64Array) -> _Union:
    order = np.argsort(begin, kind="stable")
    begin, reach = begin[order], np.maximum.accumulate(end[order]) if len(end) else end
    starts = np.flatnonzero(np.append(True, begin[1:] > reach[:-1])) if len(begin) else np.zeros(0, np.int64)
    ends = reach[np.append(starts[1:], len(begin)) - 1] if len(begin) else reach
    lengths = ends - begin[starts]
    return _Union(begin[starts], ends, np.cumsum(lengths) - lengths)


def _of_kind(kernels: Kernels, kind: str) -> _Union:
    rows = kernels.kind == _KINDS.index(kind)
    return _union(kernels.begin[rows], kernels.end[rows])


# -- Questions


def kernel_frame(source: HostTrace) -> DataFrame:
    """A row per rank, device, stream and name, largest total first: rank, device, stream, label, kind, count, total_us,
    mean_us, min_us, max_us, share, occupancy_percent (NaN where the trace has none). FORMULAS defines them."""
    kernels, rows = _asked(source), []
    of_rank = {file: int((part.end - part.begin).sum()) for (file,), part in kernels.parts("file")}
    for (file, device, stream, name), part in kernels.parts("file", "device", "stream", "name"):
        duration = part.end - part.begin
        total = int(duration.sum())
        rows.append(
            {
                **_place(source, file, device),
                "stream": stream,
                "label": source.names.label[name],
                "kind": _KINDS[int(part.kind[0])],
                "count": len(part),
                "total_us": total / 1e3,
                "mean_us": total / len(part) / 1e3,
                "min_us": int(duration.min()) / 1e3,
                "max_us": int(duration.max()) / 1e3,
                "share": total / of_rank[file] if of_rank[file] else 0.0,
                "occupancy_percent": _weighted(part.occupancy, duration),
            }
        )
    return _frame(rows, "total_us")


def communication_frame(source: HostTrace) -> DataFrame:
    """A row per rank, device and name of communication, largest total first, and one per device with ALL_COMMUNICATION,
    in which kernels at the same time count once: rank, device, label, count, total_us, overlapped_us, exposed_us,
    overlap. FORMULAS defines them."""
    rows = []
    for (file, device), part in _asked(source).parts("file", "device"):
        compute = _of_kind(part, COMPUTE)
        communicating = part.only(part.kind == _KINDS.index(COMMUNICATION))
        if not len(communicating):
            continue
        busy = _of_kind(part, COMMUNICATION)
        inside = int(compute.inside(busy.begin, busy.end).sum())
        place = _place(source, file, device)
        rows.append(place | _overlap(ALL_COMMUNICATION, len(communicating), busy.length, inside))
        for (name,), same in communicating.parts("name"):
            total, inside = int((same.end - same.begin).sum()), int(compute.inside(same.begin, same.end).sum())
            rows.append(place | _overlap(source.names.label[name], len(same), total, inside))
    empty = _place(source, 0, 0) | _overlap("", 0, 0, 0)
    return _frame(rows, "total_us", empty)


def _overlap(label: str, count: int, total: int, inside: int) -> dict[str, Any]:
    return {
        "label": label,
        "count": count,
        "total_us": total / 1e3,
        "overlapped_us": inside / 1e3,
        "exposed_us": (total - inside) / 1e3,
        "overlap": inside / total if total else 0.0,
    }


def idle_frame(source: HostTrace) -> DataFrame:
    """A row per rank, device and stream, most idle first: rank, device, stream, window_us, busy_us, idle_us, host_us,
    communication_us, other_us, idle_share. FORMULAS defines them."""
    rows = []
    for (file, device), of_device in _asked(source).parts("file", "device"):
        communicating = _of_kind(of_device, COMMUNICATION)
        for (stream,), part in of_device.parts("stream"):
            part = part.only(np.argsort(part.begin, kind="stable"))
            reach = np.maximum.accumulate(part.end)
            gap_begin, gap_end = reach[:-1], np.maximum(part.begin[1:], reach[:-1])
            launched = np.clip(part.launch[1:], gap_begin, gap_end)
            host = int((launched - gap_begin).sum())
            communication = int(communicating.inside(launched, gap_end).sum())
            idle, window = int((gap_end - gap_begin).sum()), int(reach[-1] - part.begin[0])
            figures = {
                "window": window,
                "busy": window - idle,
                "idle": idle,
                "host": host,
                "communication": communication,
                "other": idle - host - communication,
            }
            rows.append(
                {
                    **_place(source, file, device),
                    "stream": stream,
                    **{f"{what}_us": length / 1e3 for what, length in figures.items()},
                    "idle_share": idle / window if window else 0.0,
                }
            )
    return _frame(rows, "idle_us")


#: What is asked of the kernels of a trace -> the table that answers, and the figure that orders it.
KERNEL_QUESTIONS: dict[str, tuple[Callable[[HostTrace], DataFrame], str]] = {
    "kernels": (kernel_frame, "total_us"),
    "communication": (communication_frame, "total_us"),
    "idle": (idle_frame, "idle_us"),
}


def _asked(source: HostTrace) -> Kernels:
    kernels = kernels_of(source)
    if not len(kernels):
        raise FormatError(
            f"{source.label} has no kernels of an accelerator: PyTorch's profiler records them as `kernel`."
        )
    return kernels


def _place(source: HostTrace, file: int, device: int) -> dict[str, Any]:
    """Rank and device; a file that names no rank stands for its place among the files."""
    rank = source.files[file].meta.get("rank", "")
    is_number = rank.isdecimal() and len(rank) < _MOST_DIGITS
    return {"rank": int(rank) if is_number else file, "device": device}


def _weighted(values: Float64Array, weights: Int64Array) -> float:
    known = ~np.isnan(values)
    weight = weights[known].sum()
    return float((values[known] * weights[known]).sum() / weight) if weight else float("nan")


def _frame(rows: list[dict[str, Any]], by: str, empty: dict[str, Any] | None = None) -> DataFrame:
    import pandas as pd

    frame = pd.DataFrame(rows, columns=list(rows[0] if rows else empty or {}))
    return frame.sort_values(by, ascending=False, kind="stable", ignore_index=True)
