"""Why bounds are missed: by quantity, the evidence, and between which figures of ours the explanation holds."""

from __future__ import annotations

from benchmarks.validation.row import Explanation

_COPY8 = (
    "Ours is the exchange alone: launch 60, wait for the last tile of the sync, words of the busiest tile and their "
    "way (`popvision explain` of the program). What takes the published 62 cycles more is not known; the same rules "
    "meet the other three copies of the chain. A schedule in which each run starts as early as its two tiles are free "
    "would need 428 words here in place of 320, but 472 in place of 328 in copy9 and 1,920 in place of 1,024 in m5's "
    "Reduce0, which the published spans exclude; nor are the runs short (27 words on average)."
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
    "tile of each step. By the busiest tile of the whole run it is the published parallel efficiency to 0.1 points, "
    "whose formula is not stated either, so the work of the tiles is shared out as published."
)
_COPY_VERTICES = (
    "The published 16,877 vertices are ours (9,694) and 7,183 more; of the published state 117 kB are left for these, "
    "16 B each; edges agree within 2 %. So they are copy vertices, five on each of 1,400 tiles, where ours has 3,237 "
    "runs of 12 B; 3.1 kB of descriptors say that nearly all copy one run. Which rule makes five of them is open "
    "(docs/memory.md)."
)
_UNDEF = (
    "The published tree has a WriteUndef between the two copies of m5's operands. Ours writes both buffers' before the "
    "first of them, as the published tree does for m4, and as PopLibs' public sources do for every product. The level "
    "is the same."
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
    "index 24, WriteUndef": Explanation(_UNDEF, (4, 7)),
}
