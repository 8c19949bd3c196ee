"""POPVISION_TARGET, POPVISION_TILES and POPVISION_IPU_MODEL: run a program as if it had requested another machine.

What they change is kept in `Target.overrides`, so that every report can say that it answers a what-if question.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from simulator.base.errors import invalid_machine_model
from simulator.base.target import Target
from simulator.machine.targets import CHIPS

TARGET = "POPVISION_TARGET"
TILES = "POPVISION_TILES"
MODEL = "POPVISION_IPU_MODEL"


class Constant(NamedTuple):
    """A field of the IPU Model: the field of `Target` that it sets, how its text is read, and what is allowed."""

    field: str
    read: Callable[[str], Any]  #: raises ValueError
    allowed: str


def _whole(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        value = float(text)
        if value != int(value) or value < least:
            raise ValueError(text)
        return int(value)

    return read


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise ValueError(text)
    return value


def _choice(**values: bool) -> Callable[[str], bool]:
    def read(text: str) -> bool:
        if text not in values:
            raise ValueError(text)
        return values[text]

    return read


_CYCLES = "a whole number of cycles from 0"
#: the fields of IPUModel that change what the simulator says. POPVISION_TARGET sets IPUVersion; worker contexts are
#: not among them, since the published formulas are those of six workers.
CONSTANTS: dict[str, Constant] = {
    "numIPUs": Constant("num_ipus", _whole(1), "a whole number from 1"),
    "tilesPerIPU": Constant("tiles_per_ipu", _whole(1), "a whole number from 1 to the tiles of the chip"),
    "memoryBytesPerTile": Constant("bytes_per_tile", _whole(1), "a whole number of bytes from 1"),
    "tileClockFrequency": Constant("clock_hz", _positive, "a positive number of hertz"),
    "exchangeBytesPerCycle": Constant("exchange_bytes_per_cycle", _positive, "a positive number of bytes"),
    "memcpyBytesPerCycle": Constant("memcpy_bytes_per_cycle", _whole(1), "a whole number of bytes from 1"),
    "interleavedMemoryElementIndex": Constant("interleaved_element", _whole(0), "a whole number from 0"),
    "minIPUSyncDelay": Constant("min_sync_delay", _whole(0), _CYCLES),
    "globalSyncCycles": Constant("global_sync_cycles", _whole(0), _CYCLES),
    "relativeSyncDelay": Constant("no_relative_sync_delay", _choice(AUTO=False, NO_DELAY=True), "AUTO or NO_DELAY"),
    "compileIPUCode": Constant("compile_ipu_code", _choice(true=True, false=False), "true or false"),
}


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
    return _with_constants(target, environment.get(MODEL, ""))


def _with_constants(target: Target, text: str) -> Target:
    """`target` with the constants of "name=value,name=value" in place of its own."""
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, value = (word.strip() for word in part.partition("="))
        if name not in CONSTANTS:
            raise invalid_machine_model(
                f"{MODEL} names '{name}', which is not a constant that can be set; those are {', '.join(CONSTANTS)}."
            )
        constant = CONSTANTS[name]
        try:
            new = constant.read(value)
            if not equals or (name == "tilesPerIPU" and new > target.chip.tiles):
                raise ValueError(value)
        except (ValueError, OverflowError):
            raise invalid_machine_model(f"{MODEL}: {name}='{value}' is not {constant.allowed}.") from None
        old = getattr(target, constant.field)
        if new != old:
            said = f"{MODEL} changed {name} from {_shown(name, old)} to {value}."
            target = replace(target, **{constant.field: new}, overrides=(*target.overrides, said))
    return target


def _shown(name: str, value: Any) -> str:
    """The value as one would write it."""
    if name == "relativeSyncDelay":
        return "NO_DELAY" if value else "AUTO"
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
