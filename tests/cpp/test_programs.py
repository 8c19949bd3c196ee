"""C++ programs give the results and reports of their Python twins."""

from __future__ import annotations

import json

import popvision
from tests.cpp.building import HERE


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


def test_programs_are_values_and_graphs_are_shared_or_moved(shell):
    assert shell.printed("values").splitlines() == [
        "This Engine is empty: it was moved from, or never made.",
        '{"a":"1","b":"3"} a=1 b=3',
        "'ipu9' is not a system type; use ipu1, ipu2, ipu21, or a name such as IPU-POD16.",
    ]


def test_callbacks_run_without_a_lock_and_their_exceptions_arrive(shell):
    assert shell.printed("callbacks").splitlines() == ["not today", "stopped"]


def test_a_name_that_is_not_there_does_not_compile(shell):
    (shell.folder / "lacking.cpp").write_text(
        "#include <poplar/Graph.hpp>\nint main() { poplar::Graph().orderTheStars(); }\n", encoding="utf-8"
    )
    refused = shell.run("g++ lacking.cpp -lpoplar -o lacking", code=1)
    assert "orderTheStars" in refused.stderr
