"""The published figures of the matmul chain, with where they were read and why ours may differ.

All come from the screenshots and text of Graphcore's profiling tutorial (published-numbers 6.1), Poplar 2.0.0 on the
Mk2 IPU Model. Spans were measured in pixels of a chart of 34,655 cycles: 8 cycles of reading error.
"""

from __future__ import annotations

from typing import NamedTuple

KB = 1024


class Published(NamedTuple):
    key: str  #: the name of our figure
    title: str
    value: float
    unit: str
    source: str
    tolerance: float = 0.0  #: reading error of the published figure
    note: str = ""


_COPY = (
    "Exchange, and copies of what is already on the right tile. How PopLibs places the blocks is not public, so nor is "
    "which tile receives most or keeps some of its own; ours spreads them evenly over all tiles."
)
_PADDING = (
    "m2 is padded from 500 to 504 rows. The tiles write the padding themselves, a word in six cycles: fitted to this "
    "span, see simulator/machine/local_copy.py."
)
_CONV = (
    "Exchange of the operands, gathering and the AMP vertex. The vertex follows the published formula; the exchange "
    "takes 4 bytes a cycle, 8 for what both tiles of a bus receive, 60 cycles to start and the way of the nearest word."
)
_REDUCE = (
    "Exchange of partial sums and their addition. How PopLibs cuts the outputs of a tile among workers is not public; "
    "we keep the channels of a position together, which fits both products best."
)
TOTALS = [
    Published(
        "total cycles",
        "total",
        34655,
        "cycles",
        "summary page",
        0,
        "The sum of the spans below; the largest part of the difference is the copy of padding before m4.",
    ),
]
SPANS = [
    Published(
        "host exchange",
        "host exchange",
        242,
        "cycles",
        "chart",
        16,
        "Control words only; the model's constants of the host link are not public.",
    ),
    Published(
        "switchControlBroadcast", "switch control broadcast", 123, "cycles", "chart", 8, "One word to all tiles."
    ),
    Published("m4 regroup copy", "m4 copy to preRegroup", 1123, "cycles", "chart", 8, _PADDING),
    Published("m4 Transpose", "m4 Transpose_#0", 590, "cycles", "chart", 8, "PopLibs' formula, block sizes fitted."),
    Published("m4 rearrange copy", "m4 copy to actsRearranged", 314, "cycles", "chart", 8, _COPY),
    Published("m4 Convolve", "m4 Convolve with its exchange", 15248, "cycles", "chart", 8, _CONV),
    Published("m4 Reduce0", "m4 Reduce0 with its exchange", 3471, "cycles", "chart", 8, _REDUCE),
    Published("m5 regroup copy", "m5 copy to preRegroup", 506, "cycles", "chart", 8, _COPY),
    Published("m5 Transpose", "m5 Transpose_#0", 876, "cycles", "chart", 8, "PopLibs' formula, block sizes fitted."),
    Published("m5 rearrange copy", "m5 copy to both operands", 609, "cycles", "chart", 8, _COPY),
    Published("m5 Convolve", "m5 Convolve with its exchange", 7906, "cycles", "chart", 8, _CONV),
    Published("m5 Reduce0", "m5 Reduce0 with its exchange", 2392, "cycles", "chart", 8, _REDUCE),
    Published("longest sync", "longest sync", 133, "cycles", "chart", 8, "Delay table fitted to 100-133 cycles."),
    Published(
        "tile balance of compute",
        "tile balance",
        81,
        "%",
        "summary page",
        0.5,
        "Ours: sum over compute steps of the mean over tiles, by the sum of the maxima. The published formula is not "
        "stated.",
    ),
]
COUNTS = [
    Published(
        "compute sets",
        "compute sets",
        9,
        "",
        "summary page",
        0,
        "Ours has copy steps that the published program did not need: local pieces of a few tiles.",
    ),
    Published("vertices", "vertices", 16877, "", "summary page", 0, _REDUCE),
    Published(
        "edges",
        "edges",
        77137,
        "",
        "summary page",
        0,
        "Follows the number of reduction vertices, two edges each.",
    ),
    Published(
        "lowered variables",
        "variables",
        73841,
        "",
        "summary page",
        0,
        "What Poplar counted as a variable is not stated; ours are the allocations of all tiles.",
    ),
    Published(
        "memory including gaps",
        "memory including gaps",
        307309104,
        "B",
        "summary page",
        0,
        "Gaps end at the highest address of each tile: interleaved memory begins at 208 KiB.",
    ),
    Published(
        "memory excluding gaps",
        "memory excluding gaps",
        59894241,
        "B",
        "summary page",
        0,
        "Buffers that gather weights lie partly beside the received ones; Poplar reuses more.",
    ),
    Published("non-interleaved memory", "non-interleaved", 50934241, "B", "summary page", 0, "As above."),
    Published("interleaved memory", "interleaved", 8960000, "B", "summary page", 0, "Partial sums of m4."),
]


def _live(name: str, size: float, tolerance: float, note: str = "") -> Published:
    return Published(f"always live {name}", name, size, "B", "liveness page", tolerance, note)


#: sizes are printed with three digits: half of the last is the reading error
ALWAYS_LIVE = [
    _live("m1", 1_600_000, 0),
    _live("m2", 800_000, 0),
    _live("m3", 320_000, 0),
    _live("vertexInstanceState", 271 * KB, 512, "Ours has more reduction vertices, see vertices."),
    _live("vertexFieldData", 222 * KB, 512, "4 bytes per inner vector; what else Poplar keeps there is not public."),
    _live("instrumentationResults", 66.0 * KB, 51, "4 bytes per tile and compute set, 12 per tile."),
    _live("m4/Conv_1/worklists", 49.2 * KB, 51),
    _live("m5/Conv_1/worklists", 47.5 * KB, 51),
    _live("hostExchangePacketHeader", 12.1 * KB, 51, "Published per tile figures differ between programs."),
    _live("copyDescriptor", 3.1 * KB, 51, "Depends on the runs of local copies."),
    _live("controlId", 8, 0),
]


def _at(key: str, title: str, mib: float, note: str = "") -> Published:
    return Published(f"live at {key}", title, mib, "MiB", "plot, ± 0.5", 0.5, note)


LIVENESS = [
    Published("peak live", "peak (m4 Convolve)", 57.1, "MiB", "memory page", 0.5),
    _at("m4/Conv_1/Transpose_#0", "m4 Transpose_#0", 4.5),
    _at("m4/Conv_1/Convolve/ExchangePre", "exchange before m4 Convolve", 48.5),
    _at("m4/Conv_1/Convolve/PreArrange-0", "gathering before m4 Convolve", 48.0),
    _at("m4/Conv_1/Reduce0/ExchangePre", "exchange before m4 Reduce0", 20.0),
    _at("m4/Conv_1/Reduce0", "m4 Reduce0", 14.0),
    _at("m5/Conv_1/Convolve/ExchangePre", "exchange before m5 Convolve", 22.5),
    _at("m5/Conv_1/Convolve", "m5 Convolve", 28.0),
    _at("m5/Conv_1/Reduce0/ExchangePre", "exchange before m5 Reduce0", 14.0),
    _at("m5/Conv_1/Reduce0", "m5 Reduce0", 10.0),
]
