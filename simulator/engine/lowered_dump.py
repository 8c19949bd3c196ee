"""debug.loweredVarDumpFile: every allocation of every tile as CSV.

The option is known from published programs, what its file looks like is not: the columns are ours."""

from __future__ import annotations

import csv
from pathlib import Path

from popvision.formats.profile.model import CATEGORIES, Compilation
from simulator.base.errors import poplar_error

HEADER = ("tile", "address", "bytes", "category", "name", "always_live")


def dump_lowered_variables(path: Path, compilation: Compilation) -> None:
    """Write the file; its folder is made when missing. Raises poplar_error where that is not possible."""
    names = compilation.lowered_names
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(HEADER)
            for tile in compilation.lowered:
                columns = (tile.address, tile.bytes, tile.category, tile.name, tile.eq_class)
                for address, size, category, name, live in zip(*(c.tolist() for c in columns), strict=True):
                    rows.writerow((tile.tile, address, size, CATEGORIES[category], names[name], int(live < 0)))
    except OSError as error:
        raise poplar_error(
            f"The lowered variables cannot be written to {path} ({error.strerror or error}); give "
            "debug.loweredVarDumpFile another path."
        ) from None
