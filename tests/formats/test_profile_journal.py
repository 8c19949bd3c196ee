"""Live, killed and unlucky writers, and folders that cannot be written."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from popvision.formats.errors import FormatError
from popvision.formats.profile import ProfileReader, ProfileWriter, connection
from popvision.formats.profile.model import StepOnIpu
from tests.reports import tiny_compilation, tiny_run, write_tiny

ROOT = Path(__file__).resolve().parents[2]

HALF_WRITTEN = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA cache_size=1")
db.execute("BEGIN")
db.execute("DELETE FROM steps")
db.execute("DELETE FROM steps_by_ipu")
db.execute("UPDATE arrays SET data = randomblob(90000)")  # more pages than the cache holds
os._exit(0)
"""

ENDLESS = """
import sys
from dataclasses import replace
from pathlib import Path
from popvision.formats.profile import ProfileWriter
from tests.reports import tiny_compilation, tiny_run
writer = ProfileWriter(Path(sys.argv[1]))
writer.write_compilation(tiny_compilation())
for number in range(1_000_000):
    writer.append_run(replace(tiny_run(), base=tiny_run().base + 43 * number))
    print(number + 1, flush=True)
"""

COUNT_AS_NOBODY = """
import os, sys
from popvision.formats.profile.reader import ProfileReader
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
assert not os.access(os.path.dirname(sys.argv[1]), os.W_OK)
reader = ProfileReader(sys.argv[1])
print(len(reader.runs().name), len(list(reader.intervals(0, 0, 10**6))), reader.total_cycles())
"""


def killed_writer(path: Path, seconds: float) -> int:
    """Runs a writer for a while, kills it, and gives the number of runs it had reported."""
    command = [sys.executable, "-c", ENDLESS, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(seconds)  # the moment of the kill is drawn
        process.kill()
        lines = process.stdout.read().split("\n")
    return max((int(line) for line in lines[:-1]), default=1)


def test_every_reported_run_survives_a_kill(tmp_path: Path) -> None:
    for trial in range(4):
        path = tmp_path / f"{trial}.pop"
        reported = killed_writer(path, 0.03 * trial)
        reader = ProfileReader(path)
        found = len(reader.runs().name)
        assert reported <= found <= reported + 1
        assert int(reader.steps_on_ipu(0).cycles.sum()) == reader.total_cycles() == 43 * found
        assert path.with_name(path.name + "-wal").exists()


def killed_in_a_transaction(folder: Path) -> Path:
    """A complete report, of which a program killed outside WAL mode has overwritten pages: a `-journal` undoes them."""
    path = write_tiny(folder)
    subprocess.run([sys.executable, "-c", HALF_WRITTEN, str(path)], check=True)
    assert path.with_name("profile.pop-journal").stat().st_size > 0
    return path


def test_a_transaction_of_a_killed_writer_is_rolled_back(tmp_path: Path) -> None:
    path = killed_in_a_transaction(tmp_path)
    with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as db:
        assert db.execute("SELECT count(*) FROM steps").fetchone() != (4,)
    db.close()
    reader = ProfileReader(path)
    assert (reader.total_cycles(), len(reader.steps().run)) == (43, 4)
    assert not path.with_name("profile.pop-journal").exists()


def test_a_read_only_folder(tmp_path: Path) -> None:
    """Closed, killed with its log or journal, and a log folder turned read-only, seen by a user who may not write
    there."""
    closed, killed = tmp_path / "closed", tmp_path / "killed"
    write_tiny(closed)
    killed.mkdir()
    runs = killed_writer(killed / "profile.pop", 0.05)
    (killed / "profile.pop-shm").unlink(missing_ok=True)
    log_mode = tmp_path / "log_mode"
    shutil.copytree(closed, log_mode)
    with sqlite3.connect(log_mode / "profile.pop") as db:
        db.execute("PRAGMA journal_mode=WAL")
    db.close()
    half = tmp_path / "half"
    killed_in_a_transaction(half)
    tops = [p for p in tmp_path.parents if p.name.startswith("pytest-") or p == tmp_path.parent]
    for folder in (tmp_path, *tops):
        folder.chmod(0o755)
    for folder in (closed, killed, log_mode, half):
        for file in folder.iterdir():
            file.chmod(0o444)
        folder.chmod(0o555)
    try:
        for folder, least in ((closed, 1), (killed, runs), (log_mode, 1), (half, 1)):
            before = sorted(folder.iterdir())
            command = [sys.executable, "-c", COUNT_AS_NOBODY, str(folder / "profile.pop")]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            found, intervals, cycles = (int(word) for word in done.stdout.split())
            assert least <= found <= least + 1
            assert (intervals, cycles) == (4 * found, 43 * found)
            assert sorted(folder.iterdir()) == before
    finally:
        for folder in (closed, killed, log_mode, half):
            folder.chmod(0o755)


def test_a_live_writer_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "profile.pop"
    with ProfileWriter(path) as writer:
        writer.write_compilation(tiny_compilation())
        reader = ProfileReader(path)
        assert (reader.generation, reader.total_cycles(), len(reader.steps().run)) == (0, 0, 0)
        writer.append_run(tiny_run())
        assert (reader.generation, reader.total_cycles(), len(reader.steps().run)) == (1, 43, 4)
    assert (reader.generation, reader.total_cycles()) == (1, 43)


def test_closing_waits_for_no_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that waited would do so for an hour."""
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *names, **options: connect(*names, **(options | {"timeout": 3600})))
    path = write_tiny(tmp_path)
    writer = ProfileWriter(path)
    writer.write_compilation(tiny_compilation())
    writer.append_run(tiny_run())
    with sqlite3.connect(path) as other:
        other.execute("BEGIN")
        assert other.execute("SELECT count(*) FROM steps").fetchone() == (4,)
        writer.close()
        writer.close()
    other.close()
    assert ProfileReader(path).total_cycles() == 43


def test_a_new_report_replaces_an_old_one_and_its_log(tmp_path: Path) -> None:
    path = tmp_path / "profile.pop"
    killed_writer(path, 0.05)
    reader = ProfileReader(path)
    assert reader.total_cycles() > 0
    with ProfileWriter(path) as writer:
        writer.write_compilation(tiny_compilation())
    assert (reader.total_cycles(), [p.name for p in tmp_path.iterdir()]) == (0, ["profile.pop"])


def test_a_full_disk_keeps_what_was_committed(tmp_path: Path) -> None:
    path = tmp_path / "profile.pop"
    rng = np.random.default_rng(0)
    big = [StepOnIpu(rng.integers(0, 2**32, 4), rng.integers(1, 2**32, 4)) for _ in range(4)]
    with ProfileWriter(path, max_page_count=60) as writer:
        writer.write_compilation(tiny_compilation())
        writer.append_run(tiny_run())
        many = np.arange(40_000).reshape(-1, 1) % 4
        record = replace(tiny_run(), program=many[:, 0], base=many, pattern=many, data_in=None, data_out=None)
        with pytest.raises(FormatError, match=r"cannot append run 1 \('step'\).*is full"):
            writer.append_run(replace(record, patterns=big))
        assert ProfileReader(path).total_cycles() == 43
        writer.append_run(replace(tiny_run(), base=tiny_run().base + 43))
    reader = ProfileReader(path)
    assert (reader.total_cycles(), reader.generation) == (86, 2)
    assert [cycles.tolist() for *_, cycles in reader.intervals(0, 4, 4)] == [[10, 20, 0, 5]]


def test_a_compilation_that_does_not_fit_leaves_nothing(tmp_path: Path) -> None:
    writer = ProfileWriter(tmp_path / "profile.pop", max_page_count=8)
    with pytest.raises(FormatError, match="is full"):
        writer.write_compilation(tiny_compilation())
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "report").write_text("")
    with pytest.raises(FormatError, match=r"cannot write .*profile\.pop"):
        ProfileWriter(tmp_path / "report" / "profile.pop").write_compilation(tiny_compilation())


def test_a_locked_file_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_tiny(tmp_path)
    monkeypatch.setattr(connection, "PATIENCE", 0.01)
    reader = ProfileReader(path)
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        for ask in (lambda: ProfileReader(path), lambda: ProfileReader(path, salvage=True), reader.steps):
            with pytest.raises(FormatError, match="is locked by another program: wait until it has finished") as locked:
                ask()
            assert str(path) in str(locked.value)
        other.execute("ROLLBACK")
    other.close()
    assert reader.total_cycles() == 43


def test_questions_together_see_one_state(tmp_path: Path) -> None:
    path = tmp_path / "profile.pop"
    with ProfileWriter(path) as writer:
        writer.write_compilation(tiny_compilation())
        writer.append_run(tiny_run())
        reader = ProfileReader(path)
        with reader.together():
            assert len(reader.runs().name) == 1
            writer.append_run(replace(tiny_run(), base=tiny_run().base + 43))
            assert (reader.generation, len(reader.steps().run), reader.total_cycles()) == (1, 4, 43)
        assert (reader.generation, len(reader.steps().run), reader.total_cycles()) == (2, 8, 86)
