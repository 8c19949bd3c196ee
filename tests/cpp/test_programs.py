"""C++ programs give the results and reports of their Python twins."""

from __future__ import annotations

import json
import shutil
import sys

import numpy as np
import pytest

import popvision
from popvision import pva
from popvision.cli import cpp
from simulator import poplar
from simulator.poplar.program import Sequence
from simulator.poplibs import popops
from tests.cpp.building import HERE, ROOT
from tests.same_reports import OF_A_RUN, differences

#: Files that hold lines of the program's text, and an id that follows from them.
OF_THE_TEXT = frozenset({"file archive.a", "file debug.cbor", "file debug.json", "file serialized_graph.capnp"})


def test_a_graph_with_a_codelet_streams_and_reports(shell):
    printed = shell.printed("vertices", POPLAR_ENGINE_OPTIONS='{"autoReport.all":"true"}')
    assert printed.splitlines() == [
        "v1: [1.0000000 1.5000000 2.0000000 2.5000000]",
        "14 12 9 5 20 18 14 8 ",
        "v2:float{4} float 8",
    ]
    (report,) = shell.folder.glob("**/profile.pop")
    assert len(popvision.open(report).steps()) > 0
    contexts = json.loads(report.with_name("debug.json").read_text())["contexts"]
    source = HERE / "programs" / "vertices.cpp"
    lines = source.read_text().splitlines()
    variables = {context["name"]: context for context in contexts}
    assert variables["v1"]["file"] == str(source)
    assert '"v1"' in lines[variables["v1"]["line"] - 1]
    assert '"computeSet"' in lines[variables["computeSet"]["line"] - 1]
    assert not [context for context in contexts if context["file"].endswith("Program.hpp")]


def test_programs_are_values_and_graphs_are_shared_or_moved(shell):
    assert shell.printed("values").splitlines() == [
        "This Engine is empty: it was moved from, or never made.",
        '{"a":"1","b":"3"} a=1 b=3',
        "'ipu9' is not a system type; use ipu1, ipu2, ipu21, or a name such as IPU-POD16.",
    ]


def test_callbacks_run_without_a_lock_and_their_exceptions_arrive(shell):
    assert shell.printed("callbacks").splitlines() == ["not today", "stopped"]


def test_each_function_of_the_chapter_of_graph_works(shell):
    assert shell.printed("graph_chapter") == "48\n"


def test_each_function_of_the_chapter_of_engine_works(shell):
    assert shell.printed("engine_chapter", POPVISION_IPUS="1").splitlines() == [
        "Stream 'in' holds quarter; derive StreamCallback from StreamCallbackWithMetadata."
    ]


def test_spellings_of_public_programs(shell):
    shell.build("spellings", "-std=c++17 -Wall -Wextra -Werror")
    printed = shell.run("./spellings").stdout
    assert printed == "20 checked checked 23 25 27 29 29 1 sequence 1\n"


def test_cycle_counters_read_what_they_read_from_python(shell, monkeypatch):
    monkeypatch.setenv("POPVISION_TILES", "4")
    *words, refused = shell.printed("counters").split(" ", 12)
    assert [int(word) for word in words] == counters_from_python()
    assert refused.startswith("cycleCount needs hardware: an IPU Model has estimates")


def counters_from_python() -> list[int]:
    """The twin of counters.cpp."""
    device = next(d for d in poplar.DeviceManager().getDevices(poplar.TargetType.IPU, 1) if d.attach())
    graph, timed = poplar.Graph(device), Sequence()
    t = graph.addVariable(poplar.FLOAT, [1000], poplar.VariableMappingMethod.LINEAR, "t")
    popops.addInPlace(graph, t, t, timed, "twice")
    stamps = [poplar.cycleCount(graph, timed, 0, poplar.SyncType.INTERNAL, "count")]
    stamps.append(poplar.cycleStamp(graph, timed, 1, poplar.SyncType.EXTERNAL))
    stamps.append(poplar.cycleStamp(graph, timed, 2, "timer"))
    stamps += poplar.cycleStamp(graph, timed, [0, 3], poplar.SyncType.INTERNAL)
    whole = Sequence(timed)
    stamps.append(poplar.cycleCount(graph, whole, 3, "whole"))
    graph.createHostRead("stamps", poplar.concat(stamps))
    words = np.zeros(2 * len(stamps), np.uint32)
    with poplar.Engine(graph, whole) as engine:
        engine.load(device)
        engine.run()
        engine.readTensor("stamps", words)
    device.detach()
    return [int(word) for word in words]


def test_an_executable_is_loaded_by_a_program_that_calls_no_library(shell):
    shell.build("saved")
    assert shell.run("./saved save; ./saved load").stdout == "4 8\n"


def test_a_name_that_is_not_there_does_not_compile(shell):
    (shell.folder / "lacking.cpp").write_text(
        "#include <poplar/Graph.hpp>\nint main() { poplar::Graph().orderTheStars(); }\n", encoding="utf-8"
    )
    refused = shell.run("g++ lacking.cpp -lpoplar -o lacking", code=1)
    assert "orderTheStars" in refused.stderr


def test_libraries_compute_what_numpy_computes(shell):
    rows = [[float(word) for word in line.split()] for line in shell.printed("libraries").splitlines()]
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    softmax = np.exp(a) / np.exp(a).sum(axis=1, keepdims=True)
    expected = [
        a @ a,
        (a + 1) * a - np.sqrt(a),
        a + 0.5,
        10 - a,
        a * a + a / 2,
        [*a.sum(axis=0), *a.max(axis=1)],
        a,
        softmax,
        np.sort(-a.ravel()),
        np.full(4, 3.0 + 0 + 1 + 2 + 3 + 4),
        np.zeros(4),
        np.ones(4),
    ]
    assert rows[:-1] == [pytest.approx(np.ravel(values), abs=2e-3) for values in expected]
    assert rows[-1] == [3.0, 3.0]


@pytest.mark.parametrize(("way", "code"), [("return", 0), ("static", 0), ("exit", 3)])
def test_output_reports_and_trace_are_whole_however_a_program_ends(shell, way, code):
    _run_and_end(shell, way, code)
    (trace,) = (shell.folder / "report").glob("*.pvti")
    (process,) = pva.openTrace(trace).processes
    labels = {event.label for thread in process.threads for event in thread.events}
    assert "first run" in labels


@pytest.mark.parametrize("way", ["throw", "abort"])
def test_runs_that_ended_are_in_the_report_after_a_crash(shell, way):
    _run_and_end(shell, way, 134)


def _run_and_end(shell, way: str, code: int) -> None:
    shell.build("exits")
    ended = shell.run(
        f"./exits {way} | cat; exit ${{PIPESTATUS[0]}}",
        code=code,
        POPLAR_ENGINE_OPTIONS='{"autoReport.all":"true","autoReport.directory":"report"}',
        PVTI_OPTIONS='{"enable":"true","directory":"report"}',
    )
    assert ended.stdout == "t: [4 5]\ndone\n"
    assert len(popvision.open(shell.folder / "report" / "profile.pop").runs()) == 1


def test_reports_of_engines_and_files(shell):
    options = '{"autoReport.all":"true","autoReport.directory":"report"}'
    total = shell.printed("reports", POPLAR_ENGINE_OPTIONS=options)
    assert int(total) > 0
    profiles = [str(path) for path in shell.folder.glob("report/**/profile.pop")]
    assert total in [shell.run(f"./reports {profile}").stdout for profile in profiles]


def test_profile_and_summary_are_those_of_the_python_twin(shell):
    """Equal but for times and what says where the program's text is."""
    for name in ("twin.cpp", "twin.py"):
        shutil.copy(HERE / "programs" / name, shell.folder)
    options = '{"autoReport.all":"true","autoReport.directory":"report"}'
    printed = shell.printed("twin", POPLAR_ENGINE_OPTIONS=options)
    shell.run("mv report cpp")
    twin = shell.run(f"{sys.executable} twin.py; mv report python", POPLAR_ENGINE_OPTIONS=options, PYTHONPATH=str(ROOT))
    assert printed == twin.stdout
    assert differences(shell.folder / "cpp", shell.folder / "python") - OF_A_RUN == OF_THE_TEXT


def test_marks_of_a_program_are_read_from_its_trace(shell):
    shell.printed("marks", PVTI_OPTIONS='{"enable":"true","directory":"traces"}')
    (trace,) = shell.folder.glob("traces/*.pvti")
    assert shell.run(f"./marks {trace}").stdout.splitlines() == [
        'step 1 {"number": 1}',
        "instant 0 ",
        'step 1 {"number": 2}',
        "residual m 0.25",
        "0 2 1 1 4 3",
    ]


def test_popvision_run_runs_a_compiled_program(shell):
    shell.build("exits")
    assert shell.run("popvision run -d here ./exits exit", code=3).stdout == "t: [4 5]\ndone\n"
    assert (shell.folder / "here" / "profile.pop").exists()


def test_errors_estimators_modules_and_quarters(shell):
    sentences = shell.printed("errors", POPVISION_IPUS="1").splitlines()
    assert len(sentences) == 5
    assert "2 values are given" in sentences[2]
    assert "no.such.option" in sentences[4]


def test_a_library_without_its_python_says_what_to_do(shell):
    shell.build("values")
    ended = shell.run(f"LD_LIBRARY_PATH={ROOT}/build/cpp/lib/missing:$LD_LIBRARY_PATH ./values", code=1)
    assert ended.stderr.splitlines()[-1].endswith("is gone; run 'make cpp' again.")


def test_the_examples_build_and_run(shell):
    shell.run(f"cp -r {ROOT}/examples/cpp examples && make -C examples && cd examples && ./stream 100 && ./matmul")


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake: apt-get install -y cmake")
def test_cmake_finds_the_libraries(shell):
    shell.run(f"cmake -B build {ROOT}/examples/cpp && cmake --build build --target matmul && ./build/matmul")


def test_the_command_prints_where_a_wheel_has_its_libraries(shell):
    libraries = cpp.place()
    libraries.parent.mkdir(parents=True)
    refused = shell.run("popvision cpp env", code=1)
    assert refused.stderr.splitlines()[-1].endswith("run 'popvision cpp build' first.")
    libraries.symlink_to(ROOT / "build" / "cpp")
    printed = shell.run("unset CPATH; popvision cpp env").stdout.splitlines()
    assert printed[0].startswith(f"export CPATH={ROOT}/native/include:")
    bare = "unset CPATH LIBRARY_PATH LD_LIBRARY_PATH CMAKE_PREFIX_PATH"
    source = HERE / "programs" / "values.cpp"
    shell.run(f'{bare}; eval "$(popvision cpp env)"; g++ {source} -lpoplar -o values && ./values && ldd values')
