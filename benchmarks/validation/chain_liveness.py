"""The 42 liveness indices of the published matmul chain beside ours.

Heights were read from a plot (+- 0.5 MiB; published-numbers 6.1), the programs from the published tree. Our report ends
with the program of the chain; eleven further indices of the published curve have no counterpart and count as missed.
"""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.validation import row
from popvision.analysis.liveness.curve import curve
from popvision.analysis.report.source import ReportSource

AFTER = row.Explanation(
    "The published curve goes on at the always-live level for eleven indices after the chain; which programs stand "
    "there is not public, and ours has none to compare. Programs that bring the counters back to the host would be "
    "such (all 1,472 tiles have host packet headers, though no tensor is streamed), but nothing says how many.",
    (0, 0),
)


class Published(NamedTuple):
    program: str  #: type of the program, "" = not known
    low: float  #: MiB
    high: float


def _rows(count: int, program: str, low: float, high: float | None = None) -> list[Published]:
    return [Published(program, low, low if high is None else high)] * count


MIB = 2**20

INDICES = [
    *_rows(1, "Sequence", 3.2),
    *[row for _ in range(2) for kind in ("Begin", "Mid", "End") for row in _rows(1, f"StreamCopy{kind}", 3.2)],
    *_rows(1, "DoExchange", 3.2),
    *_rows(1, "OnEveryTileSwitch", 3.2),
    *_rows(1, "Sequence", 3.2),
    *_rows(2, "WriteUndef", 3.2),
    *_rows(1, "DoExchange", 4, 5),
    *_rows(2, "OnTileExecute", 4, 5),
    *_rows(1, "DoExchange", 4, 5),
    *_rows(1, "DoExchange", 48.5),
    *_rows(1, "OnTileExecute", 48),
    *_rows(1, "OnTileExecute", 56.5, 57.1),
    *_rows(1, "DoExchange", 20),
    *_rows(1, "OnTileExecute", 14),
    *_rows(1, "WriteUndef", 4.5, 6),
    *_rows(1, "DoExchange", 4.5, 6),
    *_rows(1, "OnTileExecute", 4.5, 6),
    *_rows(1, "WriteUndef", 4.5, 6),
    *_rows(1, "DoExchange", 4.5, 6),
    *_rows(1, "OnTileExecute", 4.5, 6),
    *_rows(1, "DoExchange", 22.5),
    *_rows(1, "OnTileExecute", 28),
    *_rows(1, "DoExchange", 14),
    *_rows(1, "OnTileExecute", 10),
    *_rows(11, "", 3.2),
]


class Ours(NamedTuple):
    program: str
    name: str
    mib: float


def measured(source: ReportSource) -> list[Ours]:
    """Live bytes at each index of our report, including always-live bytes."""
    drawn, programs = curve(source), source.reader.programs()
    return [
        Ours(str(programs.type[int(p)]), str(programs.name[int(p)]), (float(size) + drawn.always_live) / MIB)
        for p, size in zip(drawn.program, drawn.not_always_live, strict=True)
    ]


def within(published: Published, mib: float) -> bool:
    """Within 15 % or half a MiB of the published height."""
    return min(published.low * 0.85, published.low - 0.5) <= mib <= max(published.high * 1.15, published.high + 0.5)


def paired(ours: list[Ours]) -> list[tuple[Published, Ours | None]]:
    """Published indices with ours, in the order of both, leaving out as few of either as possible. Only programs of one
    type are paired, preferably of similar height."""
    n, m = len(INDICES), len(ours)
    cost = [[0.0] * (m + 1) for _ in range(n + 1)]  # cost of the rest from published i and ours j on
    for i in range(n, -1, -1):
        for j in range(m, -1, -1):
            if i == n or j == m:
                cost[i][j] = float(n - i + m - j)
            else:
                cost[i][j] = min(
                    _pair(INDICES[i], ours[j]) + cost[i + 1][j + 1], 1 + cost[i + 1][j], 1 + cost[i][j + 1]
                )
    pairs: list[tuple[Published, Ours | None]] = []
    i = j = 0
    while i < n:
        if j < m and cost[i][j] == _pair(INDICES[i], ours[j]) + cost[i + 1][j + 1]:
            pairs.append((INDICES[i], ours[j]))
            i, j = i + 1, j + 1
        elif j < m and cost[i][j] == 1 + cost[i][j + 1]:
            j += 1
        else:
            pairs.append((INDICES[i], None))
            i += 1
    return pairs


def _pair(published: Published, ours: Ours) -> float:
    if published.program != ours.program:
        return 9.0
    return 0.0 if within(published, ours.mib) else 0.5


def groups(source: ReportSource) -> list[row.Group]:
    """One row for each published index, and the peak. Where the published height is a range, its nearer end counts."""
    ours = measured(source)
    bound, plot = row.within(15, 0.5, "MiB"), "6.1, plot"
    rows = [row.Row("peak", 57.1, max(each.mib for each in ours), "MiB", "6.1, memory page", bound)]
    for index, (published, mine) in enumerate(paired(ours)):
        value = None if mine is None else mine.mib
        read = published.low if value is None else min(max(value, published.low), published.high)
        title = f"index {index}, {published.program or 'after the program'}"
        title = f"{title}: {mine.name}" if mine and mine.name else title
        rows.append(row.Row(title, read, value, "MiB", plot, bound, None if published.program else AFTER))
    about = (__doc__ or "").split("\n\n", 1)[1].strip()
    return [row.Group("Matmul chain: liveness, index by index", about, rows)]
