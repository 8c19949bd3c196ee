"""A report with faults that a profiler has to find, and versions of it that differ in exactly one thing.

tile 5      holds a lookup table of 120,000 B that nobody else has: the worst tile
program 7   "layer1/scores/Compute": its longest tile, 3, takes ten times as long as the others: the slowest program
"""

from __future__ import annotations

from tests.plain_report import PlainProgram, PlainReport, PlainVariable

TILES = 8
WORST_TILE, LOOKUP = 5, "embedding/lookup_table"
SLOW_TILE, SLOW_PROGRAM, SLOW_NAME = 3, 7, "layer1/scores/Compute"

_ALL = range(TILES)


def _layer(number: int, compute: int | list[int], line: int) -> list[PlainProgram]:
    name = f"layer{number}/{'scores' if number else 'qkv'}"
    around = [(tile, (tile + 1) % TILES, 256) for tile in _ALL]
    return [
        PlainProgram("DoExchange", f"{name}/ExchangePre", 64, around, line=line),
        PlainProgram("OnTileExecute", f"{name}/Compute", compute, line=line),
        PlainProgram("Sync", "Internal"),
    ]


def planted(label: str = "planted") -> PlainReport:
    """The report drawn above: two layers of exchange, compute and sync on eight tiles."""
    slow = [4_000 if tile == SLOW_TILE else 400 for tile in _ALL]
    programs = [
        PlainProgram("Sync", "Internal"),
        *_layer(0, 500, 11),
        PlainProgram("OnTileExecute", "cast", 60, line=14),
    ]
    programs += [*_layer(1, slow, 21), PlainProgram("OnTileExecute", "loss/Compute", 120, line=31)]
    assert programs[SLOW_PROGRAM - 1].name == SLOW_NAME
    everywhere = dict.fromkeys(_ALL, 4_096)
    variables = [
        PlainVariable("layer0/weights", everywhere),
        PlainVariable("layer1/weights", everywhere),
        PlainVariable(LOOKUP, {WORST_TILE: 120_000}),
        PlainVariable("layer0/activations", dict.fromkeys(_ALL, 2_048), live=(1, 4)),
        PlainVariable("layer1/activations", dict.fromkeys(_ALL, 3_072), live=(4, 8)),
        PlainVariable("vertexCode", dict.fromkeys(_ALL, 1_024), category="vertexCode"),
    ]
    return PlainReport(programs, variables, tiles=TILES, label=label)
