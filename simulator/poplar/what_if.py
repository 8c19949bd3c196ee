"""POPVISION_TARGET and POPVISION_TILES: run a program as if it had asked for another machine.

What they change is kept in `Target.overrides`, so that every report can say that it answers a what-if question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from simulator.machine.targets import CHIPS
from simulator.poplar.errors import invalid_machine_model
from simulator.poplar.target import Target

TARGET = "POPVISION_TARGET"
TILES = "POPVISION_TILES"


def overridden(target: Target, environment: Mapping[str, str]) -> Target:
    """`target`, changed as the environment says. Raises `invalid_machine_model` naming variable and value."""
    name = environment.get(TARGET, "")
    if name and name != target.chip.name:
        if name not in CHIPS:
            raise invalid_machine_model(f"{TARGET}='{name}' is not a chip; the chips are {', '.join(CHIPS)}.")
        chip = CHIPS[name]
        said = f"{TARGET} changed the chip from {target.chip.name} to {name}."
        target = replace(
            target,
            chip=chip,
            tiles_per_ipu=chip.tiles
            if target.tiles_per_ipu == target.chip.tiles
            else min(target.tiles_per_ipu, chip.tiles),
            bytes_per_tile=chip.bytes_per_tile,
            clock_hz=chip.clock_hz,
            interleaved_element=chip.region_split // chip.memory_element_bytes,
            overrides=(*target.overrides, said),
        )
    text = environment.get(TILES, "")
    if text:
        if not text.isdigit() or not 1 <= int(text) <= target.chip.tiles:
            raise invalid_machine_model(f"{TILES}='{text}' is not a number of tiles from 1 to {target.chip.tiles}.")
        said = f"{TILES} changed the tiles per IPU from {target.tiles_per_ipu} to {text}."
        target = replace(target, tiles_per_ipu=int(text), overrides=(*target.overrides, said))
    return target
