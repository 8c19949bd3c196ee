"""Imports are kept by the state of their file, within bounds, and never stand for another one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from popvision.analysis.trace.source import TraceSource
from popvision.formats.foreign_traces import importing, kept_imports
from tests.cli.called import popvision
from webapp.base.library import Library


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POPVISION_TRACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path / "cache"


@pytest.fixture
def imports(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were imported."""
    done: list[Path] = []
    read = importing.read_recording

    def counted(path: Path, unit: str = "us") -> object:
        done.append(path)
        return read(path, unit)

    monkeypatch.setattr(importing, "read_recording", counted)
    return done


def write(path: Path, spans: int = 1, seconds_ago: float = 60) -> Path:
    events = [{"ph": "X", "pid": 1, "tid": 1, "ts": 10 * at, "dur": 5, "name": f"s{at}"} for at in range(spans)]
    path.write_text(json.dumps(events))
    now = path.stat().st_mtime
    os.utime(path, (now - seconds_ago, now - seconds_ago))
    return path


def held(folder: Path) -> list[str]:
    return sorted(path.suffix for path in folder.iterdir())


def test_a_file_is_imported_once(tmp_path: Path, folder: Path, imports: list[Path]) -> None:
    path = write(tmp_path / "t.json", 3)
    assert [TraceSource(path).events for _ in range(3)] == [3, 3, 3]
    assert imports == [path]
    assert held(folder) == [".lock", ".pvti"]
    assert folder.stat().st_mode & 0o777 == 0o700


def test_another_state_takes_its_place(tmp_path: Path, folder: Path, imports: list[Path]) -> None:
    """Size and time alike, the inode tells."""
    path = write(tmp_path / "t.json", 1)
    state = path.stat()
    assert TraceSource(path).names.label == ["s0"]
    other = tmp_path / "other"
    other.write_text(path.read_text().replace("s0", "s1"))
    os.utime(other, ns=(state.st_mtime_ns, state.st_mtime_ns))
    other.replace(path)
    assert TraceSource(path).names.label == ["s1"]
    assert len(imports) == 2
    assert held(folder) == [".lock", ".pvti"]


def test_another_importer_reads_it_again(
    tmp_path: Path, folder: Path, imports: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "t.json")
    TraceSource(path)
    monkeypatch.setattr(kept_imports, "_version", lambda: "another")
    TraceSource(path)
    assert len(imports) == 2
    assert held(folder) == [".lock", ".pvti"]


def test_a_file_that_just_changed_is_not_kept(tmp_path: Path, folder: Path) -> None:
    path = write(tmp_path / "t.json", seconds_ago=0)
    source = TraceSource(path)
    assert source.events == 1
    assert not folder.exists()
    assert list(tmp_path.glob("popvision-trace-*")) == []  # open, and in no folder


def test_a_damaged_import_is_made_anew(tmp_path: Path, folder: Path, imports: list[Path]) -> None:
    path = write(tmp_path / "t.json", 100)
    TraceSource(path)
    (entry,) = folder.glob("*.pvti")
    content = bytearray(entry.read_bytes())
    content[len(content) // 2] ^= 1
    entry.write_bytes(content)
    source = TraceSource(path)
    assert (source.events, source.lost, len(imports)) == (100, [], 2)


def test_the_oldest_go_first_and_open_ones_stay(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [write(tmp_path / f"{number}.json", 10) for number in range(4)]
    open_trace = TraceSource(paths[0])
    size = open_trace.reader.path.stat().st_size
    for age, path in ((300, paths[1]), (200, paths[2])):
        TraceSource(path)
        lock = max(folder.glob("*.lock"), key=lambda found: found.stat().st_mtime_ns)
        os.utime(lock, (lock.stat().st_mtime - age,) * 2)
    monkeypatch.setattr(kept_imports, "MOST_BYTES", 3 * size + size // 2)
    TraceSource(paths[3])
    origins = {Path(kept.origin).name for kept in kept_imports.kept_imports()}
    assert origins == {"0.json", "2.json", "3.json"}
    assert kept_imports.clear_imports()[0] == 2
    assert [Path(kept.origin).name for kept in kept_imports.kept_imports()] == ["0.json"]
    assert open_trace.events == 10
    assert open_trace.flow_points().shape == (0, 3)  # read from the file, which is still there


def test_commands_list_clear_and_do_without(tmp_path: Path, folder: Path, imports: list[Path]) -> None:
    path = write(tmp_path / "t.json")
    first = popvision("trace", "stats", path)
    assert popvision("trace", "stats", path, "--no-cache").stdout == first.stdout
    assert len(imports) == 2
    answer = json.loads(popvision("trace", "cache", "--json").stdout)
    assert (answer["folder"], [kept["origin"] for kept in answer["imports"]]) == (str(folder), [str(path)])
    assert popvision("trace", "cache").stdout.startswith(f"1 import in {folder}, 0.1 MiB\n")
    assert popvision("trace", "cache", "--clear").stdout.startswith("Removed 1 import, ")
    assert popvision("trace", "cache").stdout == f"0 imports in {folder}, 0.0 MiB\n"
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("POPVISION_TRACE_CACHE", str(tmp_path / "file" / "cache"))
    path, other = write(tmp_path / "t.json"), write(tmp_path / "u.json")
    done = popvision("trace", "stats", path, other)
    assert done.returncode == 0
    assert done.stderr == (
        f"popvision: imported traces are not kept in {tmp_path}/file/cache: Not a directory; set "
        "POPVISION_TRACE_CACHE to another folder, or to off.\n"
    )


def test_a_document_says_that_imports_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("POPVISION_TRACE_CACHE", str(tmp_path / "file" / "cache"))
    done = popvision("html", write(tmp_path / "t.json"), "-o", tmp_path / "t.html")
    assert done.returncode == 0
    assert done.stderr.count("imported traces are not kept in") == 1


def test_the_viewer_says_once_that_imports_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("POPVISION_TRACE_CACHE", str(tmp_path / "file" / "cache"))
    library = Library([write(tmp_path / "t.json"), write(tmp_path / "u.json")])
    traces = [library.trace(entry.key) for entry in library.scan() if not entry.is_sample]
    assert len(traces) == 2
    assert capsys.readouterr().err.count("imported traces are not kept in") == 1


def test_a_refused_file_leaves_nothing(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"ph"')
    os.utime(path, (1, 1))
    assert popvision("trace", "stats", path).returncode == 1
    assert [found.suffix for found in folder.iterdir()] == []


def killed_process(path: Path, program: str) -> list[Path]:
    """What is left of the imports of a process that runs a program on a file and is killed by it."""
    environment = os.environ | {"TMPDIR": str(path.parent), "POPVISION_TRACE_CACHE": "off"}
    libraries = "import os, sys; from popvision.analysis.trace.source import TraceSource; "
    code = libraries + "from popvision.formats.foreign_traces import importing; " + program
    command = [sys.executable, "-c", code, path]
    assert subprocess.run(command, env=environment, check=False, stderr=subprocess.PIPE).returncode == -9
    return list(path.parent.glob("popvision-trace-*"))


def test_a_killed_process_leaves_nothing(tmp_path: Path, folder: Path) -> None:
    path = write(tmp_path / "t.json")
    read = "source = TraceSource(sys.argv[1]); assert source.events == 1 and source.metadata_texts(0) == {}; "
    assert killed_process(path, read + "os.kill(os.getpid(), 9)") == []


def test_a_process_that_is_killed_while_it_imports_leaves_nothing(tmp_path: Path, folder: Path) -> None:
    path = write(tmp_path / "t.json")
    folders = "from pathlib import Path; folder = Path(sys.argv[1]).parent; "
    is_killed = "assert len([*folder.glob('popvision-trace-*/*')]) > 1; os.kill(os.getpid(), 9)"
    program = f"{folders}importing.finalise_closed = lambda writer: exec({is_killed!r}); TraceSource(sys.argv[1])"
    assert killed_process(path, program) == []


def test_what_is_left_all_the_same_goes_with_the_next_trace(tmp_path: Path, folder: Path) -> None:
    left = tmp_path / "popvision-trace-left"
    left.mkdir()
    (left / "lock").touch()
    (left / "trace.pvti").touch()
    assert TraceSource(write(tmp_path / "t.json")).events == 1
    assert not left.exists()


def test_threads_take_turns_at_an_import_that_is_not_kept(tmp_path: Path, folder: Path) -> None:
    source = TraceSource(write(tmp_path / "t.json", 3, seconds_ago=0))
    with ThreadPoolExecutor(1) as pool, source.reader.one_state():
        waiting = pool.submit(source.reader.processes)
        assert source.reader.channels() == [("events", True)]
        assert not waiting.done()
    assert waiting.result() == [(1, None, "")]
