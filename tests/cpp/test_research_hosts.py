"""The programs of examples/research: C++ and Python print the same values and the same cycles."""

from __future__ import annotations

import shutil

import pytest

from tests.cpp.building import ROOT, Shell

FOLDER = ROOT / "examples" / "research"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.cpp") if not path.stem.endswith("_codelets"))


def test_each_program_stands_in_both_languages() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("__init__", "device")) == PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS)
def test_cpp_prints_what_python_prints(shell: Shell, program: str) -> None:
    shutil.copytree(FOLDER, shell.folder, dirs_exist_ok=True)
    shell.run(f"make CXXFLAGS='-Werror -O0' {program}")
    printed = shell.run(f"./{program}", POPVISION_TILES="16").stdout
    assert "cycles" in printed
    assert "WRONG" not in printed
    python = f"cd {ROOT} && python -m examples.research.{program}"
    assert shell.run(python, POPVISION_TILES="16").stdout == printed
