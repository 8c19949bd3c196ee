"""The tables of docs/measured/validation.md."""

from __future__ import annotations

from collections import Counter

from benchmarks.validation.row import Group, Row

_HEAD = ("| quantity | published | ours | deviation | bound | source | verdict |", "|---|---:|---:|---:|---|---|---|")


def section(group: Group) -> list[str]:
    """One table in Markdown, followed by the explanations of its misses."""
    lines = [f"### {group.title}", ""]
    if group.about:
        lines += [group.about, ""]
    lines += _HEAD
    notes: list[str] = []
    for row in group.rows:
        mark = ""
        if row.verdict == "missed" and row.explained is not None:
            if row.explained.text not in notes:
                notes.append(row.explained.text)
            mark = f" ({notes.index(row.explained.text) + 1})"
        cells = (
            row.quantity,
            _figure(row.published, row.unit),
            _figure(row.ours, row.unit),
            _deviation(row),
            row.bound.text,
            row.source,
            row.verdict + mark,
        )
        lines.append(f"| {' | '.join(cells)} |")
    lines.append("")
    return lines + [f"{i}. {note}" for i, note in enumerate(notes, start=1)] + ([""] if notes else [])


def verdicts(groups: list[Group]) -> list[str]:
    """The numbers of figures met and missed, by program."""
    lines = [
        "### Verdict",
        "",
        "| program | figures | met or equal | missed, explained | missed, not explained | reported only |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    total: Counter[str] = Counter()
    for group in groups:
        count = Counter(row.verdict for row in group.rows)
        total += count
        lines.append(_count_line(group.title, count))
    return [*lines, _count_line("**all**", total), ""]


def _count_line(title: str, count: Counter[str]) -> str:
    met = count["met"] + count["equal"]
    figures = (count.total(), met, count["missed"], count["missed, not explained"], count["reported"])
    return f"| {title} | {' | '.join(f'{n:,}' for n in figures)} |"


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return "none"
    whole = abs(value - round(value)) < 1e-9
    return f"{value:,.0f} {unit}".strip() if whole else f"{value:,.2f} {unit}".strip()


def _deviation(row: Row) -> str:
    if row.ours is None:
        return ""
    if not row.published:
        return "" if row.ours == row.published else f"{row.ours:+,.0f}"
    if row.unit in ("%",):
        return f"{row.ours - row.published:+.1f} points"
    return f"{100 * (row.ours / row.published - 1):+.1f} %"
