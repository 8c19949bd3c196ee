"""Kills of a sweep at drawn moments."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.sweep.sweep_programs import inputs, places, starts, sweep_file
from tests.waiting import wait_until

EACH = "arguments = ['{how}', '{n}']\n[grid.arguments]\n"


def kill_and_resume(folder: Path, kills: int, seed: int) -> None:
    """Kill the sweep at random times, each time with a dozen points more; in the end every point has ended once."""
    draw, points, killed = random.Random(seed), 0, 0
    command = [sys.executable, "-m", "popvision", "sweep", str(folder / "sweep.toml"), "-d", str(folder / "out")]
    while killed < kills:
        points += 12
        sweep_file(folder, EACH + f"how = ['ends']\nn = {list(range(points))}")
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        before = len(places(folder / "out"))
        wait_until(
            lambda process=process, before=before: process.poll() is not None or len(places(folder / "out")) > before
        )
        time.sleep(draw.random() * 0.1)  # the moment of the kill is drawn
        killed += process.poll() is None  # a busy machine may not come back here in time
        process.send_signal(draw.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)))
        process.wait()
        assert points <= 48 * kills, f"{killed} kills came before the end of the sweep"
    last = subprocess.run(command, capture_output=True, text=True, check=False)
    assert last.returncode == 0, last.stdout + last.stderr
    ended = [inputs(place) for place in places(folder / "out")]
    assert sorted(point["axes"]["arguments.n"] for point in ended) == list(range(points))
    assert all(json.loads((place / "profile.pop").read_text())[1] for place in places(folder / "out"))
    assert places(folder / "out", "failed") == []
    after = len(starts(folder))
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    assert len(starts(folder)) == after
