"""The variables that each lowered program reads or writes, as the report lists them."""

import numpy as np

from popvision.formats.profile import ProfileReader
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Copy, Sequence, WriteUndef
from simulator.poplibs import poplin, popops, poputil


def graph_of(tiles):
    model = IPUModel()
    model.tilesPerIPU = tiles
    return Graph(model.createDevice())


def report_of(graph, program, folder):
    options = {"autoReport.outputGraphProfile": "true", "autoReport.directory": str(folder)}
    Engine(graph, program, options)
    return ProfileReader(folder / "profile.pop")


def touched(reader):
    """(type, name) of each program that touches something -> names of its variables."""
    programs, names = reader.programs(), reader.variables().name
    found = {}
    for program, array in reader.program_variables().items():
        found[programs.type[program], programs.name[program]] = sorted(names[v] for v in reader.array(array).tolist())
    return found


def test_a_sum_of_what_was_copied(tmp_path):
    graph, program = graph_of(4), Sequence()
    x, y = (graph.addVariable(FLOAT, [8], name) for name in "xy")
    for tile, tensor in enumerate((x, y)):
        graph.setTileMapping(tensor, tile)
    program.add(WriteUndef(y))
    program.add(Copy(x, y))
    popops.addInPlace(graph, y, y, program, "twice")
    graph.createHostWrite("x", x)
    graph.createHostRead("y", y)
    found = {kind: names for (kind, _), names in touched(report_of(graph, program, tmp_path)).items()}
    assert found["WriteUndef"] == ["y"]
    assert found["DoExchange"] == ["x", "y"]
    assert found["OnTileExecute"] == ["y"]
    hosts = [names for (kind, _), names in touched(ProfileReader(tmp_path / "profile.pop")).items() if "Mid" in kind]
    assert sorted(hosts) == [["x"], ["y"]]


def test_whatever_lives_is_touched_where_its_life_begins_and_ends(tmp_path):
    """Without loops a range runs from a program that touches the part to the last one that does; and what programs
    touch is live then."""
    graph, program = graph_of(16), Sequence()
    a, b = (graph.addVariable(FLOAT, shape, name) for name, shape in (("a", [40, 60]), ("b", [60, 70])))
    for tensor in (a, b):
        poputil.mapTensorLinearly(graph, tensor)
    c = poplin.matMul(graph, a, b, program, "c")
    popops.mulInPlace(graph, c, c, program, "square")
    reader = report_of(graph, program, tmp_path)
    variables, classes, order = reader.variables(), reader.eq_classes(), reader.liveness().program
    by_program = {p: set(reader.array(array).tolist()) for p, array in reader.program_variables().items()}
    alive = {}
    parted = 0
    for row, number in enumerate(variables.eq_class.tolist()):
        ranges = slice(classes.offsets[number], classes.offsets[number + 1]) if number >= 0 else slice(0, 0)
        pairs = list(zip(classes.starts[ranges].tolist(), classes.ends[ranges].tolist(), strict=True))
        alive[row] = {i for start, end in pairs for i in range(start, end)}
        parted += variables.name.count(variables.name[row]) > 1
        if variables.debug_id[row] >= 0 and variables.bytes[row]:
            for start, end in pairs:
                assert row in by_program[order[start]], variables.name[row]
                assert row in by_program[order[end - 1]], variables.name[row]
    assert parted > 4
    for program, rows in by_program.items():
        for row in rows:
            places = np.flatnonzero(order == program).tolist()
            assert variables.always_live[row] or not variables.bytes[row] or alive[row].intersection(places)
