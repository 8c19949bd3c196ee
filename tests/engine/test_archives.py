"""target.saveArchive: a file for each tile, whose sections have the modelled sizes and whose symbols name what lies
there, as binutils read them."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from popvision.formats.archive import read_archive
from popvision.formats.profile.reader import ProfileReader
from simulator.poplar import FLOAT, Graph, compileGraph
from simulator.poplar.program import Copy, Execute, Sequence
from simulator.poplibs import popops
from simulator.runtime.recording import report_folder
from tests.compiler.tiny_graphs import hardware, model

SUMS = Path(__file__).parents[1] / "codelets" / "sums.cpp"
binutils = pytest.mark.skipif(shutil.which("readelf") is None, reason="binutils are not installed")


@pytest.fixture(autouse=True)
def _forget_directories(monkeypatch):
    monkeypatch.setattr(report_folder, "_directories", {})


def output(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def sections(path):
    """Section -> bytes of each member, as `size -A` writes them, without .comment."""
    members = re.split(r"^(\S+) +\(ex .*\):$", output("size", "-A", path), flags=re.MULTILINE)[1:]
    rows = {}
    for name, table in zip(members[::2], members[1::2], strict=True):
        lines = [line.split() for line in table.splitlines() if line.startswith(".")]
        rows[name] = {section: int(size) for section, size, _ in lines if section != ".comment"}
    return rows


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """The archive and the profile of C++ and library vertices on hardware of 8 tiles, of which some lie empty."""
    folder = tmp_path_factory.mktemp("archives")
    graph = Graph(hardware(tiles=8))
    graph.addCodelets(str(SUMS))
    x, out = (graph.addVariable(FLOAT, [8], name) for name in ("x", "out"))
    sums = graph.addComputeSet("sums")
    for tile in range(2):
        part = slice(4 * tile, 4 * tile + 4)
        graph.setTileMapping(x[part], tile)
        graph.setTileMapping(out[part], tile)
        graph.setTileMapping(graph.addVertex(sums, "SumVertex", {"in": x[part], "out": out[4 * tile]}), tile)
    graph.createHostWrite("x", x)
    prog = Sequence(Execute(sums))
    popops.addInPlace(graph, out, x, prog, "twice")
    compileGraph(graph, [prog], {"autoReport.all": "true", "autoReport.directory": str(folder)})
    return folder


@binutils
def test_each_tile_has_a_file(archives):
    names = [f"tile{tile:06d}.o" for tile in range(8)]
    assert output("ar", "t", archives / "archive.a").split() == names
    assert list(sections(archives / "archive.a")) == names


@binutils
def test_sections_have_the_sizes_of_the_report(archives):
    found = sections(archives / "archive.a").values()
    memory = ProfileReader(archives / "profile.pop").tile_memory()
    assert [sum(sizes.values()) for sizes in found] == memory.excluding_gaps.tolist()
    assert len({tuple(sizes) for sizes in found}) > 1, "tiles differ"


@binutils
def test_vertex_code_and_variables_are_symbols(archives):
    rows = [line.split() for line in output("readelf", "-Ws", archives / "archive.a").splitlines()]
    symbols = [(row[3], row[-1], int(row[2])) for row in rows if len(row) == 8 and row[0][:-1].isdigit() and row[-1]]
    names = {(kind, name) for kind, name, _ in symbols}
    assert {("FUNC", "SumVertex"), ("OBJECT", "x")} <= names
    code = [size for kind, name, size in symbols if (kind, name) == ("FUNC", "SumVertex")]
    assert len(code) == 2, "on the two tiles that have such vertices"
    assert code[0] == code[1] > 0
    members = [member.image for member in read_archive(archives / "archive.a").members]
    of_vertices = [[symbol.bytes for symbol in image.symbols if symbol.section == ".vertexCode"] for image in members]
    sizes = [sum(s.bytes for s in image.sections if s.name == ".vertexCode") for image in members]
    assert [sum(each) for each in of_vertices] == sizes, "each type's code is a symbol"
    assert max(sizes) > 0


def test_a_large_target_takes_one_file_each_and_little_room(tmp_path):
    """1,472 tiles, of which 1,000 are alike and 472 empty."""
    graph = Graph(model(tiles=1472))
    x, y = (graph.addVariable(FLOAT, [4000], name) for name in "xy")
    for tensor in (x, y):
        graph.setTileMapping(tensor, [[(4 * tile, 4 * tile + 4)] for tile in range(1000)] + [[]] * 472)
    graph.createHostWrite("x", x)
    path = tmp_path / "archive.a"
    compileGraph(graph, [Copy(x, y)], {"target.saveArchive": str(path)})
    archive = read_archive(path)
    assert np.concatenate([member.image.tiles for member in archive.members]).tolist() == list(range(1472))
    assert len(archive.members) < 10, "images of equal tiles are read once"
    assert path.read_bytes().count(b"\x7fELF") == 1472
    assert path.stat().st_size < 1472 * 1500
