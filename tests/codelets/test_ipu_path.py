"""The two paths of a source: under __IPU__ for hardware where it is covered, else the other one, and what is said."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs import Bench, model

from simulator.codelets.compiled.popc import main
from simulator.poplar import (
    FLOAT,
    CodeletFileType,
    application_runtime_error,
    graph_program_compilation_error,
)

#: The sum of neighbours: by pairs on hardware, one after another elsewhere.
SOURCE = """
#include <poplar/Vertex.hpp>
#ifdef __IPU__
#include <ipu_vector_math>
#endif
using namespace poplar;
class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;
  bool compute() {
#ifdef __IPU__
    const float2 *x = reinterpret_cast<const float2 *>(&in[0]);
    for (unsigned i = 0; i < in.size() / 2; ++i) out[i] = x[i][0] + x[i][1];
    MORE
    out[6] = 1;
#else
    for (unsigned i = 0; i < in.size() / 2; ++i) out[i] = in[2 * i] + in[2 * i + 1];
    out[6] = 2;
#endif
    return true;
  }
};
"""
X = np.arange(1, 13)
HARDWARE, OTHER = 1, 2


def source(more: str) -> str:
    return SOURCE.replace("MORE", more)


def path_of(device: Any, add: Callable[[Any], object]) -> int:
    """Which path ran on a device; its sums are those of the other path."""
    bench = Bench(2, device)
    add(bench.graph)
    fields = {"in": bench.tensor("x", FLOAT, X), "out": bench.tensor("y", FLOAT, np.zeros(7))}
    bench.graph.setPerfEstimate(bench.vertex("Feature", fields), 10)
    results = bench.run(["y"])[0]
    assert results[:6].tolist() == (X[::2] + X[1::2]).tolist()
    return int(results[6])


def test_hardware_takes_the_path_of_the_ipu_and_models_the_other(device: Any, capsys: Any) -> None:
    def add(graph: Any, flags: str = "") -> None:
        graph.addCodelets(io.StringIO(source("")), flags)

    assert path_of(device, add) == HARDWARE
    assert path_of(model(2), add) == OTHER
    assert path_of(device, lambda graph: add(graph, "--ipu-path=never")) == OTHER
    assert path_of(model(2), lambda graph: add(graph, "--ipu-path=only")) == HARDWARE
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (
            'asm volatile("uput $PRNG_SEED, %[v]" : : [v] "r"(in[0]) :);',
            r"stream:15: error: inline assembly 'uput \$PRNG_SEED, %\[v\]' is not covered",
        ),
        ('asm volatile(R"l(\n  f16v4sort %0, %1\n)l" ::);', "stream:16: error: inline assembly 'f16v4sort %0, %1' is"),
        ('asm volatile("" "setzi $m0, 1\\n" "br $m0" ::);', r"stream:15: error: inline assembly 'br \$m0' is"),
        (
            'asm volatile("ld32 $m0, $mvertex_base, $mzero, 0" ::);',
            "inline assembly 'ld32 .m0, .mvertex_base, .mzero, 0'",
        ),
        ('asm volatile("bri nowhere" ::);', "inline assembly 'bri nowhere' is not covered"),
        ('asm volatile("add %[x], %[y], 1" : [x] "=r"(out[6]));', r"'add %\[x\], %\[y\], 1' is not covered"),
        ('asm volatile("nop; rpt $m0, 3" ::);', "inline assembly 'rpt .m0, 3' is not covered"),
        ("out[6] = __builtin_ipu_get(0x62);", "of a tile's registers, codelets can read .WSR and .SCOUNT here"),
        ("out[6] = __builtin_ipu_f16v4hihoamp(in[0]);", "'__builtin_ipu_f16v4hihoamp' was not declared"),
        ("__builtin_ipu_f32v2gina(x[0], 3);", "codelets can read accumulators with index 0, 1 and 4 here"),
        ("__builtin_ipu_uput(1.0f, 0x77);", "codelets can write .TAS and .FP_CLR here"),
    ],
    ids=[
        "a register",
        "raw text",
        "joined strings",
        "vertex",
        "label",
        "operand",
        "repeat",
        "register to read",
        "AMP",
        "index",
        "register",
    ],
)
def test_what_is_not_covered_takes_the_other_path_and_is_said(device: Any, capsys: Any, more: str, reason: str) -> None:
    text = source(more).replace("#include <ipu_vector_math>", "#include <ipu_intrinsics>")
    assert path_of(device, lambda graph: graph.addCodelets(io.StringIO(text))) == OTHER
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("popvision: the path under __IPU__ of 'stream' is not compiled (stream:1")
    with pytest.raises(graph_program_compilation_error, match=reason):
        Bench(2, device).graph.addCodelets(io.StringIO(text), "--ipu-path=only", io.StringIO())


def test_a_barrier_is_no_instruction(device: Any) -> None:
    text = source('asm volatile("" ::: "memory");')
    assert path_of(device, lambda graph: graph.addCodelets(io.StringIO(text))) == HARDWARE


def test_a_source_for_hardware_alone_says_so_on_a_model() -> None:
    text = (
        source("")
        .replace("#else", "#error needs an IPU\n#else")
        .replace("#ifdef __IPU__\n    const", "#ifndef ONLY\n    const")
    )
    text = text.replace(
        "#ifdef __IPU__\n#include", "#ifndef __IPU__\n#error needs an IPU\n#endif\n#ifdef __IPU__\n#include"
    )
    with pytest.raises(graph_program_compilation_error, match="#error needs an IPU"):
        Bench(2).graph.addCodelets(io.StringIO(text), "", io.StringIO(), CodeletFileType.CppSource)


def test_a_value_that_the_flag_does_not_have() -> None:
    with pytest.raises(
        graph_program_compilation_error, match="'--ipu-path=fast' has no such value; the values are auto"
    ):
        Bench(2).graph.addCodelets(io.StringIO(source("")), "--ipu-path=fast")


def test_an_object_of_popc_has_both_paths(device: Any, tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text(source(""))
    path = tmp_path / "a.gp"
    assert main([str(tmp_path / "a.cpp"), "-o", str(path), "--target=ipu2"]) == 0
    assert path_of(device, lambda graph: graph.addCodelets(str(path))) == HARDWARE
    assert path_of(model(2), lambda graph: graph.addCodelets(str(path))) == OTHER
    assert main([str(tmp_path / "a.cpp"), "-o", str(path), "--target=ipu2", "--ipu-path=never"]) == 0
    assert path_of(device, lambda graph: graph.addCodelets(str(path))) == OTHER


def test_an_object_of_version_1_loads(device: Any, tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text(source(""))
    path, older = tmp_path / "a.gp", tmp_path / "older.gp"
    assert main([str(tmp_path / "a.cpp"), "-o", str(path), "--target=ipu2"]) == 0
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(older, "w") as copy:
        manifest = json.loads(archive.read("manifest.json"))
        manifest["version"] = 1
        del manifest["targets"]["ipu2"][0]["ipu"]
        copy.writestr("manifest.json", json.dumps(manifest))
        copy.writestr("ipu2/0", archive.read("ipu2/0"))
    assert path_of(device, lambda graph: graph.addCodelets(str(older))) == OTHER


def test_popc_includes_a_file_first(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text(source("").replace("out[6] = 2", "out[6] = CHOSEN"))
    (tmp_path / "first.hpp").write_text("#define CHOSEN 2\n")
    path = tmp_path / "a.gp"
    words = ["-include", str(tmp_path / "first.hpp"), str(tmp_path / "a.cpp"), "-o", str(path), "--target=ipu2"]
    assert main(words) == 0
    assert path_of(model(2), lambda graph: graph.addCodelets(str(path))) == OTHER


@pytest.mark.parametrize(
    ("line", "header"),
    [("float2 pair{in[0], 2}; out[0] = pair[0];", "<ipudef.h>"), ("out[0] = ipu::exp(in[0]);", "<ipu_vector_math>")],
)
def test_a_name_without_its_header_says_which(line: str, header: str) -> None:
    text = source("").replace("out[6] = 2;", line)
    with pytest.raises(graph_program_compilation_error, match=f"; include {header}"):
        Bench(2).graph.addCodelets(io.StringIO(text), "", io.StringIO(), CodeletFileType.CppSource)


def test_a_vertex_without_a_numbered_worker_does_not_get_a_number() -> None:
    bench = Bench(2)
    text = source("").replace("#include <poplar/Vertex.hpp>", "#include <poplar/Vertex.hpp>\n#include <ipu_builtins.h>")
    bench.graph.addCodelets(io.StringIO(text.replace("out[6] = 2;", "out[6] = __builtin_ipu_get_worker_id();")))
    fields = {"in": bench.tensor("x", FLOAT, X), "out": bench.tensor("y", FLOAT, np.zeros(7))}
    bench.graph.setPerfEstimate(bench.vertex("Feature", fields), 10)
    with pytest.raises(application_runtime_error, match="it asked for its worker, which only a MultiVertex has"):
        bench.run(["y"])
