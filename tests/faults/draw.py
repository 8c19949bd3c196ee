"""A seeded draw: places spread over rooms, languages and kinds.

A quarter of the faults is JavaScript. Each fault goes to the room that has the fewest for the root of its number of
places, so that a small room has one and a large room a few. Kinds take turns. The rows are in random order: the first
half of a table is a sample too.
"""

from __future__ import annotations

import io
import math
import random
import subprocess
import tarfile
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

from tests.faults import javascript_forms, python_forms
from tests.faults.changes import KINDS, Change, changes
from tests.faults.fault_list import Fault

PACKAGES = ("simulator", "popvision", "webapp")
#: One fault of so many is JavaScript.
SCRIPTS = 4
#: The change and its file, by room and kind.
Places = Mapping[str, Mapping[str, list[tuple[str, Change]]]]


def sources(root: Path, commit: str) -> dict[str, str]:
    """The modules of a commit by their paths, but for those of others."""
    archive = subprocess.run(["git", "archive", commit, *PACKAGES], cwd=root, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        names = [m.name for m in files if m.isfile() and m.name.endswith((".py", ".js")) and "/vendor/" not in m.name]
        return {name: files.extractfile(name).read().decode() for name in names}  # type: ignore[union-attr]


def room_of(path: str) -> str:
    """The folder below the package; for scripts of pages the folder below assets."""
    parts = path.split("/")[:-1]
    return "/".join(parts[:3] if parts[:2] == ["webapp", "assets"] else parts[:2])


def draw(files: Mapping[str, str], seed: int, count: int) -> list[Fault]:
    """`count` faults; the same for the same files and seed."""
    chance = random.Random(seed)
    scripts = {path: text for path, text in sorted(files.items()) if path.endswith(".js")}
    modules = {path: text for path, text in sorted(files.items()) if path.endswith(".py")}
    drawn = _spread(_places(scripts), files, count // SCRIPTS, chance)
    drawn += _spread(_places(modules), files, count - len(drawn), chance)
    chance.shuffle(drawn)
    return [fault._replace(number=number) for number, fault in enumerate(drawn, 1)]


def _places(files: Mapping[str, str]) -> Places:
    found: dict[str, dict[str, list[tuple[str, Change]]]] = defaultdict(lambda: defaultdict(list))
    scripts = [path for path in files if path.endswith(".js")]
    trees = dict(
        zip(scripts, javascript_forms.trees([files[path] for path in scripts]) if scripts else [], strict=True)
    )
    for path, text in files.items():
        tree = trees.get(path)
        for form in python_forms.forms(text) if tree is None else javascript_forms.forms(text, tree):
            for change in changes(text, form):
                found[room_of(path)][change.kind].append((path, change))
    return found


def _spread(places: Places, files: Mapping[str, str], count: int, chance: random.Random) -> list[Fault]:
    """`count` faults, none twice in one line."""
    weight = {room: math.sqrt(sum(map(len, kinds.values()))) for room, kinds in places.items()}
    in_room, of_kind, taken = Counter[str](), Counter[str](), set[tuple[str, int]]()
    drawn = []
    while len(drawn) < count:
        room = min(sorted(weight), key=lambda name: (in_room[name] / weight[name], -weight[name]))
        kinds = [kind for kind in KINDS if places[room][kind]]
        chance.shuffle(kinds)
        kind = min(kinds, key=lambda name: of_kind[name])
        path, change = chance.choice(places[room][kind])
        fault = _fault(room, path, files[path], change)
        if (path, fault.line) in taken or not compiles(path, fault, files[path]):
            continue
        taken.add((path, fault.line))
        in_room[room] += 1
        of_kind[kind] += 1
        drawn.append(fault)
    return drawn


def _fault(room: str, path: str, source: str, change: Change) -> Fault:
    changed = source[: change.begin] + change.text + source[change.end :]
    line = source.count("\n", 0, change.begin)
    return Fault(0, room, path, line + 1, change.kind, source.split("\n")[line], changed.split("\n")[line])


def compiles(path: str, fault: Fault, source: str) -> bool:
    """Whether the file with the fault is still a program, and another one."""
    lines = source.split("\n")
    lines[fault.line - 1] = fault.new
    text = "\n".join(lines)
    if fault.new == fault.old:
        return False
    if path.endswith(".js"):
        return javascript_forms.trees([text])[0] is not None
    try:
        compile(text, path, "exec")
    except SyntaxError:
        return False
    return True
