"""Reports small enough to read as text: rows of letters, one letter per cycle, written as profile.pop and drawn again.

C compute   X exchange   G global exchange   H host transfer   W waiting for host   S sync   . nothing
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from popvision.formats.profile import model
from popvision.formats.profile.writer import ProfileWriter
from tests.browser.execution_pages import rgb
from tests.reports import i8, tiny_compilation, u4

LETTERS = {
    "C": "OnTileExecute",
    "X": "DoExchange",
    "G": "GlobalExchange",
    "H": "StreamCopyMid",
    "W": "StreamCopyBegin",
    "S": "Sync",
}
_CLASSES = {"C": "compute", "X": "exchange", "G": "global", "H": "host", "W": "wait", "S": "sync"}

#: One step: its letter, and the cycles of each tile.
Steps = list[tuple[str, tuple[int, ...]]]


def picture_of(steps: Steps) -> list[str]:
    """The rows of letters that these steps are."""
    tiles = len(steps[0][1])
    rows = ["".join(letter * cycles[tile] for letter, cycles in steps) for tile in range(tiles)]
    return [row.ljust(max(map(len, rows)), ".") for row in rows]


def write_small(folder: Path, steps: Steps, *, target: str = "IpuModel", level: str = "Tile") -> Path:
    """profile.pop in `folder`: every step a program of its own, "layer/<letter><number>"."""
    folder.mkdir(parents=True, exist_ok=True)
    tiles, tiny = len(steps[0][1]), tiny_compilation()
    count = len(steps)
    programs = model.Programs(
        type=["Sequence", *(LETTERS[letter] for letter, _ in steps)],
        name=["", *(f"layer/{letter}{number}" for number, (letter, _) in enumerate(steps))],
        owner=["control"] * (count + 1),
        compute_set=i8(*[-1] * (count + 1)),
        repeat_count=i8(*[0] * (count + 1)),
        debug_id=i8(*[-1] * (count + 1)),
        sync_type=[""] * (count + 1),
        child_offsets=i8(0, *[count] * (count + 1)),
        children=i8(*range(1, count + 1)),
    )
    compilation = replace(
        tiny,
        programs=programs,
        target=replace(tiny.target, type=target, tiles_per_ipu=tiles, physical_tile=None),
        tile_memory=None,
        category_memory=(),
        variables=None,
        liveness=None,
        eq_classes=None,
        vars_info=None,
        lowered=(),
        program_on_ipu=[],
        messages=[],
        compute_set_vertices=[],
        meta=tiny.meta | {"reportId": folder.name, "computeInstrumentation": level},
    )
    with ProfileWriter(folder / "profile.pop") as writer:
        writer.write_compilation(compilation)
        writer.append_run(_run(steps, tiles))
    return folder


def _run(steps: Steps, tiles: int) -> model.RunRecord:
    clock = np.zeros(tiles, np.int64)
    base, patterns = [], []
    for _, cycles in steps:
        base.append(int(clock.min()))
        patterns.append(model.StepOnIpu((clock - clock.min()).astype(np.uint32), u4(*cycles)))
        clock = clock + np.array(cycles)
    count = len(steps)
    return model.RunRecord(
        program_index=0,
        name="step",
        host_start_us=0,
        host_end_us=10,
        cycles=int(clock.max()),
        program=i8(*range(1, count + 1)),
        base=np.array(base).reshape(count, 1),
        pattern=np.arange(count).reshape(count, 1),
        patterns=patterns,
        tail=[(clock.max() - clock).astype(np.uint32)],
        data_in=i8(*[0] * count).reshape(count, 1),
        data_out=i8(*[0] * count).reshape(count, 1),
    )


def drawn(viewer: Any, total: int, tiles: int) -> list[str]:
    """What the canvas shows: the colour in the middle of every cycle of every tile, as letters; ? = another colour."""
    colours = {tuple(rgb(f"step-{name}-fill", "light")): letter for letter, name in _CLASSES.items()}
    colours[tuple(rgb("sunken", "light"))] = "."
    view = viewer.view()
    band = view["bands"][0]
    top = view["top"] + band["tilesTop"] - view["scroll"]
    pixels = viewer.pixels(view["gutter"], top, view["width"], band["tilesHeight"])
    columns = [int((cycle + 0.5) * 1024 / view["pitch"]) - view["first"] for cycle in range(total)]
    rows = [int((tile + 0.5) * band["tilesHeight"] / tiles) for tile in range(tiles)]
    return ["".join(colours.get(tuple(pixels[y, x].tolist()), "?") for x in columns) for y in rows]
