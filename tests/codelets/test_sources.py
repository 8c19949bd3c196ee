"""addCodelets in all its forms: files, lists, streams, objects, placeholders; flags, output, symbols, refusals."""

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from graphs import Bench, model

from simulator.codelets.compiled.host_compiler import cache_folder
from simulator.codelets.compiled.popc import main
from simulator.codelets.compiled.source import preprocessed_file
from simulator.codelets.compiled.unit import unit_of
from simulator.poplar import (
    FLOAT,
    CodeletFileType,
    Engine,
    Graph,
    file_load_error,
    graph_object_load_error,
    graph_program_compilation_error,
    link_error,
    memory_elem_constraints_error,
)
from simulator.poplar.program import Execute

HEAD = "#include <poplar/Vertex.hpp>\nusing namespace poplar;\n"
SCALE = (
    HEAD
    + """#ifndef FACTOR
#define FACTOR 2
#endif
extern "C" float shifted(float x);
class Scale : public Vertex { public: Input<Vector<float>> x; Output<Vector<float>> y;
  bool compute() { for (unsigned i = 0; i < y.size(); ++i) y[i] = FACTOR * shifted(x[i]); return true; } };
"""
)
SHIFT = "float shifted(float x) { return x + AMOUNT; }\n"


def scaled(graph_of) -> list[float]:
    """What vertex Scale makes of 1, 2 in a graph whose codelets `graph_of` adds."""
    bench = Bench()
    graph_of(bench.graph)
    fields = {"x": bench.tensor("x", FLOAT, [1, 2]), "y": bench.tensor("y", FLOAT, [0, 0])}
    bench.graph.setPerfEstimate(bench.vertex("Scale", fields), 10)
    return bench.run(["y"])[0].tolist()


@pytest.fixture
def files(tmp_path) -> tuple[Path, Path]:
    one, other = tmp_path / "scale.cpp", tmp_path / "shift.c"
    one.write_text(SCALE)
    other.write_text("#define AMOUNT 10\n" + SHIFT)
    return one, other


def test_files_find_symbols_of_each_other(files) -> None:
    def add(graph: Graph) -> None:
        assert graph.addCodelets([str(path) for path in files], "-DFACTOR=3") is True
        assert graph.addCodelets(list(map(str, files))) is False
        assert graph.addCodelets([str(files[0])]) is False

    assert scaled(add) == [33, 36]


def test_a_file_after_the_other_with_type_flags_and_output(files, tmp_path) -> None:
    odd = tmp_path / "shift.txt"
    odd.write_text(SHIFT + "static int unused_one;\n")
    said = io.StringIO()

    def add(graph: Graph) -> None:
        assert graph.addCodelets(src=files[0], type=CodeletFileType.Auto, compileFlags="")
        assert graph.addCodelets(odd, CodeletFileType.CSource, "-DAMOUNT='(0.5f)' -Wall", said)

    assert scaled(add) == [3, 5]
    assert "unused_one" in said.getvalue()
    said.truncate(0)
    Graph(model().getTarget()).addCodelets(odd, CodeletFileType.CSource, "-DAMOUNT='(0.5f)' -Wall", said)
    assert "unused_one" in said.getvalue(), "a cached source repeats its warnings"


def test_streams(capfd) -> None:
    def add(graph: Graph) -> None:
        written = io.StringIO()
        written.write(SCALE)
        graph.addCodelets(written)
        graph.addCodelets(stream=io.BytesIO(SHIFT.encode()), compileFlags="-DAMOUNT=1", type=CodeletFileType.CSource)
        with pytest.raises(graph_object_load_error, match="were added before"):
            graph.addCodelets(written)

    assert scaled(add) == [4, 6]
    graph, said = Graph(model().getTarget()), io.StringIO()
    with pytest.raises(graph_program_compilation_error, match=r"'stream' does not compile: stream:3:.*'nothing'"):
        graph.addCodelets(io.StringIO(HEAD + "int f() { return nothing; }"), "", said)
    assert "stream:3" in said.getvalue()
    assert capfd.readouterr().err == ""
    with pytest.raises(graph_program_compilation_error, match="does not compile"):
        graph.addCodelets(io.StringIO("#include <no/such.hpp>"))
    assert "no/such.hpp" in capfd.readouterr().err


def test_undefined_and_doubled_symbols_are_named_when_the_engine_is_built(files) -> None:
    with pytest.raises(link_error, match="'shifted' is not defined by any source") as caught:
        scaled(lambda graph: graph.addCodelets(files[0]))
    assert "undefined reference" in caught.value.output

    def twice(graph: Graph) -> None:
        graph.addCodelets(list(files))
        graph.addCodelets(io.StringIO(SHIFT), "-DAMOUNT=1", CodeletFileType.CSource)

    with pytest.raises(link_error, match="'shifted' is defined by more than one source"):
        scaled(twice)


def test_refusals(tmp_path, monkeypatch, files) -> None:
    graph = Graph(model().getTarget())
    for name, type_ in (("a.S", CodeletFileType.Auto), ("a.txt", CodeletFileType.PreprocessedAsmSource)):
        (tmp_path / name).write_text("nop")
        with pytest.raises(graph_program_compilation_error, match="is assembly of the IPU, which the simulator cannot"):
            graph.addCodelets(tmp_path / name, type_)
    with pytest.raises(graph_program_compilation_error, match="LLVM code"):
        graph.addCodelets(io.StringIO("x"), "", CodeletFileType.IrSource)
    with pytest.raises(file_load_error, match=r"a\.txt' is not clear from its suffix"):
        graph.addCodelets(tmp_path / "a.txt")
    with pytest.raises(file_load_error, match=r"none\.cpp' does not exist"):
        graph.addCodelets("none.cpp")
    (tmp_path / "foreign.gp").write_bytes(b"\x7fELF...")
    with pytest.raises(graph_object_load_error, match=r"foreign\.gp' was not made by popvision popc"):
        graph.addCodelets(tmp_path / "foreign.gp")
    for flags in (
        "-o /tmp/x",
        "-o/tmp/x",
        "/etc/passwd",
        "@file",
        "-fplugin=x.so",
        "-fsyntax-only",
        "--version",
        "-xc",
        "-MMD",
        "-flto",
        "-fsanitize=address",
        "-wrapper sh",
        "-Wl,-z",
        "-D A -c",
    ):
        wrong = flags.split()[-1] if flags.startswith("-D") else flags.split()[0]
        with pytest.raises(
            graph_program_compilation_error, match=f"Compile flag '{wrong}' is not permitted for codelets"
        ):
            graph.addCodelets(files[0], CodeletFileType.Auto, flags)
    with pytest.raises(graph_program_compilation_error, match="Compile flag '-I' at the end lacks its value"):
        graph.addCodelets(files[0], CodeletFileType.Auto, "-O2 -I")
    with pytest.raises(graph_program_compilation_error, match="cannot be split"):
        graph.addCodelets(files[0], CodeletFileType.Auto, "-D'X")
    with pytest.raises(graph_object_load_error, match="Field 'p' of Odd is of type pointer type, which no field"):
        graph.addCodelets(
            io.StringIO(HEAD + "class Odd : public Vertex { public: int *p; bool compute() { return true; } };")
        )
    bad = HEAD + 'class [[poplar::constraint("elem(*a) != elem(*c)")]] W : public Vertex {\n'
    bad += " public: Input<Vector<int>> a; bool compute() { return true; } };"
    with pytest.raises(memory_elem_constraints_error, match="names 'c', which is no field; its fields are a"):
        graph.addCodelets(io.StringIO(bad))
    monkeypatch.setenv("POPVISION_CXX", "no-such-compiler")
    with pytest.raises(
        graph_program_compilation_error, match="need the compiler 'no-such-compiler', which is not inst"
    ):
        graph.addCodelets(files[0])
    bench = Bench()  # other programs do not notice
    with Engine(bench.graph, Execute(bench.cs)) as engine:
        engine.load(bench.device)
        engine.run(0)


def test_a_second_vertex_of_a_name_is_refused() -> None:
    graph = Graph(model().getTarget())
    graph.addCodelets(
        io.StringIO(HEAD + "class A : public Vertex { public: Input<int> x; bool compute() { return true; } };")
    )
    with pytest.raises(graph_object_load_error, match="Another codelet is registered as 'A'"):
        graph.addCodelets(
            io.StringIO(HEAD + "class A : public Vertex { public: Input<float> x; bool compute() { return 1; } };")
        )


# ---- objects of popc -------------------------------------------------------------------------------------------


def popc(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "popvision.cli", "popc", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_popc_writes_objects_that_load(files, tmp_path) -> None:
    one, other = map(str, files)
    out = tmp_path / "codelets.gp"
    done = popc("-O2", "-DFACTOR=5", "--target", "ipu2,ipu21", one, other, "-o", str(out))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    files[0].unlink()
    files[1].unlink()

    def add(graph: Graph) -> None:
        assert graph.addCodelets(out) is True
        assert graph.addCodelets(str(out)) is False

    assert scaled(add) == [55, 60]
    assert scaled(lambda graph: graph.addCodelets(str(out), targetName="ipu21")) == [55, 60]
    with pytest.raises(graph_object_load_error, match="has no target 'ipu1', only ipu2, ipu21"):
        Graph(model(4, "ipu1").getTarget()).addCodelets(out)
    newer = tmp_path / "newer.gp"
    with zipfile.ZipFile(newer, "w") as archive:
        archive.writestr("manifest.json", json.dumps({"format": "popvision codelets", "version": 99, "targets": {}}))
    with pytest.raises(graph_object_load_error, match="is newer than version 2; update popvision"):
        Graph(model().getTarget()).addCodelets(newer)


def test_popc_says_what_is_wrong(tmp_path, capsys) -> None:
    wrong = tmp_path / "wrong.cpp"
    wrong.write_text("int f() { return nothing; }")
    assert main([str(wrong), "-o", str(tmp_path / "x.gp"), "--target=ipu2"]) == 1
    said = capsys.readouterr().err
    assert "error: 'nothing' was not declared" in said
    assert "popc: Codelet source" in said
    assert not (tmp_path / "x.gp").exists()
    with pytest.raises(SystemExit, match="2"):
        main(["--target", "ipu9", str(wrong)])
    assert "unknown target 'ipu9'" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["--frobnicate", str(wrong)])
    assert main(["--list-targets"]) == 0
    assert capsys.readouterr().out.split() == ["ipu1", "ipu2", "ipu21"]


# ---- the cache -------------------------------------------------------------------------------------------------


def test_a_broken_cache_is_made_again(files) -> None:
    add = [list(files)]
    assert scaled(lambda graph: graph.addCodelets(*add)) == [22, 24]
    for path in cache_folder().iterdir():
        if path.suffix == ".json":
            path.write_text("{")
        elif path.suffix != ".program":
            path.unlink()
    assert scaled(lambda graph: graph.addCodelets(*add)) == [22, 24]


def test_two_processes_fill_one_cache(tmp_path, monkeypatch, files) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    source = preprocessed_file(files[0], CodeletFileType.CppSource, (), "ipu2")
    children = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            try:
                unit = unit_of(source)
                os._exit(0 if [one.layout.name for one in unit.classes] == ["Scale"] else 1)
            finally:
                os._exit(2)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    left = sorted(path.suffix for path in cache_folder().iterdir())
    assert left == [".json", ".o"]


def test_no_shell_reads_paths_and_flags(tmp_path) -> None:
    folder = tmp_path / 'it\'s "$(touch ran)" & more'
    folder.mkdir()
    (folder / "a b.h").write_text("#define AMOUNT 1\n")
    (folder / "shift;`x`.c").write_text('#include "a b.h"\n' + SHIFT)

    def add(graph: Graph) -> None:
        graph.addCodelets([folder / "shift;`x`.c"])
        graph.addCodelets(io.StringIO(SCALE), "-D 'FACTOR=(1 + 1)' '-DUNUSED=$(touch ran)'")

    assert scaled(add) == [4, 6]
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted([folder.name, "a b.h", "shift;`x`.c"])


def test_sources_with_equal_text_and_other_includes_are_two(tmp_path) -> None:
    source = tmp_path / "shift.c"
    source.write_text('#include "amount.h"\n' + SHIFT)
    for amount in (1, 2):
        (tmp_path / "amount.h").write_text(f"#define AMOUNT {amount}\n")

        def add(graph: Graph) -> None:
            graph.addCodelets([source])
            graph.addCodelets(io.StringIO(SCALE))

        assert scaled(add) == [2 * (1 + amount), 2 * (2 + amount)]
    assert np.isfinite(amount)


ADDS = """#include <poplar/Vertex.hpp>
using namespace poplar;
%s
class Adds : public Vertex { public: Input<Vector<float>> a; Output<float> b; %s
  bool compute() { *b = a[0]; return true; } };
"""


def test_an_enumeration_of_8_bytes_is_no_field() -> None:
    with pytest.raises(graph_object_load_error, match="'e' of Adds is of type E, which no field of a vertex can have"):
        Graph(model()).addCodelets(io.StringIO(ADDS % ("enum class E : long { A };", "E e;")))


@pytest.mark.parametrize("broken", [r".byte 1, 2, 3, 4, 5, 6, 7, 8", r".long 0x7fffffff\n.word 4\n.long 0\n.byte 8"])
def test_broken_debug_information_is_named(broken: str) -> None:
    assembly = rf'asm(".section .debug_info,\"\",@progbits\n{broken}\n.text");'
    with pytest.raises(graph_program_compilation_error, match=r"debug information .* cannot be read"):
        Graph(model()).addCodelets(io.StringIO(ADDS % (assembly, "")))


def test_compressed_debug_information_is_read() -> None:
    graph = Graph(model())
    assert graph.addCodelets(io.StringIO(ADDS % ("", "")), "-gz")
    assert graph.hasCodelet("Adds")
