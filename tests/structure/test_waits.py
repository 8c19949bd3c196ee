"""How tests wait: for a condition, with a limit (`tests/waiting.py`, `tests/browser/frame.py`).

A sleep lasts as long as an idle machine needs: too long there, and too short on a loaded one. So does a claim about
wall time.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]

#: Sleeps of Python and of pages, in tests and in the programs that they run; `sleep(0)` gives way without one.
SLEEP = re.compile(r"\.sleep\((?!0\))|wait_for_timeout\(|setTimeout\(")
WALL_TIME = re.compile(r"assert .*(monotonic|perf_counter|perf_counter_ns|time\.time)\(\) - ")

#: File -> how many sleeps, and why the passing of time is what the test needs.
DELIBERATE = {
    "waiting.py": (1, "between two looks at a condition"),
    "browser/execution_pages.py": (1, "a trace rests 350 ms of the page's own clock after its last movement"),
    "browser/test_timeline_page.py": (1, "the page writes a window into its address after 250 ms of its own clock"),
    "browser/system_analyser/test_late_answers.py": (1, "the same pause must end after the page was left"),
    "engine/test_killed_runs.py": (1, "the moment of a kill is drawn"),
    "engine/test_one_run_at_a_time.py": (1, "a run lasts long enough for other threads to try"),
    "engine/test_trace_of_runs.py": (1, "the pause is a window of the series"),
    "formats/test_profile_journal.py": (1, "the moment of a kill is drawn"),
    "kills/kill_runs.py": (1, "the moment of a kill is drawn"),
    "integration/test_host_over_device.py": (1, "how late the host is gets measured"),
    "poplar/options/test_building.py": (1, "an estimate lasts long enough for each thread to get one"),
    "pvti/test_process_series.py": (1, "idle time is what the series shows"),
    "pvti/test_termination.py": (1, "nothing happens meanwhile"),
    "pvti/test_tracer.py": (1, "the moment of a kill is drawn"),
    "runtime/test_replicas.py": (1, "how slow the host is gets measured"),
    "structure/test_processor_time.py": (1, "a test that waits costs no processor time"),
    "sweep/sweep_kills.py": (1, "the moment of a kill is drawn"),
}


def found(pattern: re.Pattern[str]) -> Counter[str]:
    """How often a pattern stands in each file of tests, this one left out."""
    counted: Counter[str] = Counter()
    for path in TESTS.rglob("*.py"):
        if path != Path(__file__):
            name = path.relative_to(TESTS).as_posix()
            counted[name] += len(pattern.findall(path.read_text(encoding="utf-8")))
    return +counted


def test_no_test_sleeps_where_it_could_wait_for_a_condition() -> None:
    assert found(SLEEP) == Counter({name: count for name, (count, _) in DELIBERATE.items()})


def test_no_test_claims_wall_time() -> None:
    """Benchmarks measure times; a test counts operations or processor time."""
    assert found(WALL_TIME) == Counter()
