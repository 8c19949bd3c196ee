"""A program killed at any moment leaves every run whose return it had announced."""

import contextlib
import os
import random
import signal
import sqlite3
import time

import pytest

from popvision.formats.profile.reader import ProfileReader
from tests.kills.killed_children import program


def announced_before_kill(folder, seconds):
    """Start the program, kill it `seconds` after its first run; the number of runs it had announced."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            with os.fdopen(writing, "w") as pipe, contextlib.redirect_stdout(pipe):
                program(folder)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        first = pipe.readline()
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL
        return (first + pipe.read()).count(b"\n")


def check(folder, seconds):
    announced = announced_before_kill(folder, seconds)
    assert announced > 0
    assert len(ProfileReader(folder / "profile.pop").runs().cycles) >= announced
    with sqlite3.connect(folder / "profile.pop") as db:
        (recorded,) = db.execute("SELECT count(*) FROM runs").fetchone()
        (steps,) = db.execute("SELECT count(*) FROM steps").fetchone()
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert announced <= recorded <= announced + 1  # the last run may be on disk before its return was announced
    assert steps % recorded == 0


@pytest.mark.parametrize("seed", range(20))
def test_killed_at_a_random_moment(tmp_path, seed):
    check(tmp_path, random.Random(seed).uniform(0, 0.12))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20, 220))
def test_killed_at_many_random_moments(tmp_path, seed):
    check(tmp_path, random.Random(seed).uniform(0, 0.3))
