"""A target in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from popvision.formats.profile.model import Target

ARCHITECTURE_NAMES = {"ipu1": "Mk1", "ipu2": "Mk2", "ipu21": "Bow"}
TYPE_NAMES = {"Ipu": "IPU", "IpuModel": "IPU Model", "Cpu": "CPU"}


def architecture_name(target: Target) -> str:
    return ARCHITECTURE_NAMES.get(target.architecture.lower(), target.architecture)


def type_name(target: Target) -> str:
    return TYPE_NAMES.get(target.type, target.type)


def describe_target(target: Target) -> str:
    """For example "Mk2 IPU Model, 1 IPU x 1,472 tiles"."""
    plural = "" if target.num_ipus == 1 else "s"
    name = f"{architecture_name(target)} {type_name(target)}"
    return f"{name}, {target.num_ipus} IPU{plural} x {target.tiles_per_ipu:,} tiles"
