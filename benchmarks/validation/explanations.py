"""Why bounds are missed: by quantity, the evidence, and between which figures of ours the explanation holds."""

from __future__ import annotations

from benchmarks.validation.row import Explanation

_COPY8 = (
    "Ours is the exchange alone: launch 60, wait for the last tile of the sync, words of the busiest tile and their "
    "way (`popvision explain` of the program). What takes the published 62 cycles more is not known; the same rules "
    "meet the other three copies of the chain (`simulator/compiler/arrange_copies.py`)."
)
_SYNC_LONG = (
    "No sync of ours lasts longer than 126 cycles, the published largest delay (3). In ours the tile that comes last, "
    "after the broadcast, is near the controller. The place of the controller that fits nine or ten of the eleven "
    "syncs does not fit this one (`simulator/machine/sync.py`)."
)
_SYNC_SHORT = (
    "Read as 88, below the shortest published sync of 100 (3) by more than the reading error. Ours cannot be shorter "
    "than 100."
)
_SYNC_LAST = (
    "Which tile comes last decides between 100 and 126 cycles; ours is another tile than the published one. Which "
    "tiles are near the controller is not public (`simulator/machine/sync.py`)."
)
_BALANCE = (
    "The formula of the published figure is not stated. Ours: over compute steps, mean over all tiles by the longest "
    "tile. The published program has 16,877 vertices; 7,183 of them have no counterpart of ours (docs/planner.md)."
)
_COPY_VERTICES = (
    "The published 16,877 vertices are ours (9,694) and 7,183 more, about five or six on each of 1,400 tiles: copy "
    "vertices of the tiles that gather operands would account for both counts (docs/memory.md, docs/planner.md), but "
    "published halo exchanges have one vertex for each run of a copy, as ours, so no rule gives them."
)
_SUMS = (
    "While partial sums are added, the published curve falls to what the sums and at most a tile's own row take. Ours "
    "keeps a variable as long as any part of it is read where it lies; ranges for parts of variables would close this "
    "(docs/memory.md)."
)
_UNDEF = (
    "The published tree has a WriteUndef between the two copies of m5's operands; ours writes both buffers' before the "
    "first of them. The level is the same."
)

EXPLAINED: dict[str, Explanation] = {
    "copy8 to m5 preRegroup": Explanation(_COPY8, (430, 455)),
    "sync 4": Explanation(_SYNC_LONG, (100, 126)),
    "sync 8": Explanation(_SYNC_SHORT, (100, 126)),
    "sync 10": Explanation(_SYNC_LAST, (100, 126)),
    "tile balance": Explanation(_BALANCE, (84, 88)),
    "vertexInstanceState": Explanation(_COPY_VERTICES, (190_000, 250_000)),
    "vertexFieldData": Explanation(_COPY_VERTICES, (250_000, 265_000)),
    "copyDescriptor": Explanation(_COPY_VERTICES, (1_500, 2_800)),
    "index 20, OnTileExecute: m4/Conv_1/Reduce0": Explanation(_SUMS, (19, 21)),
    "index 30, OnTileExecute: m5/Conv_1/Reduce0": Explanation(_SUMS, (13.5, 15)),
    "index 24, WriteUndef": Explanation(_UNDEF, (4, 7)),
}
