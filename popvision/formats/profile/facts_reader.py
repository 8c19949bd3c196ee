"""Table meta of a profile.pop as values: identity and version of the report, its target, its counts."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from popvision.formats.errors import AbsentError, FormatError, LostError
from popvision.formats.profile.foreign import AbsentColumn, row_count
from popvision.formats.profile.model import Target
from popvision.formats.profile.profile_file import ProfileFile


def generation(file: ProfileFile) -> int:
    """Number of commits after the compilation."""
    value = file.meta.get("generation", 0)
    return value if isinstance(value, int) else 0


def format_version(file: ProfileFile) -> tuple[int, int, int]:
    """(major, minor, point), (0, 0, 0) where the file does not say."""
    try:
        major, minor, point = (int(part) for part in str(file.meta.get("formatVersion", "0.0.0")).split("."))
    except ValueError:
        raise FormatError(f"{file.path}: the format version in table meta is damaged.") from None
    return major, minor, point


def target(file: ProfileFile) -> Target:
    """The target; facts that Target does not know are left out."""
    facts = file.facts().get("target")
    if not isinstance(facts, dict):
        raise AbsentError(f"{file.path} does not say which target the program was compiled for.")
    known = {field.name: facts[field.name] for field in fields(Target) if field.name in facts}
    try:
        for name in ("relative_sync_delay", "physical_tile"):
            known[name] = file.optional_arrays([known.get(name, -1)])[0]
        return Target(**known)
    except (TypeError, ValueError) as error:
        raise FormatError(f"the target in table meta is damaged: {error}.") from None


def shape(file: ProfileFile) -> tuple[int, int]:
    """(number of IPUs, tiles of each), from the target or else from the tables."""
    try:
        machine = target(file)
    except LostError:
        raise
    except AbsentError:
        ipus, tiles = _ipus_of_steps(file), _tiles_listed(file)
        if not tiles or tiles % ipus:
            raise
        return ipus, tiles // ipus
    return machine.num_ipus, machine.tiles_per_ipu


def counts(file: ProfileFile) -> dict[str, int]:
    """Vertices, edges, variables and compute sets of the graph."""
    stored = file.facts().get("counts", {})
    if not stored and (file.tables.salvage or file.foreign):
        raise AbsentError(f"{file.path} does not say how many vertices and variables the graph has.")
    names = ("num_vertices", "num_edges", "num_variables", "num_compute_sets")
    return {name: int(stored.get(name, 0)) for name in names}


def _ipus_of_steps(file: ProfileFile) -> int:
    """Number of IPUs in steps_by_ipu; 1 where its rows do not say."""
    table = file.tables["steps_by_ipu"]
    if isinstance(table["ipu"], AbsentColumn) or not row_count(table):
        return 1
    return int(np.max(np.asarray(table["ipu"]))) + 1


def _tiles_listed(file: ProfileFile) -> int:
    """Number of tiles in memory_by_tile, or where that is empty in vars_info."""
    tile, listed = file.tables["vars_info"]["tile"], row_count(file.tables["memory_by_tile"])
    if listed or isinstance(tile, AbsentColumn) or not len(tile):
        return listed
    return max(0, int(np.max(np.asarray(tile))) + 1)
