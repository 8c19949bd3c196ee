"""The printed summary, line by line, against the published layout and figures summed here."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from popvision.analysis.report.source import ReportSource
from popvision.analysis.summary.profile_summary import SummaryOptions, profile_summary
from simulator.poplar import FLOAT, DeviceManager, Engine, Graph, IPUModel, TargetType
from simulator.poplar.program import Copy, PrintTensor, Repeat, Sequence
from tests.compiler.tiny_graphs import tutorial3


def report(folder: Path, kind: str) -> ReportSource:
    model = IPUModel()
    model.tilesPerIPU = 4
    device = model.createDevice() if kind == "model" else DeviceManager().getDevices(TargetType.IPU, 1)[0]
    tutorial = tutorial3(device.getTarget())
    program = Sequence(tutorial.program, PrintTensor("v2", tutorial.v2))
    flags = {"autoReport.all": "true", "autoReport.directory": str(folder)}
    with device, Engine(tutorial.graph, [program, tutorial.program], flags) as engine:
        engine.load(device)
        engine.run(0, "first")
        engine.run(1)
    return ReportSource(folder)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ReportSource]:
    return {kind: report(tmp_path_factory.mktemp(kind), kind) for kind in ("model", "hardware")}


def section(text: str, head: str) -> list[str]:
    """The lines from `head` to the next empty one."""
    lines = text.splitlines()
    first = lines.index(head)
    return lines[first : lines.index("", first)]


def test_head(sources: dict[str, ReportSource]) -> None:
    text = profile_summary(sources["model"])
    assert text.startswith("Simulated: model version ")
    assert section(text, "Target:") == [
        "Target:",
        "  Number of IPUs:         1",
        "  Tiles per IPU:          4",
        "  Total Tiles:            4",
        "  Memory Per-Tile:        624.0 kB",
        "  Total Memory:           2.4 MB",
        "  Clock Speed (approx):   1,330.0 MHz",
        "  Number of Replicas:     1",
        "  IPUs per Replica:       1",
        "  Tiles per Replica:      4",
        "  Memory per Replica:     2.4 MB",
    ]
    graph = section(text, "Graph:")
    assert graph[1] == "  Number of vertices:                4"
    assert {len(line) for line in graph[1:]} == {38}


@pytest.mark.parametrize("kind", ["model", "hardware"])
def test_memory_adds_up(sources: dict[str, ReportSource], kind: str) -> None:
    source = sources[kind]
    lines = section(profile_summary(source), "Memory Usage:")
    types = next(i for i, line in enumerate(lines) if "By Type" in line)
    figures = {line.split(":")[0].strip(): line.split(":")[1] for line in lines[:types] if line.endswith(" B")}
    size = {label: int(text.replace("B", "").replace(",", "")) for label, text in figures.items()}
    memory = source.reader.tile_memory()
    assert memory is not None
    used = int(memory.excluding_gaps.sum(dtype=np.int64))
    assert size["Total"] == size["Non-interleaved"] + size["Interleaved"] + size["Overflowed"] == used
    begin, end = (next(i for i, line in enumerate(lines) if head in line) for head in ("By Data Type", "Vertex Data"))
    labels = [line.split(":")[0].strip() for line in lines[begin + 1 : end]]
    assert labels[:6] == [
        "Variables",
        "Constants",
        "Host Exchange Packet Headers",
        "Global Exchange Packet Headers",
        "Stack",
        "Vertex Instances",
    ]
    assert sum(size[label] for label in labels) == used
    vertices = size["Internal vertex state and edge pointers"] + size["Vertex fields"] + size["Descriptors"]
    assert lines[end] == f"    Vertex Data ({vertices:,}B):"
    by_type = [int(line.split()[-2].replace(",", "")) for line in lines[types + 1 :]]
    assert sum(by_type) == size["Vertex Instances"]


def test_execution_names_programs_and_shares(sources: dict[str, ReportSource]) -> None:
    for kind, source in sources.items():
        text = profile_summary(source)
        lines = text[text.index("Execution:") :].splitlines()
        assert lines[:5] == ["Execution:", "", "  Programs executed:", "", "    first."]
        assert "    <anonymous>." in lines
        runs = source.reader.runs().cycles.tolist()
        totals = [int(line.split()[2].replace(",", "")) for line in lines if "Total cycles" in line]
        assert totals == runs
        shares = [float(line.split("(")[-1].split("%")[0]) for line in lines if line.endswith("% of total)")]
        per_program = len(shares) // 2
        assert per_program == (6 if kind == "model" else 5)
        parts = shares[:1] + shares[per_program - 4 : per_program]
        assert sum(parts) == pytest.approx(100, abs=0.3)
        assert ("  Cycles by vertex type:" in lines) == (kind == "model")


def vertex_rows(text: str) -> dict[str, tuple[int, int]]:
    """Type -> (instances, cycles), read from the printed lines."""
    lines = text.splitlines()
    rows = {}
    for line in lines[lines.index("  Cycles by vertex type:") + 1 :]:
        found = re.fullmatch(r"    (\S.*?) +\(([\d,]+) instances\): +([\d,]+)", line)
        if found is None:
            break
        instances, cycles = (int(found[i].replace(",", "")) for i in (2, 3))
        rows[found[1]] = instances, cycles
    return rows


def busy_average(text: str) -> float:
    """The one average without idle threads."""
    [line] = [line for line in text.splitlines() if "excluding idle" in line]
    return float(line.split(":")[1].split()[0].replace(",", ""))


def copies(tiles: int, times: int, folder: Path) -> str:
    """The summary of a program that copies a float on each of `tiles` tiles of 64, `times` times, then a block of
    100 x 100 out of rows of 300 on tile 63."""
    model = IPUModel()
    model.tilesPerIPU = 64
    device = model.createDevice()
    graph = Graph(device.getTarget())
    source, to = (graph.addVariable(FLOAT, [tiles], name) for name in ("source", "to"))
    wide, narrow = graph.addVariable(FLOAT, [100, 300], "wide"), graph.addVariable(FLOAT, [100, 100], "narrow")
    for tile in range(tiles):
        graph.setTileMapping(source[tile], tile)
        graph.setTileMapping(to[tile], tile)
    graph.setTileMapping(wide, 63)
    graph.setTileMapping(narrow, 63)
    strided = [Copy(wide.slice(100, 200, 1), narrow)] if times > 1 else []
    program = Sequence(Repeat(times, Copy(source, to)), *strided)
    flags = {"autoReport.all": "true", "autoReport.directory": str(folder)}
    with device, Engine(graph, [program], flags) as engine:
        engine.load(device)
        engine.run(0)
    return profile_summary(ReportSource(folder))


def test_copies_are_listed_as_the_published_tutorial_lists_them(tmp_path: Path) -> None:
    """Published (Poplar tutorial 7, IPU Model): poplar_rt::ShortMemcpy (63 instances): 4,536, and the total without
    idle threads is the sum of the table: 5,250,000 + 80,000 + 4,536 = 5,334,536."""
    text = copies(63, 1, tmp_path)
    assert vertex_rows(text) == {"poplar_rt::ShortMemcpy": (63, 4536)}
    assert busy_average(text) == round(4536 / 64, 1)


def test_the_table_is_of_one_execution_the_average_of_all(tmp_path: Path) -> None:
    """Six workers share 100 rows of 100 words: 60 cycles each to start, 12 for each further row, a cycle for two words.
    The published halo exchange of ten iterations: 239.6 million cycles of its 2,432 tiles without idle threads, 42.0
    million in its table."""
    text = copies(63, 10, tmp_path)
    strided = 6 * 60 + 12 * (100 - 6) + 100 * 100 // 2
    assert vertex_rows(text) == {
        "poplar_rt::DstStridedCopyDA32": (6, strided),
        "poplar_rt::ShortMemcpy": (63, 63 * 72),
    }
    assert busy_average(text) == round((10 * 63 * 72 + strided) / 64, 1)
    state = [line.split() for line in section(text, "Memory Usage:") if "poplar_rt::" in line]
    assert state == [
        ["poplar_rt::DstStridedCopyDA32", "1,200", "B"],  # three words a row
        ["poplar_rt::ShortMemcpy", "756", "B"],
    ]


def test_cycles_by_vertex_type_are_of_one_execution(sources: dict[str, ReportSource]) -> None:
    """Sum of 10 + 2 n thread cycles, n = 4, 3, 2, 1, after one copy of 72 on each tile: once by type though both runs
    executed it, and once in the average of each run."""
    text = profile_summary(sources["model"])
    once = 18 + 16 + 14 + 12
    assert vertex_rows(text) == {"poplar_rt::ShortMemcpy": (4, 4 * 72), "Sum": (4, once)}
    averages = [line.split(":")[1].split()[0] for line in text.splitlines() if "excluding idle" in line]
    assert averages == [f"{(4 * 72 + once) / 4:.1f}"] * 2


def test_execution_steps(sources: dict[str, ReportSource]) -> None:
    text = profile_summary(sources["model"], SummaryOptions(show_execution_steps=True))
    rows = text[text.index("  Execution steps (IPU 0):") :].splitlines()[1:]
    assert len(rows) == len(sources["model"].reader.steps().program)
    assert sum(int(row.split()[2].replace(",", "")) for row in rows) == sources["model"].reader.total_cycles()
    assert sum("OnTileExecute: sums" in row for row in rows) == 4  # with its gathering
