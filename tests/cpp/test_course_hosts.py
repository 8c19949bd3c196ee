"""Codelets in the manner of a course give C++ and Python hosts the same numbers, cycles and reports."""

from __future__ import annotations

import shutil
import sys

from tests.cpp.building import HERE, ROOT

CODELETS = ROOT / "tests" / "codelets" / "course"


def test_both_hosts_see_the_same_cycles(shell):
    for path in [HERE / "programs" / "course.py", *CODELETS.glob("*.cpp")]:
        shutil.copy(path, shell.folder)
    options = {"POPVISION_TILES": "4", "POPLAR_ENGINE_OPTIONS": '{"autoReport.all":"true"}'}
    printed = shell.printed("course", **options)
    twin = shell.run(f"{sys.executable} course.py", PYTHONPATH=str(ROOT), **options).stdout
    assert printed == twin
    lines = dict(line.split(": ", 1) for line in printed.splitlines() if line.split(":")[0] in names())
    counted = {name: lines[f"{name} cycles"].split() for name in codelets()}
    assert all(any(int(number) > 0 for number in numbers) for numbers in counted.values())
    assert all(lines[name] == lines[f"{name} on a model"] for name in codelets())


def codelets() -> list[str]:
    return sorted(path.stem for path in CODELETS.glob("*.cpp"))


def names() -> set[str]:
    return {name + more for name in codelets() for more in ("", " cycles", " on a model")}
