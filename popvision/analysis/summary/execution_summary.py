"""The execution part of the profile summary: cycles of each program that ran, on average over tiles, by vertex type."""

from __future__ import annotations

import numpy as np

from popvision.analysis.execution.phases import phase_totals
from popvision.analysis.report.program_text import program_text
from popvision.analysis.report.source import ReportSource
from popvision.analysis.summary.options import SummaryOptions


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

    def line(label: str, cycles: float) -> str:
        share = 100 * cycles / totals.length if totals.length else 0.0
        return f"{label:<60}{cycles:>16,.1f} ({share:.1f}% of total)"

    target = source.reader.target()
    seconds = totals.length / target.clock_hz if target.clock_hz > 0 else None
    time = "clock not known" if seconds is None else f"approx {seconds * 1e6:,.1f} microseconds"
    lines = [f"{'Total cycles:':<60}{totals.length:>16,} ({time})"]
    lines.append(line("Tile average compute cycles (including idle threads):", totals.average("compute")))
    if target.type == "IpuModel":
        busy = sum(_vertex_cycles(source, runs).values()) / totals.tiles
        lines.append(line("Tile average compute cycles (excluding idle threads):", busy))
    lines.append(line("Tile average IPU exchange cycles:", totals.average("exchange")))
    lines.append(line("Tile average global exchange cycles:", totals.average("global exchange")))
    lines.append(line("Tile average host exchange cycles:", totals.average("host")))
    lines.append(line("Tile average sync cycles:", totals.average("sync")))
    return lines


def _vertex_cycles(source: ReportSource, runs: list[int]) -> dict[int, int]:
    """Cycles by vertex type: those of one execution of each compute set x its executions in the runs."""
    reader = source.reader
    steps, all_runs = reader.steps(), reader.runs()
    times = np.zeros(len(reader.compute_sets().name) + 1, np.int64)
    for run in runs:
        first = int(all_runs.first_step[run])
        np.add.at(times, steps.compute_set[first : first + int(all_runs.n_steps[run])], 1)
    cycles: dict[int, int] = {}
    for part in reader.compute_set_vertices():
        spent = int(part.cycles.sum(dtype=np.int64)) * int(times[part.compute_set])
        cycles[part.vertex_type] = cycles.get(part.vertex_type, 0) + spent
    return cycles


def _vertex_cycle_lines(source: ReportSource) -> list[str]:
    """Thread cycles for workers, tile cycles for supervisor and multi vertices, over all recorded runs."""
    reader = source.reader
    names = reader.vertex_types().name
    cycles = _vertex_cycles(source, list(range(len(reader.runs().name))))
    instances: dict[int, int] = {}
    for part in reader.compute_set_vertices():
        instances[part.vertex_type] = instances.get(part.vertex_type, 0) + int(part.count.sum(dtype=np.int64))
    ordered = sorted(cycles.items(), key=lambda item: (-item[1], names[item[0]]))
    labels = [f"{names[row]} ({instances[row]:,} instances):" for row, _ in ordered]
    width = max(map(len, labels), default=0)
    rows = zip(labels, ordered, strict=True)
    return ["  Cycles by vertex type:", *(f"    {label:<{width}}{spent:>16,}" for label, (_, spent) in rows)]


def _step_lines(source: ReportSource) -> list[str]:
    reader = source.reader
    steps, programs, columns = reader.steps(), reader.programs(), reader.steps_on_ipu(0)
    lines = ["  Execution steps (IPU 0):"]
    for step, program in enumerate(steps.program.tolist()):
        text = program_text(programs.type[program], programs.name[program])
        begin, length = int(columns.all_from_max[step]), int(columns.cycles[step])
        lines.append(f"    {step:>6}  {begin:>14,}  {length:>12,} cycles  {text}")
    return lines
