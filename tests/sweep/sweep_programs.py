"""Small programs for sweeps, and how tests read what became of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

#: Makes a report folder of one file with its arguments, notes each start in the file "starts" of its own folder, and
#: then does what its first argument says.
QUICK = """
import json, os, signal, sys
with open("starts", "a") as stream:
    stream.write(" ".join(sys.argv[1:]) + "\\n")
if sys.argv[1] == "fails":
    sys.exit("the weights do not fit")
if sys.argv[1] == "allocates":
    block = b"x" * (300 << 20)
    signal.pause()
if sys.argv[1] == "sleeps":
    signal.pause()
if sys.argv[1] == "fills":
    open("/dev/full", "w").write("x" * 100_000)
if sys.argv[1] != "nothing":
    folder = json.loads(os.environ["POPLAR_ENGINE_OPTIONS"])["autoReport.directory"]
    with open(os.path.join(folder, "profile.pop"), "w") as stream:
        json.dump(sys.argv[1:], stream)
"""

#: Adds a tensor of N elements to itself on the IPU Model.
ADDS = """
import sys
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Sequence
from simulator.poplibs import popops, poputil

device = IPUModel().createDevice()
graph, program = Graph(device), Sequence()
a = graph.addVariable(FLOAT, [int(sys.argv[1])], "a")
poputil.mapTensorLinearly(graph, a)
popops.add(graph, a, a, program, "sum")
with Engine(graph, program) as engine:
    engine.load(device)
    engine.run(0)
"""


def sweep_file(folder: Path, text: str, program: str = QUICK) -> Path:
    """`folder`/sweep.toml with `text`, beside program.py."""
    folder.mkdir(exist_ok=True)
    (folder / "program.py").write_text(program)
    path = folder / "sweep.toml"
    path.write_text(f'program = "program.py"\n{text}')
    return path


def starts(folder: Path) -> list[str]:
    """The arguments of each start of QUICK in `folder`."""
    path = folder / "starts"
    return path.read_text().splitlines() if path.exists() else []


def inputs(point: Path) -> dict[str, Any]:
    """The point.json of a point's folder."""
    document = json.loads((point / "point.json").read_text())
    assert isinstance(document, dict)
    return document


def places(root: Path, kind: str = "points") -> list[Path]:
    """Folders of the points that ended so, running ones too."""
    return sorted((root / kind).iterdir()) if (root / kind).exists() else []
