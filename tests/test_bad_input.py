"""Bad input is answered with one sentence that names object and value, as the documented exception.

One table holds mistakes of programs, one mistakes of commands. Further cases are elsewhere:
streams, devices and programs in tests/engine/test_engine_errors.py, options in
tests/engine/test_engine_options.py, damaged and hostile files in tests/formats/test_profile_hostile.py and
tests/formats/test_other_files.py, killed programs in tests/engine/test_killed_runs.py, PVTI_OPTIONS in tests/pvti.
"""

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from popvision import pva
from popvision.formats.errors import FormatError
from simulator.codelets.vertex import Input, Output, Vector, Vertex
from simulator.poplar import (
    FLOAT,
    HALF,
    INT,
    DeviceManager,
    Engine,
    Graph,
    IPUModel,
    TargetType,
    concat,
    control_program_error,
    file_load_error,
    graph_connection_error,
    graph_memory_allocation_error,
    graph_object_creation_error,
    index_error,
    invalid_machine_model,
    invalid_option,
    invalid_tile_mapping,
    poplar_error,
    stream_connection_error,
    tensor_creation_error,
    type_error,
    unknown_field,
    unknown_vertex_type,
)
from simulator.poplar.program import Call, Copy, Execute, PrintTensor, Repeat, Sequence
from simulator.poplibs import poplin, popops
from tests.cli import called
from tests.reports import write_tiny

ROOT = Path(__file__).parents[1]


class Sum(Vertex):
    x = Input(Vector(FLOAT))
    out = Output(FLOAT)

    def compute(self):
        self.out = self.x.sum()


class Case:
    """A model of four tiles, its graph, and short words for what the table does with them."""

    def __init__(self, folder):
        model = IPUModel()
        model.tilesPerIPU = 4
        self.folder = folder
        self.device = model.createDevice()
        self.graph = Graph(self.device)
        self.graph.addCodelets(Sum)

    def variable(self, name="x", shape=(4,), kind=FLOAT, tile=0):
        tensor = self.graph.addVariable(kind, list(shape), name)
        if tile is not None:
            self.graph.setTileMapping(tensor, tile)
        return tensor

    def vertex(self, kind="Sum", tile=0, **fields):
        self.set = self.graph.addComputeSet("sums")
        vertex = self.graph.addVertex(self.set, kind, fields)
        if tile is not None:
            self.graph.setTileMapping(vertex, tile)
        return vertex

    def engine(self, *programs, **options):
        return Engine(self.graph, list(programs), {k.replace("_", "."): v for k, v in options.items()})

    def running(self, *programs):
        engine = self.engine(*programs)
        engine.load(self.device)
        engine.run()

    def reporting_to(self, path):
        return self.engine(Sequence(), autoReport_all="true", autoReport_directory=str(path))


def model(**values):
    ipu = IPUModel()
    for name, value in values.items():
        setattr(ipu, name, value)
    return ipu.createDevice()


def in_environment(c, name, value, work):
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        work(c)
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def occupied(c, name):
    (c.folder / name).write_text("in the way")
    return c.folder / name


PROGRAMS = {
    "chip": (lambda c: IPUModel("ipu9"), invalid_machine_model, "'ipu9' .* the versions are ipu1, ipu2, ipu21"),
    "tiles": (lambda c: model(tilesPerIPU=9999), invalid_machine_model, "tilesPerIPU=9999 is more than the 1472"),
    "tiles as text": (lambda c: model(tilesPerIPU="four"), invalid_machine_model, "'four'; give a whole number"),
    "no IPUs": (lambda c: model(numIPUs=0), invalid_machine_model, "0 IPUs"),
    "device": (lambda c: DeviceManager().getDevice(999), index_error, "no device 999; .* gives ids 0 to"),
    "graph of nothing": (lambda c: Graph("ipu2"), invalid_machine_model, "'ipu2' is neither a Target nor a Device"),
    "what-if target": (
        lambda c: in_environment(c, "POPVISION_TARGET", "ipu7", lambda c: model()),
        invalid_machine_model,
        "POPVISION_TARGET='ipu7' is not a chip",
    ),
    "negative size": (lambda c: c.variable(shape=[-1]), tensor_creation_error, r"\[-1\] has a negative size"),
    "size 2.5": (lambda c: c.variable(shape=[2.5]), tensor_creation_error, r"\[2\.5\] is not a shape"),
    "element type": (lambda c: c.variable(kind="float"), tensor_creation_error, "'float' is not an element type"),
    "constant's count": (
        lambda c: c.graph.addConstant(FLOAT, [4], [1.0, 2.0]),
        tensor_creation_error,
        "2 values were given for 4",
    ),
    "constant's values": (
        lambda c: c.graph.addConstant(FLOAT, [1], ["a"]),
        tensor_creation_error,
        "'a' is not a value of type float",
    ),
    "unmapped tensor": (
        lambda c: c.engine(Copy(c.variable(), c.variable("lost", tile=None))),
        invalid_tile_mapping,
        "Element 0 of 'lost' .* has no tile; call graph.setTileMapping",
    ),
    "unmapped vertex": (
        lambda c: (c.vertex(tile=None, x=c.variable(), out=c.variable("o", [])), c.engine(Execute(c.set))),
        invalid_tile_mapping,
        "Vertex 0 of type Sum in compute set 'sums' has no tile; call setTileMapping",
    ),
    "tile too large": (lambda c: c.variable(tile=4), invalid_tile_mapping, "Tile 4 is out of range: .* 0 to 3"),
    "tile as text": (lambda c: c.variable(tile="0"), invalid_tile_mapping, "'0' is neither a tile number"),
    "vertex's tile": (
        lambda c: c.vertex(tile="0", x=c.variable(), out=c.variable("o", [])),
        invalid_tile_mapping,
        "'0' is not a tile",
    ),
    "interval": (
        lambda c: c.variable(tile=[[(0, 9)]]),
        invalid_tile_mapping,
        r"\(x\) has 4 elements; interval \[0, 9\)",
    ),
    "copy's sizes": (
        lambda c: Copy(c.variable(), c.variable("y", [5])),
        graph_connection_error,
        "the source has 4 elements .* the destination 5",
    ),
    "copy's types": (
        lambda c: Copy(c.variable(), c.variable("y", kind=HALF)),
        graph_connection_error,
        "float and the destination half; use popops.cast",
    ),
    "shapes of an operation": (
        lambda c: popops.add(c.graph, c.variable(), c.variable("y", [5]), Sequence(), "a"),
        graph_connection_error,
        r"\[4\] and \[5\] cannot be broadcast",
    ),
    "shapes of a product": (
        lambda c: poplin.matMul(c.graph, c.variable(shape=[4, 3]), c.variable("y", [4, 3]), Sequence(), "m"),
        graph_connection_error,
        r"\[4, 3\] and \[4, 3\] cannot be multiplied; give \[M, K\] and \[K, N\]",
    ),
    "types of a product": (
        lambda c: poplin.matMul(c.graph, c.variable(shape=[4, 3]), c.variable("y", [3, 4], INT), Sequence(), "m"),
        type_error,
        "float and int; both must be",
    ),
    "slice": (lambda c: c.variable().slice(2, 9), index_error, r"\[2, 9\) lies outside dimension 0 of shape \[4\]"),
    "reshape": (lambda c: c.variable().reshape([3]), index_error, r"\[3\] does not hold the tensor's 4 elements"),
    "concat": (
        lambda c: concat(c.variable(shape=[2, 2]), c.variable("y", [3, 3])),
        tensor_creation_error,
        r"\[3, 3\] and \[2, 2\] differ",
    ),
    "vertex type": (lambda c: c.vertex("Nope"), unknown_vertex_type, "'Nope' .* register its codelet"),
    "field": (lambda c: c.vertex(y=c.variable()), unknown_field, "Sum has no field 'y'; its fields are x, out"),
    "field's type": (lambda c: c.vertex(x=c.variable(kind=INT)), type_error, "'x' of Sum takes float .* holds int"),
    "field not connected": (
        lambda c: (c.vertex(x=c.variable()), c.engine(Execute(c.set))),
        graph_connection_error,
        "field 'out' is not connected",
    ),
    "codelet file": (lambda c: c.graph.addCodelets("gone.py"), file_load_error, "'gone.py' does not exist"),
    "count of Repeat": (lambda c: Repeat(-1, Sequence()), control_program_error, "count -1"),
    "sequence of a number": (lambda c: Sequence(5), control_program_error, "5 is not a program"),
    "call of a number": (lambda c: c.engine(Call(77)), control_program_error, "got 77"),
    "not a tensor": (
        lambda c: popops.cast(c.graph, c.variable(), "half", Sequence(), "c"),
        graph_object_creation_error,
        "'half' is neither a tensor nor a type",
    ),
    "run before load": (lambda c: c.engine(Sequence()).run(), poplar_error, r"call load\(device\) before run"),
    "load on nothing": (lambda c: c.engine(Sequence()).load(None), poplar_error, r"never loaded; call load\(device\)"),
    "missing stream": (
        lambda c: c.running(Copy(c.graph.addHostToDeviceFIFO("into", FLOAT, 4), c.variable())),
        stream_connection_error,
        "'into' is used by the program but not connected; call connectStream",
    ),
    "unknown option": (lambda c: c.engine(autoReport_al="true"), invalid_option, "did you mean 'autoReport.all'"),
    "bad value": (lambda c: c.engine(autoReport_all="yes"), invalid_option, "cannot be 'yes'; it takes true or false"),
    "options as a list": (lambda c: Engine(c.graph, [], ["autoReport.all"]), invalid_option, "give a dict of strings"),
    "wrong JSON": (
        lambda c: in_environment(c, "POPLAR_ENGINE_OPTIONS", "{autoReport.all:true}", lambda c: c.engine()),
        invalid_option,
        "POPLAR_ENGINE_OPTIONS is not valid JSON .*write an object of strings",
    ),
    "report folder is a file": (
        lambda c: c.reporting_to(occupied(c, "file")),
        poplar_error,
        "file is a file; give autoReport.directory another path",
    ),
    "report folder below a file": (
        lambda c: c.reporting_to(occupied(c, "file") / "deep"),
        poplar_error,
        "file/deep cannot be made: .*file is a file",
    ),
    "archive nowhere": (
        lambda c: c.engine(Sequence(), target_saveArchive=str(c.folder / "no" / "a.a")),
        poplar_error,
        r"a\.a: No such file or directory\. Give .* target\.saveArchive another path",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_program_can_do_wrong(name, tmp_path):
    work, kind, message = PROGRAMS[name]
    with pytest.raises(kind, match=message) as caught:
        work(Case(tmp_path))
    assert caught.type is kind
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith((".", "?", ")"))


def test_what_was_written_before_an_error_is_whole(tmp_path):
    """A refused profile leaves neither itself nor a part of it; its neighbours are complete."""
    (tmp_path / "profile.pop").mkdir()
    with pytest.raises(poplar_error, match=r"profile\.pop: Is a directory\. Give autoReport\.directory"):
        Case(tmp_path).reporting_to(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["archive.a", "debug.cbor", "debug.json", "profile.pop", "serialized_graph.capnp"]
    assert list((tmp_path / "profile.pop").iterdir()) == []
    json.loads((tmp_path / "debug.json").read_text())


def test_a_library_error_leaves_the_program_usable(tmp_path):
    c = Case(tmp_path)
    x, y, program = c.variable(), c.variable("y", [5]), Sequence()
    with pytest.raises(graph_connection_error):
        popops.add(c.graph, x, y, program, "a")
    popops.addInPlace(c.graph, x, x, program, "twice")
    c.graph.createHostWrite("x", x)
    c.graph.createHostRead("x", x)
    engine = c.engine(program)
    engine.load(c.device)
    values = np.arange(4, dtype=np.float32)
    engine.writeTensor("x", values)
    engine.run()
    engine.readTensor("x", values)
    assert values.tolist() == [0, 2, 4, 6]


# ---- a full disk -----------------------------------------------------------------------------------------------------

FULL = """
import sys
from pathlib import Path
from popvision.formats.profile.reader import ProfileReader
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Copy, Repeat

model = IPUModel()
model.tilesPerIPU = 64
device = model.createDevice()
graph = Graph(device)
x, y = (graph.addVariable(FLOAT, [64], name) for name in "xy")
graph.setTileMapping(x, 0)
graph.setTileMapping(y, 1)
folder = Path(sys.argv[1]) / "report"
options = {"autoReport.all": "true", "autoReport.directory": str(folder),
           "autoReport.executionProfileProgramRunCount": "100000"}
if sys.argv[2] == "at exit":
    options["autoReport.streamAtEachRun"] = "false"
engine = Engine(graph, Repeat(2000, Copy(x, y)), options)
engine.load(device)
for _ in range(50):
    engine.run()  # goes on without recording
if sys.argv[2] == "at exit":
    sys.exit()
engine.close()
there = (folder / "profile.pop").exists()
kept = len(ProfileReader(folder / "profile.pop").runs().name) if there else -1
print(kept, list(folder.glob("*.tmp")), sep="|")
"""


def on_a_small_disk(folder, when, size="1500k"):
    """Run FULL with a file system of its own for the report."""
    (folder / "program.py").write_text(FULL)
    disk = folder / "disk"
    disk.mkdir()
    script = f'mount -t tmpfs -o size={size} tmpfs "$1" && exec "$2" "$3" "$1" "$4"'
    program = [sys.executable, str(folder / "program.py"), when]
    command = ["unshare", "-rm", "sh", "-c", script, "sh", str(disk), *program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return done


def test_a_disk_that_is_full_at_exit_is_one_sentence(tmp_path):
    done = on_a_small_disk(tmp_path, "at exit")
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("popvision: Cannot append run ")
    assert "is full; free space, what was recorded before is kept." in done.stderr


def test_out_of_memory_is_said_even_where_the_profile_cannot_be_saved(tmp_path):
    device = DeviceManager().getDevices(TargetType.IPU, 1)[0]
    graph = Graph(device)
    x = graph.addVariable(FLOAT, [200_000], "x")
    graph.setTileMapping(x, 0)
    (tmp_path / "file").write_text("in the way")
    options = {"autoReport.outputGraphProfile": "true", "autoReport.directory": str(tmp_path / "file")}
    message = "Out of memory: .* The profile was not saved: .*is a file; give autoReport"
    with pytest.raises(graph_memory_allocation_error, match=message) as caught:
        Engine(graph, PrintTensor("x", x), options)
    assert caught.value.profile_path == ""


def test_a_disk_that_fills_up_keeps_what_was_recorded(tmp_path):
    """On a file system of 1.5 MB (with a page limit instead: tests/engine/test_engine_errors.py)."""
    done = on_a_small_disk(tmp_path, "at each run")
    kept, parts = done.stdout.strip().split("|")
    assert 0 < int(kept) < 50
    assert parts == "[]"
    (line,) = done.stderr.splitlines()
    assert "is full; free space, what was recorded before is kept." in line
    assert line.endswith("The report keeps the runs before this one; further runs are not recorded.")


def test_a_disk_that_is_full_at_compilation_leaves_the_program_alone(tmp_path):
    done = on_a_small_disk(tmp_path, "at each run", "64k")
    assert done.stdout == "-1|[]\n"
    (line,) = done.stderr.splitlines()
    assert line.startswith("popvision: Cannot write ")
    assert line.endswith("There is no report of this engine.")


# ---- files and commands ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Good, truncated, foreign, newer and empty files and folders."""
    folder = tmp_path_factory.mktemp("files")
    good = folder / "good"
    good.mkdir()
    write_tiny(good)
    (folder / "empty").mkdir()
    program = folder / "traced.py"
    program.write_text("from popvision import pvti\nwith pvti.Tracepoint(pvti.channel('c'), 'work'):\n    pass\n")
    host = json.dumps({"enable": "true", "directory": str(folder / "traces")})
    subprocess.run([sys.executable, program], env=os.environ | {"PVTI_OPTIONS": host}, cwd=ROOT, check=True)
    shutil.move(next((folder / "traces").glob("*.pvti")), folder / "good.pvti")
    for suffix, source, table, version in (
        ("pop", good / "profile.pop", "key = 'formatVersion'", '"9.0.0"'),
        ("pvti", folder / "good.pvti", "key = 'version'", "9.0"),
    ):
        data = source.read_bytes()
        (folder / f"cut.{suffix}").write_bytes(data[: len(data) // 2])
        (folder / f"text.{suffix}").write_text("hello")
        (folder / f"nothing.{suffix}").write_bytes(b"")
        shutil.copy(source, folder / f"newer.{suffix}")
        with sqlite3.connect(folder / f"newer.{suffix}") as db:
            assert db.execute(f"UPDATE meta SET value = ? WHERE {table}", [version]).rowcount == 1
        with sqlite3.connect(folder / f"foreign.{suffix}") as db:
            db.execute("CREATE TABLE people(name)")
    return folder


SENTENCES = {
    "cut": "cannot be read as a",
    "text": "not an SQLite file",
    "nothing": "it is empty",
    "newer": "newer",
    "foreign": "table",
    "gone": "gone",
}


@pytest.mark.parametrize("name", SENTENCES)
@pytest.mark.parametrize(("suffix", "opened"), [("pop", pva.openReport), ("pvti", pva.openTrace)])
def test_files_that_cannot_be_opened(files, name, suffix, opened):
    path = files / f"{name}.{suffix}"
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(FormatError) as caught:
        opened(str(path))
    text = str(caught.value)
    assert SENTENCES[name] in text
    assert str(path) in text
    assert "\n" not in text
    assert (path.read_bytes() if path.exists() else None) == before


COMMANDS = [
    (["info", "gone"], 1, "does not exist; give a report folder"),
    (["info", "empty"], 1, "holds no profile.pop and no .pvti"),
    (["info", "newer.pop"], 1, "format version 9.0.0; this popvision reads up to 1.x: install a newer popvision"),
    (["info", "newer.pvti"], 1, "trace format 9.0; this program reads up to 1.x: use a newer one"),
    (["info", "cut.pvti"], 1, "cannot be read as a host trace"),
    (["summary", "gone"], 1, "does not exist"),
    (["summary", "empty"], 1, "holds no profile.pop; run the program with autoReport.all"),
    (["summary", "cut.pop"], 1, "is damaged"),
    (["summary", "newer.pop"], 1, "install a newer popvision"),
    (["summary", "foreign.pop"], 1, "none of its tables are those of a profile.pop"),
    (["summary", "good.pvti"], 1, "give the profile.pop of a report folder"),
    (["export", "steps", "good", "-o", "no/steps.csv"], 1, "cannot write no/steps.csv: No such file"),
    (["export", "steps", "text.pop"], 1, "not an SQLite file"),
    (["export", "colours", "good"], 2, "'colours' is not one of"),
    (["view", "gone"], 1, "gone does not exist; give a folder of reports"),
    (["view", "good", "--port", "80000"], 2, "80000 is not in the range"),
    (["run", "gone.py"], 2, "'gone.py' does not exist"),
    (["run", "--target", "ipu9", "traced.py"], 2, "'ipu9' is not one of 'ipu1', 'ipu2', 'ipu21'"),
    (["run", "-d", "traced.py", "traced.py"], 1, "traced.py is a file; give another path with -d"),
    (["frobnicate"], 2, "No such command 'frobnicate'"),
]


def popvision(files, *arguments, **variables):
    command = [sys.executable, "-m", "popvision", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | variables
    done = subprocess.run(command, capture_output=True, text=True, cwd=files, env=environment, check=False)
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"), COMMANDS, ids=lambda value: " ".join(value) if isinstance(value, list) else None
)
def test_what_a_command_can_be_given(files, arguments, code, sentence):
    done = called.popvision(*arguments, cwd=files)
    assert done.returncode == code
    assert done.stdout == ""
    assert sentence in done.stderr
    last = done.stderr.strip().splitlines()
    assert len(last) == 1 or code == 2
    assert last[-1].startswith("popvision: " if code == 1 else "Error: ")
    assert not list(files.rglob("*.tmp"))


def test_a_busy_port_given_explicitly(files):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = popvision(files, "view", "good", "--no-browser", "--port", str(port))
    assert done.returncode == 1
    assert f"port {port} on 127.0.0.1 cannot be used (Address already in use): choose another one" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("variable", ["POPLAR_ENGINE_OPTIONS", "PVTI_OPTIONS"])
def test_run_refuses_options_that_are_not_json(files, variable):
    done = popvision(files, "run", "traced.py", **{variable: "{bad"})
    assert done.returncode == 2
    assert f"{variable} is not JSON" in done.stderr
