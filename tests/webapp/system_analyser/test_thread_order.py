"""The order of threads on the host timeline: the main thread, then by name, numbers by value."""

from __future__ import annotations

from pathlib import Path

from popvision.analysis.trace.source import TraceSource
from popvision.formats.pvti.finalise import finalise
from popvision.formats.pvti.writer import TraceWriter
from webapp.system_analyser.timeline.page import facts


def test_the_main_thread_comes_first(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "a.pvti", {}, clock_offset_ns=0)
    names = ["loader-10", "loader-2", "loader-1", "Dummy", "MainThread", ""]
    with writer.transaction():
        writer.add_process(1, 500, None, "p")
        writer.set_channel(1, "app", True)
        writer.add_string(1, "run")
        writer.add_site(1, 1, 1, None)
        for thread, name in enumerate(names, start=1):
            writer.set_thread(thread, 1, 600 + thread, name)
            writer.add_events(thread, [1 << 2, 1 << 2 | 1], [10, 20])
    writer.close()
    finalise(tmp_path / "a.pvti")
    threads = facts("a", TraceSource(tmp_path / "a.pvti"))["files"][0]["processes"][0]["threads"]
    assert [each["name"] for each in threads] == ["MainThread", "", "Dummy", "loader-1", "loader-2", "loader-10"]
    assert [each["index"] for each in threads] == [4, 5, 3, 2, 1, 0]
