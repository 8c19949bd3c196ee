"""Headers and programs compile as C++11 to C++20, with g++ and with clang++."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cpp.building import HERE, ROOT, has_boost

INCLUDE = ROOT / "native" / "include"
FLAGS = ("-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", f"-I{ROOT / 'simulator/codelets/include'}")
COMPILERS = [
    pytest.param(
        name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"needs {name}: apt-get install -y {package}")
    )
    for name, package in (("g++", "g++"), ("clang++", "clang"))
]


def _refused(compiler: str, standard: str, sources: Iterable[Path]) -> dict[str, str]:
    """What the compiler says of the sources that it refuses, by their names."""

    def said(source: Path) -> tuple[str, str]:
        command = [compiler, f"-std={standard}", *FLAGS, str(source)]
        return source.name, subprocess.run(command, capture_output=True, text=True, check=False).stderr

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return {name: text for name, text in pool.map(said, sources) if text}


@pytest.mark.parametrize("standard", ["c++11", "c++14", "c++17", "c++20"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_all_headers_compile_without_a_warning(shell, compiler, standard):
    headers = sorted(path.relative_to(INCLUDE) for path in INCLUDE.rglob("*.hpp"))
    source = shell.folder / "headers.cpp"
    source.write_text("".join(f"#include <{header}>\n" for header in headers) + "int main() {}\n", encoding="utf-8")
    assert _refused(compiler, standard, [source]) == {}


@pytest.mark.long
@pytest.mark.parametrize("standard", ["c++11", "c++14", "c++17", "c++20"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_all_programs_compile_without_a_warning(compiler, standard):
    programs = [*HERE.glob("programs/*.cpp"), *HERE.glob("course/*.cpp"), *(ROOT / "examples" / "cpp").glob("*.cpp")]
    hosts = sorted(path for path in programs if "int main(" in path.read_text(encoding="utf-8"))
    assert len(hosts) > 20
    missing = () if has_boost(compiler) else ("powers.cpp",)
    assert _refused(compiler, standard, [path for path in hosts if path.name not in missing]) == {}
