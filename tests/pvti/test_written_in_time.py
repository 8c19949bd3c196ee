"""When events reach the file of a program that runs: a thread that goes on writes late events with its next one, the
timer writes those of a thread that is quiet. The clock is the test's, so that nothing depends on how fast it runs."""

from __future__ import annotations

import json
from pathlib import Path

from tests.pvti.traced import run

#: `after(ms)` records an event later; `look()` returns when the timer has looked twice; `written()` counts the events
#: in the file.
CLOCK = """
import threading, time
import popvision.pvti.recorder as recorder
from popvision.formats.pvti.reader import TraceReader
from tests.waiting import wait_until

now, looks = [10**9], [0]

def clock():
    looks[0] += threading.current_thread().name == "pvti flush"
    return now[0]

time.perf_counter_ns = recorder.perf_counter_ns = clock

def after(ms):
    now[0] += ms * 10**6
    pvti.Tracepoint.event(channel, "x")

def look():
    seen = looks[0]
    wait_until(lambda: looks[0] >= seen + 6, "two looks of the timer")

def written():
    reader = TraceReader(pvti.getCurrentTraceFilename())
    instants = [reader.events(thread.id).instants for thread in reader.threads()]
    return sum(len(each.time) for each in instants if each is not None)

"""


def said(code: str, folder: Path) -> list[int]:
    options = json.dumps({"directory": str(folder), "process": False})
    return [int(line) for line in run(CLOCK + code, folder, options=options).stdout.split()]


def test_a_thread_that_goes_on_writes_late_events_with_its_next_one(tmp_path: Path) -> None:
    code = """
for pause in (0, 30, 30):
    after(pause)
    look()
print(written())  # 60 ms after the first event: neither late nor quiet
after(30)
look()
print(written())  # late: the timer has asked the thread to write
after(0)
print(written())
after(0)
look()
print(written())  # the next chunk is not late
"""
    assert said(code, tmp_path) == [0, 0, 5, 5]


def test_the_timer_writes_the_events_of_a_quiet_thread(tmp_path: Path) -> None:
    code = """
after(0)
look()
print(written())
now[0] += 40 * 10**6
look()
print(written())  # without another event
after(1)
look()
print(written())
now[0] += 40 * 10**6
look()
print(written())
"""
    assert said(code, tmp_path) == [0, 1, 1, 2]
