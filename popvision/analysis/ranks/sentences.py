"""What stands out among ranks, in sentences with their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.ranks.rank_figures import StepsOfRanks

_Rows = list[dict[Any, Any]]

#: Missing ranks that are named.
_NAMED = 10


def sentences(ranks: int, by_rank: pd.DataFrame, by_run: pd.DataFrame, steps: StepsOfRanks) -> list[str]:
    """Missing ranks, the slowest one, the run that begins furthest apart, the fullest rank, what was not compared."""
    rows: _Rows = by_rank.to_dict("records")
    found = [*_missing(ranks, rows), *_time(rows, steps), *_skew(by_run.to_dict("records")), *_memory(rows)]
    machines = dict.fromkeys(str(row["machine"]) for row in rows)
    if len(machines) > 1:
        found.append(f"The ranks ran on different machines: {'; '.join(machines)}.")
    found += [f"Rank {row['rank']}: {row['problem']}" for row in rows if row["problem"]]
    found += [f"Rank {rank} recorded no run, so its steps are not compared." for rank in steps.silent]
    for rank, count in steps.apart.items():
        what = "program" if count == 1 else "programs"
        found.append(f"Rank {rank} ran {count:,} {what} that the lowest rank does not have; they are not compared.")
    return found


def _missing(ranks: int, rows: _Rows) -> list[str]:
    missing = sorted(set(range(ranks)) - {row["rank"] for row in rows})
    if not missing:
        return []
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    return [f"Of {ranks} ranks {len(rows)} have a report here; missing: {', '.join(map(str, missing[:_NAMED]))}{more}."]


def _time(rows: _Rows, steps: StepsOfRanks) -> list[str]:
    known = [row for row in rows if _is_known(row["cycles"])]
    if len(known) < 2:
        return []
    slow, fast = max(known, key=lambda row: row["cycles"]), min(known, key=lambda row: row["cycles"])
    differing = [row for row in steps.frame.head(1).to_dict("records") if row["span"] > 0]
    if slow["cycles"] == fast["cycles"]:
        text = f"All ranks take {int(slow['cycles']):,} device cycles."
    else:
        text = (
            f"Rank {slow['rank']} is slowest: {int(slow['cycles']):,} device cycles, {100 * slow['of_median']:.1f} % "
            f"above the median of the ranks; rank {fast['rank']} takes {int(fast['cycles']):,}."
        )
    for row in differing:
        text += (
            f" The step that differs most is {row['name'] or row['type']} (program {row['program']}): {row['least']:,} "
            f"to {row['most']:,} cycles, most on rank {row['slowest']}."
        )
    return [text]


def _skew(runs: _Rows) -> list[str]:
    together = [row for row in runs if row["ranks"] > 1]
    if not together:
        return []
    row = max(together, key=lambda row: row["begin_us"])
    return [
        f"Run {row['run']} begins {row['begin_us'] / 1000:,.1f} ms of host time earlier on rank {row['first']} than on "
        f"rank {row['last']}; no run begins further apart."
    ]


def _memory(rows: _Rows) -> list[str]:
    over = [str(row["rank"]) for row in rows if _is_known(row["tiles_over"]) and row["tiles_over"] > 0]
    if over:
        return [f"On rank{'s' if len(over) > 1 else ''} {', '.join(over)} the program does not fit."]
    known = [row for row in rows if _is_known(row["fullest_used"])]
    if len(known) < 2:
        return []
    full, least = (end(known, key=lambda row: row["fullest_used"]) for end in (max, min))
    if full["fullest_used"] == least["fullest_used"]:
        return [f"On every rank the fullest tile uses {int(full['fullest_used']):,} B, gaps excluded."]
    return [
        f"The fullest tile of rank {full['rank']} uses {int(full['fullest_used']):,} B, gaps excluded; that of rank "
        f"{least['rank']} {int(least['fullest_used']):,} B."
    ]


def _is_known(value: float | None) -> bool:
    return value is not None and value == value
