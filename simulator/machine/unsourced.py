"""The constants that no public source gives: fitted to published figures, or guesses.

One list, so that none is forgotten: `tests/machine/test_unsourced.py` demands that every numeric constant of
`simulator.machine` is either listed here or says in its comment or module text which publication it comes from, and
that every constant anywhere in the simulator whose comment says fitted or guess is listed. What is computed from other
constants, or from a stated sequence of instructions (`simulator.machine.code_bytes`), cannot be tuned and is not
listed. `python -m benchmarks.sensitivity` shows how much five programs depend on each (docs/measured/sensitivity.md).
"""

from __future__ import annotations

from typing import Literal, NamedTuple


class Unsourced(NamedTuple):
    """A module-level constant, the default of a class's field ("Chip.x"), an argument of a record ("MODEL.mid") or an
    entry of a table ("SLOTS[trip]")."""

    module: str  #: below simulator
    name: str
    kind: Literal["fitted", "guess"]
    why: str  #: what it was fitted to, or why it is a guess


def _of(module: str, kind: Literal["fitted", "guess"], why: str, *names: str) -> list[Unsourced]:
    """Constants of one module; "machine." is left out, a "/" begins the name of another room."""
    path = module.removeprefix("/") if module.startswith("/") else f"machine.{module}"
    return [Unsourced(path, name, kind, why) for name in names]


UNSOURCED: list[Unsourced] = [
    *_of("exchange", "fitted", "70 cycles of the three-tile exchange, less pipeline and words", "START_CYCLES"),
    *_of("exchange", "guess", "way along a column, per island of four tiles", "CYCLES_PER_ISLAND"),
    *_of("exchange", "fitted", "140 bytes of code of the three-tile exchange", "CODE_PER_TILE"),
    *_of("sync", "guess", "only the newest single-chip target's figure is published", "GLOBAL_SYNC_CYCLES"),
    *_of("targets", "fitted", "published internal syncs take 100 to 133 cycles", "Chip.min_ipu_sync_delay"),
    *_of(
        "host_exchange",
        "fitted",
        "114 and 128 cycles of a control copy; medians of a Mk2 trace on hardware",
        "MODEL_BEGIN",
        "MODEL_MID",
        "MODEL_END",
        "HARDWARE.begin_data",
        "HARDWARE.mid",
        "HARDWARE.end_data",
    ),
    *_of("external_exchange", "guess", "which side of the chip an edge is", "EAST_SIDE"),
    *_of(
        "host_exchange",
        "guess",
        "what a packet costs beyond those of data in order",
        "FURTHER_PACKET_BYTES",
        "FURTHER_PACKET_CYCLES",
    ),
    *_of("host_exchange", "guess", "only that rows of remote buffers are padded is public", "REMOTE_ROW_ALIGNMENT"),
    *_of("host_exchange", "fitted", "8.3 to 8.6 B a tile of headers", "HEADER_PER_TILE", "HEADER_PER_PACKET"),
    *_of(
        "host_exchange",
        "fitted",
        "290 B a tile for a program with two inputs and one output",
        "CODE_PER_TILE",
        "CODE_PER_STREAM",
    ),
    *_of("local_copy", "fitted", "published copies by vertex type", "CYCLES_PER_RUN"),
    *_of("cycles.convolution", "fitted", "hardware less estimate of AMP 1x1, 36 to 39", "LAUNCH"),
    *_of("footprint", "fitted", "700 bytes of control code a tile for four compute sets", "CONTROL_CODE_ROOT"),
    *_of("footprint", "guess", "code of a vertex type that nothing tells", "VERTEX_CODE_GUESS"),
    *_of("footprint", "fitted", "how 3,168 bytes of stack divide", "WORKER_STACK"),
    *_of("footprint", "guess", "a word", "BRANCH_RECORD_BYTES"),
    *_of("footprint", "fitted", "descriptors of copies", "COPY_DESCRIPTOR"),
    *_of(
        "/compiler.lowering.landing",
        "fitted",
        "columns of a published halo exchange land, runs of eight words of the matmul chain do not",
        "CYCLES_PER_CODE_BYTE",
    ),
    *_of(
        "/compiler.lowering.arrange_copies",
        "fitted",
        "544 bytes ride along, 768 do not (6.1)",
        "SELF_SENT_BYTES",
    ),
    *_of("/compiler.lowering.arrange_copies", "guess", "how much longer an exchange may get by it", "SELF_SENT_SLACK"),
]
