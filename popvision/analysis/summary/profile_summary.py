"""The profile summary as text, in the layout that Poplar's `printProfileSummary` publishes.

Numbers are right-aligned with thousands separators; kB and MB mean 1,024 and 1,048,576 bytes there, as in the
published text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from popvision.analysis.execution.phases import phase_totals
from popvision.analysis.report.code_memory import CATEGORIES as CODE_CATEGORIES
from popvision.analysis.report.code_memory import holds_code
from popvision.analysis.report.memory_labels import CATEGORY_LABELS, REGION_LABELS
from popvision.analysis.report.origin import provenance_line
from popvision.analysis.report.source import ReportSource
from popvision.arrays import IntegerArray
from popvision.formats.profile.model import CATEGORIES, REGIONS, TileMemory

__all__ = ["SummaryOptions", "profile_summary"]


def profile_summary(source: ReportSource, options: SummaryOptions | None = None) -> str:
    """Graph and execution summary; the first line says that the figures are simulated, and by what."""
    options = options or SummaryOptions()
    parts = [provenance_line(source), graph_summary(source, options), execution_summary(source, options)]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


@dataclass(frozen=True)
class SummaryOptions:
    """Options of printProfileSummary, and the units; all off by default."""

    show_var_storage: bool = False
    show_optimizations: bool = False
    show_execution_steps: bool = False
    show_per_ipu_memory: bool = False
    says_not_recorded: bool = False  #: "not recorded", not Poplar's 0 B, for code and stacks that were not compiled
    binary_units: bool = False  #: KiB and MiB, not Poplar's kB and MB, for 1,024 and 1,048,576 bytes


def program_text(type: str, name: str) -> str:
    """`DoExchange: cs0_a/ExchangePre`, or the type alone."""
    return f"{type}: {name}" if name else type


#: Categories printed only where they hold something.
_RARE = ("message", "hostMessage", "globalMessage", "rearrangement", "outputEdge", "multiple", "controlId")
_STARS = 40


def graph_summary(source: ReportSource, options: SummaryOptions) -> str:
    """Target, graph counts, memory by region, category and tile."""
    reader = source.reader
    target, counts = reader.target(), reader.counts()
    kilo, mega = ("KiB", "MiB") if options.binary_units else ("kB", "MB")
    device = target.bytes_per_tile * target.num_tiles
    rows = [
        ("Number of IPUs:", f"{target.num_ipus:,}"),
        ("Tiles per IPU:", f"{target.tiles_per_ipu:,}"),
        ("Total Tiles:", f"{target.num_tiles:,}"),
        ("Memory Per-Tile:", f"{target.bytes_per_tile / 1024:,.1f} {kilo}"),
        ("Total Memory:", f"{device / 1048576:,.1f} {mega}"),
        ("Clock Speed (approx):", f"{target.clock_hz / 1e6:,.1f} MHz" if target.clock_hz > 0 else "not known"),
        ("Number of Replicas:", f"{target.num_replicas:,}"),
        ("IPUs per Replica:", f"{target.num_ipus // target.num_replicas:,}"),
        ("Tiles per Replica:", f"{target.num_tiles // target.num_replicas:,}"),
        ("Memory per Replica:", f"{device / target.num_replicas / 1048576:,.1f} {mega}"),
    ]
    lines = ["Target:", *(f"  {label:<23} {value}" for label, value in rows), "", "Graph:"]
    for label, key in (
        ("Number of vertices:", "num_vertices"),
        ("Number of edges:", "num_edges"),
        ("Number of variables:", "num_variables"),
        ("Number of compute sets:", "num_compute_sets"),
    ):
        lines.append(f"  {label:<25}{int(counts[key]):>11,}")
    memory = reader.tile_memory()
    if memory is None:
        return "\n".join([*lines, "", "Memory Usage: not recorded (autoReport.outputGraphProfile was off)"])
    return "\n".join([*lines, "", *_memory_lines(source, memory, options)])


def _memory_lines(source: ReportSource, memory: TileMemory, options: SummaryOptions) -> list[str]:
    parts = source.reader.category_memory()
    by_region = dict.fromkeys(REGIONS, 0)
    by_category = dict.fromkeys(CATEGORIES, 0)
    for part in parts:
        size = int(part.bytes.sum(dtype=np.int64))
        by_region[part.region] += size
        by_category[part.category] += size
    lines = ["Memory Usage:", "  Total:", f"    Including Gaps: {_total(memory.including_gaps):>20,} B"]
    lines += ["    Excluding Gaps:", "      By Memory Region:"]
    lines += [f"        {REGION_LABELS[region] + ':':<31}{size:>14,} B" for region, size in by_region.items()]
    lines += [f"        {'Total:':<31}{_total(memory.excluding_gaps):>14,} B", "      By Data Type:"]
    shown = [c for c in CATEGORY_LABELS if by_category[c] or c not in _RARE]
    unknown = set() if holds_code(source) or not options.says_not_recorded else {*CODE_CATEGORIES, "stack"}
    for category in shown:
        size = by_category[category]
        text = "not recorded" if category in unknown and not size else f"{size:,} B"
        lines.append(f"        {CATEGORY_LABELS[category] + ':':<31}{text:>16}")
    lines += [*_vertex_lines(source, by_category), "", *_tile_lines(memory, source.reader.target().bytes_per_tile)]
    if options.show_per_ipu_memory:
        lines += ["", *_per_ipu_lines(source, memory)]
    if options.show_var_storage:
        lines += ["", *_liveness_lines(source, memory)]
    if options.show_optimizations:
        lines += ["", "Optimizations:", "  none recorded"]
    return lines


def _total(values: IntegerArray) -> int:
    return int(values.sum(dtype=np.int64))


def _vertex_lines(source: ReportSource, by_category: dict[str, int]) -> list[str]:
    """What vertices take. The report does not tell internal state from edge pointers; by type it knows both together,
    and what no type accounts for belongs to local copies: in reports that do not name their types, all of it."""
    parts = (
        ("Internal vertex state and edge pointers:", by_category["vertexInstanceState"]),
        ("Vertex fields:", by_category["vertexFieldData"]),
        ("Descriptors:", by_category["copyDescriptor"] + by_category["vectorListDescriptor"]),
    )
    lines = [f"    Vertex Data ({sum(size for _, size in parts):,}B):", "      By Category:"]
    lines += [f"        {label:<41}{size:>14,} B" for label, size in parts]
    sizes = _state_by_type(source)
    rest = by_category["vertexInstanceState"] - sum(sizes.values())
    if rest > 0:
        sizes["(local copies)"] = rest
    width = max((len(name) for name in sizes), default=0)
    ordered = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
    return [*lines, "      By Type (state and edge pointers):"] + [
        f"        {name:<{width}} {size:>14,} B" for name, size in ordered
    ]


def _state_by_type(source: ReportSource) -> dict[str, int]:
    types = source.reader.vertex_types()
    sizes: dict[str, int] = {}
    for part in source.reader.compute_set_vertices():
        state = int(types.state_bytes[part.vertex_type]) * _total(part.count)
        name = types.name[part.vertex_type]
        sizes[name] = sizes.get(name, 0) + state
    for copies in source.reader.copy_vertices():
        sizes[copies.type] = sizes.get(copies.type, 0) + copies.state_bytes
    return sizes


def _tile_lines(memory: TileMemory, capacity: int) -> list[str]:
    used = memory.excluding_gaps.astype(np.int64)
    bin_size = 1024 * max(1, -(-int(used.max(initial=1)) // (1024 * 16)))
    counts = np.bincount(used // bin_size)
    lines = ["  By Tile (Excluding Gaps):", f"    {'Range (KB)':<14}{'Histogram (Excluding Gaps)':<42}Count (tiles)"]
    for row, count in enumerate(counts.tolist()):
        stars = max(1, round(_STARS * count / int(counts.max()))) if count else 0
        span = f"{row * bin_size // 1024:>5} - {(row + 1) * bin_size // 1024:<5}"
        lines.append(f"    {span:<14}{'*' * stars:<42}{count:>8,}")
    for label, values in (("Including", memory.including_gaps), ("Excluding", memory.excluding_gaps)):
        tile = int(np.argmax(values))
        lines.append(f"    Maximum ({label} Gaps): {int(values[tile]):,} ({values[tile] / 1024:.1f} K) on tile {tile}")
    out = int(np.count_nonzero(memory.including_gaps > capacity))
    return [*lines, f"    {out:,} tile(s) out of memory"]


def _per_ipu_lines(source: ReportSource, memory: TileMemory) -> list[str]:
    tiles = source.reader.target().tiles_per_ipu
    lines = ["  By IPU:"]
    for ipu in range(source.reader.target().num_ipus):
        part = slice(ipu * tiles, (ipu + 1) * tiles)
        including, excluding = _total(memory.including_gaps[part]), _total(memory.excluding_gaps[part])
        lines.append(f"    IPU {ipu}: including gaps {including:,} B, excluding gaps {excluding:,} B")
    return lines


def _liveness_lines(source: ReportSource, memory: TileMemory) -> list[str]:
    liveness, programs = source.reader.liveness(), source.reader.programs()
    lines = ["Variable Storage Liveness:", f"  Always live: {_total(memory.always_live):,} B"]
    if liveness is None:
        return lines
    for index, (program, size) in enumerate(zip(liveness.program.tolist(), liveness.bytes.tolist(), strict=True)):
        lines.append(
            f"  {index:>6}  {int(size):>14,} B  {program_text(programs.type[program], programs.name[program])}"
        )
    return lines


def execution_summary(source: ReportSource, options: SummaryOptions) -> str:
    """Cycles of each program that ran, on average over tiles, and by vertex type."""
    runs = source.reader.runs()
    if not runs.name:
        return "Execution: nothing was recorded"
    lines = ["Execution:", "", "  Programs executed:"]
    for program in sorted({int(p) for p in runs.program_index.tolist()}):
        chosen = [r for r in range(len(runs.name)) if int(runs.program_index[r]) == program]
        names = sorted({runs.name[r] for r in chosen if runs.name[r]})
        lines += [
            "",
            f"    {', '.join(names) or '<anonymous>'}.",
            f"      Program {program}, runs recorded: {len(chosen)}",
        ]
        lines += [f"      {line}" for line in _cycle_lines(source, chosen)]
        if any(bool(runs.truncated[r]) for r in chosen):
            lines.append("      Truncated: the cap on recorded steps was reached")
    if source.reader.target().type == "IpuModel":  # hardware counts no vertices
        lines += ["", *_vertex_cycle_lines(source)]
    if options.show_execution_steps:
        lines += ["", *_step_lines(source)]
    return "\n".join(lines)


def _cycle_lines(source: ReportSource, runs: list[int]) -> list[str]:
    totals = phase_totals(source, runs)

    def of_phase(label: str, phase: str) -> str:
        if phase in totals.unknown:
            return f"{label:<60}{'not recorded':>16} ({totals.unknown[phase]} was off)"
        return line(label if totals.of_tiles else label.replace("Tile average", "Slowest tile"), totals.average(phase))

    def line(label: str, cycles: float) -> str:
        share = 100 * cycles / totals.length if totals.length else 0.0
        return f"{label:<60}{cycles:>16,.1f} ({share:.1f}% of total)"

    target = source.reader.target()
    seconds = totals.length / target.clock_hz if target.clock_hz > 0 else None
    time = "clock not known" if seconds is None else f"approx {seconds * 1e6:,.1f} microseconds"
    lines = [f"{'Total cycles:':<60}{totals.length:>16,} ({time})"]
    lines.append(of_phase("Tile average compute cycles (including idle threads):", "compute"))
    if target.type == "IpuModel":
        busy = _busy_cycles(source, runs) / totals.tiles
        lines.append(line("Tile average compute cycles (excluding idle threads):", busy))
    lines.append(of_phase("Tile average IPU exchange cycles:", "exchange"))
    lines.append(of_phase("Tile average global exchange cycles:", "global exchange"))
    lines.append(of_phase("Tile average host exchange cycles:", "host"))
    lines.append(of_phase("Tile average sync cycles:", "sync"))
    return lines


def _busy_cycles(source: ReportSource, runs: list[int]) -> int:
    """Cycles of all vertices in the runs, copies within tiles among them: those of one execution of each compute set x
    its executions."""
    reader = source.reader
    steps, all_runs = reader.steps(), reader.runs()
    times = np.zeros(len(reader.compute_sets().name) + 1, np.int64)
    for run in runs:
        first = int(all_runs.first_step[run])
        np.add.at(times, steps.compute_set[first : first + int(all_runs.n_steps[run])], 1)
    return sum(int(times[compute_set]) * cycles for compute_set, _, _, cycles in _vertices(source))


def _vertices(source: ReportSource) -> Iterator[tuple[int, str, int, int]]:
    """(compute set, type, instances, cycles of one execution): of the graph's vertices, then of copies."""
    reader = source.reader
    names = reader.vertex_types().name
    for part in reader.compute_set_vertices():
        yield part.compute_set, names[part.vertex_type], _total(part.count), _total(part.cycles)
    for copies in reader.copy_vertices():
        yield copies.compute_set, copies.type, _total(copies.count), _total(copies.cycles)


def _vertex_cycle_lines(source: ReportSource) -> list[str]:
    """Thread cycles for workers, tile cycles for supervisor and multi vertices, of one execution of each instance: a
    published summary of a halo exchange in ten iterations has 2,432 instances of 100 cycles as 243,200. Copies within
    tiles stand beside them, as its 12,744 ShortMemcpy do."""
    sums: dict[str, tuple[int, int]] = {}
    for _, name, instances, cycles in _vertices(source):
        before = sums.get(name, (0, 0))
        sums[name] = (before[0] + instances, before[1] + cycles)
    ordered = sorted(sums.items(), key=lambda item: (-item[1][1], item[0]))
    names = max((len(name) for name in sums), default=0)
    counts = max((len(f"{instances:,}") for instances, _ in sums.values()), default=0)
    lines = ["  Cycles by vertex type:"]
    for name, (instances, cycles) in ordered:
        lines.append(f"    {name:<{names}} {'(' + format(instances, ','):>{counts + 1}} instances):{cycles:>16,}")
    return lines


def _step_lines(source: ReportSource) -> list[str]:
    reader = source.reader
    steps, programs, columns = reader.steps(), reader.programs(), reader.steps_on_ipu(0)
    lines = ["  Execution steps (IPU 0):"]
    for step, program in enumerate(steps.program.tolist()):
        text = program_text(programs.type[program], programs.name[program])
        begin, length = int(columns.all_from_max[step]), int(columns.cycles[step])
        lines.append(f"    {step:>6}  {begin:>14,}  {length:>12,} cycles  {text}")
    return lines
