"""Estimate pi from random points, counted by all workers of all tiles: the Monte Carlo example of the IPU HPC cookbook.

    python examples/monte_carlo_pi.py                                      a million points
    python examples/monte_carlo_pi.py --iterations 20000000 --precision 8

The original draws its numbers from the hardware's generator. Here a xorshift generator in the codelet draws them, so
that every run gives the same result.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from simulator.poplar import UNSIGNED_INT, Device, DeviceManager, Engine, Graph, TargetType
from simulator.poplar.program import Copy, Execute, Sequence
from simulator.poplibs import poputil

CODELET = Path(__file__).with_name("pi_codelet.cpp")
WORKERS = 6


def attached(ipus: int) -> Device | None:
    for device in DeviceManager.createDeviceManager().getDevices(TargetType.IPU, ipus):
        if device.attach():
            print(f"Trying to attach to IPU {device.getId()} - attached")
            return device
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=1_000_000)
    parser.add_argument("--precision", type=int, default=10, help="digits that are printed")
    parser.add_argument("--num_ipus", type=int, default=1)
    given = parser.parse_args()

    print("STEP 1: Connecting to an IPU device")
    device = attached(given.num_ipus)
    if device is None:
        print("Could not attach to an IPU device. Aborting", file=sys.stderr)
        return 1
    print("STEP 2: Create graph and compile codelets")
    graph = Graph(device.getTarget())
    graph.addCodelets([str(CODELET)], "-O3")
    print("STEP 3: Building the compute graph")
    tiles = device.getTarget().getNumTiles()
    counts = graph.addVariable(UNSIGNED_INT, [tiles * WORKERS], "counts")
    poputil.mapTensorLinearly(graph, counts)
    each = given.iterations // (tiles * WORKERS)
    if each < 1:
        print(f"{given.iterations} iterations are less than one for each of {tiles * WORKERS} workers", file=sys.stderr)
        return 1
    cs = graph.addComputeSet("loopBody")
    print(f"numTiles = {tiles}")
    for tile in range(tiles):
        hits = counts.slice(tile * WORKERS, (tile + 1) * WORKERS)
        v = graph.addVertex(cs, "PiVertex", {"hits": hits, "iterations": each, "seed": tile})
        graph.setTileMapping(v, tile)
    print("STEP 4: Define data streams")
    fromIpuStream = graph.addDeviceToHostFIFO("FROM_IPU", UNSIGNED_INT, tiles * WORKERS)
    print("STEP 5: Create engine and compile graph")
    results = np.zeros(tiles * WORKERS, np.uint32)
    with Engine(graph, Sequence(Execute(cs), Copy(counts, fromIpuStream)), {"debug.instrument": "true"}) as engine:
        print("STEP 6: Load compiled graph onto the IPU tiles")
        engine.load(device)
        engine.enableExecutionProfiling()
        print("STEP 7: Attach data streams")
        engine.connectStream("FROM_IPU", results)
        print("STEP 8: Run programs")
        engine.run(0, "main")
        print("STEP 9: Capture debug and profile info")
        engine.printProfileSummary(sys.stdout, {"showExecutionSteps": "false"})
    points = each * tiles * WORKERS
    print(f"\n{results.max()}")
    print(f"chunk_size = {tiles * WORKERS} repeats = {each}")
    print(f"tests = {points}")
    print(f"pi = {4 * int(results.sum()) / points:.{given.precision}g}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
