"""Host traces made of a few rows, for questions whose answers can be counted by hand or by a slow loop."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hypothesis import strategies as st

from popvision.analysis.trace.source import TraceSource
from popvision.formats.pvti.finalise import finalise
from popvision.formats.pvti.writer import TraceWriter

#: (thread, begin ns, end ns, name): name is "channel/label".
Span = tuple[int, int, int, str]


def make_trace(path: Path, spans: Sequence[Span], instants: Sequence[tuple[int, int, str]] = ()) -> TraceSource:
    """A finalised trace of spans that nest, times from 0 at the epoch."""
    path.unlink(missing_ok=True)
    writer = TraceWriter(path, {}, clock_offset_ns=0)
    names = sorted({span[3] for span in spans} | {each[2] for each in instants})
    channels = sorted({name.split("/")[0] for name in names})
    sites = {name: index for index, name in enumerate(names, start=1)}
    with writer.transaction():
        writer.add_process(1, 1, None, "p")
        for index, channel in enumerate(channels, start=1):
            writer.set_channel(index, channel, True)
        for name, site in sites.items():
            writer.add_string(site, name.split("/")[1])
            writer.add_site(site, 1 + channels.index(name.split("/")[0]), site, None)
        for thread in sorted({span[0] for span in spans} | {each[0] for each in instants}):
            writer.set_thread(thread + 1, 1, 100 + thread, f"thread {thread}")
            journal = _journal(thread, spans, instants, sites)
            writer.add_events(thread + 1, [code for code, _ in journal], [time for _, time in journal])
    writer.close()
    finalise(path)
    return TraceSource(path)


def _journal(
    thread: int, spans: Sequence[Span], instants: Sequence[tuple[int, int, str]], sites: dict[str, int]
) -> list[tuple[int, int]]:
    """(code, time) in an order that nests: at one time ends of inner spans come before ends of outer ones."""
    rows: list[tuple[int, int]] = []

    def walk(index: int, until: int) -> int:
        while index < len(own) and own[index][1] < until:
            _, begin, end, name = own[index]
            rows.append((sites[name] << 2, begin))
            index = walk(index + 1, end)
            rows.append((sites[name] << 2 | 1, end))
        return index

    own = sorted((span for span in spans if span[0] == thread), key=lambda span: (span[1], -span[2]))
    walk(0, 1 << 60)
    rows += [(sites[name] << 2 | 2, time) for at, time, name in instants if at == thread]
    return sorted(rows, key=lambda row: row[1])


@st.composite
def nested_spans(draw: st.DrawFn) -> list[Span]:
    """Spans of up to three threads that nest properly, each at least 1 ns long."""
    spans: list[Span] = []

    def fill(thread: int, begin: int, end: int, depth: int) -> None:
        at = begin
        for _ in range(draw(st.integers(0, 4))):
            low = at + draw(st.integers(0, 3))
            high = low + draw(st.integers(1, 40))
            if high > end:
                return
            spans.append((thread, low, high, draw(st.sampled_from(["a/x", "a/y", "b/x", "b/z"]))))
            if depth < 3:
                fill(thread, low, high, depth + 1)
            at = high

    for thread in range(draw(st.integers(1, 3))):
        fill(thread, 0, 200, 0)
    return spans or [(0, 0, 1, "a/x")]


#: (thread, step in ns since the row before, kind: 0 begin, 1 end, 2 instant, label)
JournalRow = tuple[int, int, int, str]


def journal_rows() -> st.SearchStrategy[list[JournalRow]]:
    """Begins and ends in any order, so that events overlap without nesting, are never ended or never begun."""
    row = st.tuples(st.integers(0, 1), st.integers(0, 3), st.sampled_from([0, 0, 1, 1, 2]), st.sampled_from("xyz"))
    return st.lists(row, max_size=40)


def journal_trace(path: Path, rows: Sequence[JournalRow]) -> TraceSource:
    """A finalised trace of these rows on one channel; label x carries metadata."""
    path.unlink(missing_ok=True)
    writer = TraceWriter(path, {}, clock_offset_ns=0)
    with writer.transaction():
        writer.add_process(1, 7, None, "p")
        writer.set_channel(1, "work", True)
        for site, label in enumerate("xyz", start=1):
            writer.add_string(site, label)
            writer.add_string(10 + site, '{"batch": 3}')
            writer.add_site(site, 1, site, 11 if label == "x" else None)
        for thread in sorted({row[0] for row in rows}):
            writer.set_thread(thread + 1, 1, 100 + thread, "")
            time, codes, times = 5, [], []
            for _, step, kind, label in (row for row in rows if row[0] == thread):
                time += step
                codes.append(("xyz".index(label) + 1) << 2 | kind)
                times.append(time)
            writer.add_events(thread + 1, codes, times)
    writer.close()
    finalise(path)
    return TraceSource(path)
