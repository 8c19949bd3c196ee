"""Memory of each tile according to its binary: the sections of archive.a, beside the graph profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tiles import target_of, tiles_of_replica
from popvision.arrays import Int64Array
from popvision.formats.archive import read_archive

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


_NO_ARCHIVE = (
    "This report has no archive.a of its own run: set autoReport.outputArchive=true to keep the tiles' binaries."
)


def has_archive(source: ReportSource) -> bool:
    """Whether archive.a of the same run lies beside the profile; looks at its first bytes only."""
    archive = source.files.get("archive.a")
    return archive is not None and archive.state == "found"


def binary_bytes(source: ReportSource, replica: int | None = 0) -> Int64Array:
    """Bytes of all sections of the image of each tile of a replica; 0 on tiles without an image.

    Raises NotRecordedError without archive.a, FormatError when it is damaged, ValueError for an unknown replica.
    """
    tiles = tiles_of_replica(target_of(source), replica)
    if not has_archive(source):
        raise NotRecordedError(_NO_ARCHIVE)
    all_tiles: Int64Array = source.kept.once("binary_bytes", lambda: _read(source))
    return all_tiles[tiles.start : tiles.stop]


def _read(source: ReportSource) -> Int64Array:
    path = source.files["archive.a"].path
    assert path is not None
    return np.asarray(read_archive(path).tile_bytes(target_of(source).num_tiles), dtype=np.int64)
