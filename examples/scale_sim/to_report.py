"""Convert a run of SCALE-Sim 3 into a report: `python -m examples.scale_sim.to_report examples/scale_sim/encoder
report`.

Reads `array.cfg`, `topology.csv` (matrix products), `COMPUTE_REPORT.csv` and `DETAILED_ACCESS_REPORT.csv` of a folder
and writes profile.pop through `popvision.formats`. README.md in the same folder explains the figures.
"""

from __future__ import annotations

import configparser
import csv
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from popvision.formats.profile import ProfileWriter, model

KB = 1024
VERSION = "SCALE-Sim 3.0.0"
#: the parts of a layer: program type, name, and the report's name of a copy to or from DRAM
PARTS = (("StreamCopyMid", "prefetch"), ("OnTileExecute", "compute"), ("StreamCopyMid", "drain"))


@dataclass(frozen=True)
class Layer:
    """One matrix product, M x K by K x N, simulated alone. Cycles of the array, bytes (= words of SCALE-Sim)."""

    name: str
    flops: int
    cycles: tuple[int, int, int]  #: prefetch, compute, drain
    stalls: int
    dram_read: int
    dram_written: int
    sram: dict[str, int]  #: accesses by name of the column


def main(folder: Path, out: Path) -> None:
    """Convert the run in `folder` into `out`/profile.pop."""
    config = configparser.ConfigParser()
    config.read_string((folder / "array.cfg").read_text("utf-8"))
    array, layers = config["architecture_presets"], read_layers(folder)
    out.mkdir(parents=True, exist_ok=True)
    with ProfileWriter(out / "profile.pop") as writer:
        writer.write_compilation(compilation(config["general"]["run_name"], array, layers))
        writer.append_run(run(layers))


def read_layers(folder: Path) -> list[Layer]:
    """The rows of the three tables, one layer each."""
    tables = [rows(folder / name) for name in ("topology.csv", "COMPUTE_REPORT.csv", "DETAILED_ACCESS_REPORT.csv")]
    return [layer(*parts) for parts in zip(*tables, strict=True)]


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a SCALE-Sim table, without the blanks around cells and the comma at the end of each line."""
    with path.open(newline="", encoding="utf-8") as file:
        head, *body = ([cell.strip() for cell in line] for line in csv.reader(file) if line)
    return [dict(zip(head, line, strict=True)) for line in body]


def layer(topology: dict[str, str], compute: dict[str, str], access: dict[str, str]) -> Layer:
    """One layer. Cycle 0 is the start of its computation; DRAM is read before and written after."""
    first_read = min(float(access["DRAM IFMAP Start Cycle"]), float(access["DRAM Filter Start Cycle"]))
    busy, written = int(compute["Total Cycles"]), round(float(access["DRAM OFMAP Stop Cycle"]))
    cycles = (round(-first_read), busy, written - busy)
    whole = int(compute["Total Cycles (incl. prefetch)"])
    if sum(cycles) != whole:
        raise ValueError(
            f"layer {topology['Layer']} takes {whole} cycles with its prefetch, but its parts take {cycles}"
        )
    sram = {name: int(access[name]) for name in ("SRAM IFMAP Reads", "SRAM Filter Reads", "SRAM OFMAP Writes")}
    return Layer(
        name=topology["Layer"],
        flops=2 * int(topology["M"]) * int(topology["N"]) * int(topology["K"]),
        cycles=cycles,
        stalls=int(compute["Stall Cycles"]),
        dram_read=int(access["DRAM IFMAP Reads"]) + int(access["DRAM Filter Reads"]),
        dram_written=int(access["DRAM OFMAP Writes"]),
        sram=sram,
    )


def compilation(name: str, array: configparser.SectionProxy, layers: list[Layer]) -> model.Compilation:
    """The network as a program of three steps a layer, and the scratchpads of the array as its memory."""
    pads = {pad: KB * array.getint(f"{pad}SramSzkB") for pad in ("Ifmap", "Filter", "Ofmap")}
    sizes = np.array(list(pads.values()))
    whole, none = np.array([sizes.sum()]), np.array([0])
    shape = f"{array['ArrayHeight']} x {array['ArrayWidth']}, {array['Dataflow']}"
    return model.Compilation(
        target=model.Target("systolic array", shape, 1, 1, int(sizes.sum()), clock_hz=0.0, worker_contexts=1),
        programs=programs(layers),
        compute_sets=model.ComputeSets(
            [f"{each.name}/compute" for each in layers],
            np.full(len(layers), -1),
            np.array([each.flops for each in layers]),
        ),
        vertex_types=model.VertexTypes([], [], np.empty(0, int), np.empty(0, int)),
        tile_memory=model.TileMemory(whole, whole, whole, none, none),
        num_variables=len(pads),
        program_on_ipu=[figures(place, each) for place, each in enumerate(parts(layers))],
        cost_terms=[term for place, each in enumerate(layers) for term in terms(2 + 3 * place, each)],
        category_memory=[model.CategoryMemory("variable", "nonInterleaved", False, 0, whole)],
        variables=model.Variables(
            [f"{pad} SRAM" for pad in pads], np.full(3, -1), sizes, np.ones(3, bool), np.full(3, -1)
        ),
        vars_info=(np.zeros(3, int), np.zeros(3, int), np.arange(3), sizes),
        lowered=[scratchpads(sizes)],
        lowered_names=[f"{pad} SRAM" for pad in pads],
        meta={"simulated": True, "modelVersion": VERSION, "engineName": name, "engineOptions": dict(array)},
    )


def programs(layers: list[Layer]) -> model.Programs:
    """The programs: 0 contains the others, which are prefetch, compute and drain of each layer."""
    count = 3 * len(layers)
    sets = [-1, *(place // 3 if place % 3 == 1 else -1 for place in range(count))]
    return model.Programs(
        type=["Sequence", *(PARTS[place % 3][0] for place in range(count))],
        name=["network", *(f"{each.name}/{part}" for each in layers for _, part in PARTS)],
        owner=["control"] * (count + 1),
        compute_set=np.array(sets),
        repeat_count=np.zeros(count + 1, int),
        debug_id=np.full(count + 1, -1),
        sync_type=[""] * (count + 1),
        child_offsets=np.array([0, *[count] * (count + 1)]),
        children=np.arange(1, count + 1),
    )


def parts(layers: list[Layer]) -> list[tuple[int, int, int]]:
    """(cycles, bytes from DRAM, bytes to DRAM) of each step."""
    return [
        step
        for each in layers
        for step in zip(each.cycles, (each.dram_read, 0, 0), (0, 0, each.dram_written), strict=True)
    ]


def figures(place: int, step: tuple[int, int, int]) -> model.ProgramOnIpu:
    """(cycles, bytes from DRAM, bytes to DRAM) of one program, as compiled."""
    cycles, read, written = (np.array([figure]) for figure in step)
    return model.ProgramOnIpu(place + 1, 0, cycles=cycles, rx=read, tx=written)


def terms(program: int, each: Layer) -> list[model.CostTerm]:
    """The terms of the cycles of a layer's computation, and its accesses of the scratchpads."""
    owner, busy = f"program:{program}", each.cycles[1] - each.stalls
    facts = [model.CostTerm(owner, name, count, f"unknown: counted by {VERSION}") for name, count in each.sram.items()]
    added = [("+ cycles without stalls", busy), ("+ stalls", each.stalls)]
    return [*facts, *(model.CostTerm(owner, name, count, f"unknown: {VERSION}") for name, count in added)]


def scratchpads(sizes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> model.LoweredTile:
    """The three scratchpads, one after the other."""
    zero, rows = np.zeros(len(sizes), int), np.arange(len(sizes))
    return model.LoweredTile(0, 0, sizes, np.cumsum(sizes) - sizes, zero, zero, rows, zero - 1, rows)


def run(layers: list[Layer]) -> model.RunRecord:
    """One run of all steps, in order, on the only tile."""
    steps = np.array(parts(layers))
    cycles, number, zero = steps[:, 0], np.arange(len(steps)), np.zeros(1, int)
    return model.RunRecord(
        program_index=0,
        name="network",
        host_start_us=0,
        host_end_us=0,
        cycles=int(cycles.sum()),
        program=number + 1,
        base=(np.cumsum(cycles) - cycles)[:, None],
        pattern=number[:, None],
        patterns=[model.StepOnIpu(zero, np.array([each])) for each in cycles],
        tail=[zero],
        data_in=steps[:, 1:2],
        data_out=steps[:, 2:3],
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
