"""The executable cache: hits, damage, and several processes on one folder."""

from __future__ import annotations

import fcntl
import io
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

from simulator.base import version
from simulator.base.errors import file_load_error
from simulator.engine import executable_file
from simulator.frontends.session.executable_cache import (
    ExecutableCache,
    Outcome,
    entry_bytes,
    executable_key,
    read_entry,
)
from simulator.poplar import FLOAT, DeviceManager, Engine, Graph, Target, TargetType, compileGraph, poplar_error
from simulator.poplar.program import Sequence
from simulator.poplibs import popops

KEY = "00c0ffee00c0ffee"

#: Fetches one key: compiles a small program, says so on standard output, and waits until so many fetch as its third
#: argument says.
FETCHER = """
import os, sys, resource, signal
from pathlib import Path
from simulator.frontends.session.executable_cache import ExecutableCache
from tests.frontends.test_executable_cache import KEY, compiled
from tests.waiting import wait_until
fetching, awaited = Path(sys.argv[1]).parent / "fetching", int(sys.argv[2])
def compile_executable():
    print("compiling", flush=True)
    wait_until(lambda: not awaited or len(list(fetching.iterdir())) >= awaited)
    return compiled()
if len(sys.argv) > 3:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
cache = ExecutableCache(Path(sys.argv[1]), ".popef", lambda sentence: print("warning:", sentence, flush=True))
if awaited:
    fetching.mkdir(exist_ok=True)
    (fetching / str(os.getpid())).touch()
for _ in range(2):
    print(cache.fetch(KEY, compile_executable).outcome.value, flush=True)
"""


def compiled():
    """A program that adds 2 to each of 8 numbers; the host writes and reads them."""
    graph = Graph(Target.createIPUTarget(1, "ipu2"))
    popops.addCodelets(graph)
    x = graph.addVariable(FLOAT, [8], "x")
    two = graph.addConstant(FLOAT, [8], [2.0] * 8, "two")
    for tensor in (x, two):
        graph.setTileMapping(tensor, 0)
    graph.createHostWrite("in", x)
    graph.createHostRead("out", x)
    program = Sequence()
    popops.addInPlace(graph, x, two, program, "add")
    return compileGraph(graph, [program])


def result_of(executable):
    """What the program makes of 0 to 7."""
    device = DeviceManager().getDevices(TargetType.IPU, 1)[0]
    with device:
        engine = Engine(executable)
        engine.load(device)
        engine.writeTensor("in", np.arange(8, dtype=np.float32))
        engine.run(0)
        out = np.zeros(8, np.float32)
        engine.readTensor("out", out)
    return out.tolist()


@pytest.fixture(autouse=True)
def own_locks(monkeypatch, tmp_path):
    monkeypatch.setenv("POPVISION_LOCKS", str(tmp_path / "locks"))


@pytest.fixture
def cache(tmp_path):
    """A cache in an empty folder; `cache.sentences` are its warnings."""
    sentences = []
    cache = ExecutableCache(tmp_path / "cache", ".popef", sentences.append)
    cache.sentences = sentences
    return cache


def fetch(cache):
    """The outcome, how often it compiled, and the executable."""
    compilations = []

    def compile_executable():
        compilations.append(1)
        return compiled()

    fetched = cache.fetch(KEY, compile_executable)
    return fetched.outcome, len(compilations), fetched.executable


def start(folder, awaited=0, *limit):
    return subprocess.Popen(
        [sys.executable, "-c", FETCHER, str(folder), str(awaited), *map(str, limit)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def lines_of(process):
    return process.communicate(timeout=120)[0].splitlines()


def test_the_second_fetch_compiles_nothing_and_computes_the_same(cache):
    outcome, compilations, executable = fetch(cache)
    assert (outcome, compilations) == (Outcome.STORED, 1)
    assert cache.path(KEY).is_file()
    outcome, compilations, again = fetch(cache)
    assert (outcome, compilations, cache.sentences) == (Outcome.LOADED, 0, [])
    assert result_of(again) == result_of(executable) == [2, 3, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("size", [0, 1, 100, 0.5, 0.99])
def test_a_file_cut_short_is_replaced_with_one_sentence(cache, size):
    fetch(cache)
    path = cache.path(KEY)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(size * len(whole)) if isinstance(size, float) else size])
    assert fetch(cache)[:2] == (Outcome.STORED, 1)
    assert len(cache.sentences) == 1
    assert f"{path} is not used and replaced: The file holds no executable" in cache.sentences[0]
    assert fetch(cache)[:2] == (Outcome.LOADED, 0)


def test_a_flipped_bit_is_never_used(cache):
    """Anywhere in the file: in its beginning, the front end's notes, the program and the checksums themselves."""
    cache.fetch(KEY, compiled, notes=lambda: b"notes of a front end")
    path = cache.path(KEY)
    whole = path.read_bytes()
    places = [*range(48), *range(60, len(whole) - 40, len(whole) // 60), *range(len(whole) - 24, len(whole))]
    for place in places:
        data = bytearray(whole)
        data[place] ^= 1 << place % 8
        with pytest.raises(file_load_error):
            read_entry(bytes(data))
    path.write_bytes(data)
    assert fetch(cache)[:2] == (Outcome.STORED, 1)
    assert len(cache.sentences) == 1
    assert fetch(cache)[:2] == (Outcome.LOADED, 0)


def test_an_entry_of_before_is_read(cache):
    executable, notes = compiled(), b"notes"
    buffer = io.BytesIO()
    executable.serialize(buffer)
    before = b"PVEXE1\r\n" + len(notes).to_bytes(8, "little") + notes + buffer.getvalue()
    again, read = read_entry(before)
    assert (result_of(again), read) == (result_of(executable), notes)


def test_a_file_of_another_version_is_replaced(cache, monkeypatch):
    monkeypatch.setattr(executable_file, "__version__", "0.0.1")
    fetch(cache)
    monkeypatch.undo()
    assert fetch(cache)[:2] == (Outcome.STORED, 1)
    assert "written by version 0.0.1" in cache.sentences[0]


def test_a_file_of_another_target_is_replaced(cache):
    fetch(cache)
    mk1, mk2 = (Target.createIPUTarget(1, version) for version in ("ipu1", "ipu2"))
    assert cache.fetch(KEY, compiled, target=mk2).outcome is Outcome.LOADED
    assert cache.fetch(KEY, compiled, target=mk1).outcome is Outcome.STORED
    assert "It was compiled for 1472 tiles of ipu2 (IPU), not for 1216 tiles of ipu1 (IPU)." in cache.sentences[0]


def test_an_error_of_compilation_passes_and_leaves_the_key_free(cache):
    def fail():
        raise poplar_error("no such operator")

    with pytest.raises(poplar_error, match="no such operator"):
        cache.fetch(KEY, fail)
    assert not cache.path(KEY).exists()
    assert fetch(cache)[:2] == (Outcome.STORED, 1)


def test_an_executable_that_cannot_be_saved_is_used_uncached(cache):
    class Unsaved:
        def serialize(self, out):
            raise poplar_error("Codelet 'Local' is not at the top of a module.")

    executable = Unsaved()
    for _ in range(2):
        fetched = cache.fetch(KEY, lambda: executable)
        assert (fetched.executable, fetched.outcome) == (executable, Outcome.UNCACHED)
    assert cache.sentences == ["The program is not cached: Codelet 'Local' is not at the top of a module."]


def test_a_folder_that_cannot_be_made_costs_one_warning(tmp_path):
    (tmp_path / "file").write_text("")
    sentences = []
    cache = ExecutableCache(tmp_path / "file" / "cache", ".popef", sentences.append)
    assert fetch(cache)[:2] == (Outcome.UNCACHED, 1)
    assert fetch(cache)[:2] == (Outcome.UNCACHED, 1)
    assert sentences == [
        f"The executable cache {tmp_path}/file/cache cannot be written (Not a directory); programs are compiled in "
        "each process. Free space there, or choose another folder."
    ]


def test_a_full_disk_costs_one_warning_and_leaves_no_file(tmp_path):
    lines = lines_of(start(tmp_path, 0, 5_000))
    assert lines[0::2][:1] == ["compiling"]
    assert [line for line in lines if not line.startswith("warning:")] == ["compiling", "uncached"] * 2
    assert sum("cannot be written (File too large)" in line for line in lines) == 1
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".compile_lock" and path.name != "locks"] == []


@pytest.mark.parametrize("count", [3, pytest.param(10, marks=pytest.mark.long)])
def test_processes_on_one_empty_cache_compile_once(tmp_path, count):
    folder = tmp_path / "cache"
    processes = [start(folder, count) for _ in range(count)]
    outcomes = [lines_of(process) for process in processes]
    later = [("loaded", "loaded")] * (count - 1)
    assert sorted(map(tuple, outcomes)) == sorted([("compiling", "stored", "loaded"), *later])
    assert {path.suffix for path in folder.iterdir()} == {".popef", ".compile_lock"}


def test_a_compiler_that_is_killed_leaves_no_lock_and_no_half_file(tmp_path, cache):
    process = start(cache.folder, 2)  # and no other comes
    assert process.stdout.readline() == "compiling\n"
    (cache.folder / f"{KEY}.{process.pid}.tmp").write_bytes(b"half")
    (cache.folder / f"other.{process.pid}.tmp").write_bytes(b"another key's")
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert fetch(cache)[:2] == (Outcome.STORED, 1)
    assert sorted(path.name for path in cache.folder.glob("*.tmp")) == [f"other.{process.pid}.tmp"]


def test_who_waits_for_the_lock_loads_what_the_other_stored(cache):
    """The lock is taken, the entry appears, the lock is given back: no second compilation."""
    cache.folder.mkdir()
    handle = os.open(cache.folder / f"{KEY}.compile_lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)
    process = start(cache.folder)
    cache.path(KEY).write_bytes(entry_bytes(compiled(), b""))
    os.close(handle)
    assert lines_of(process) == ["loaded", "loaded"]


def test_keys_tell_targets_options_and_parts_apart():
    one = Target.createIPUTarget(1, "ipu2")
    keys = [
        executable_key(one, ["ab", "c"], {}),
        executable_key(one, ["a", "bc"], {}),
        executable_key(Target.createIPUTarget(2, "ipu2"), ["ab", "c"], {}),
        executable_key(Target.createIPUTarget(1, "ipu21"), ["ab", "c"], {}),
        executable_key(one, ["ab", "c"], {"POPLAR_ENGINE_OPTIONS": '{"autoReport.all":"true"}'}),
        executable_key(one, ["ab", "c"], {"POPLAR_TARGET_OPTIONS": "{}"}),
    ]
    assert len(set(keys)) == len(keys)
    assert all(len(key) == 16 and int(key, 16) >= 0 for key in keys)
    assert keys[0] == executable_key(one, [b"ab", b"c"], {"OTHER": "1"})


@pytest.fixture
def copied_sources(tmp_path, monkeypatch):
    """`packageHash` reads a copy of the sources."""
    copies = {name: tmp_path / "copy" / name for name in version.source_folders()}
    for name, folder in version.source_folders().items():
        shutil.copytree(folder, copies[name], ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(version, "source_folders", lambda: copies)
    version.packageHash.cache_clear()
    yield copies
    version.packageHash.cache_clear()


def test_sources_are_told_apart_by_what_they_say(copied_sources):
    installed = version.packageHash()
    lowering = copied_sources["simulator"] / "frontends" / "lowering"
    rules = lowering / "products.py"
    (lowering / "__pycache__").mkdir()
    (lowering / "__pycache__" / "products.cpython.pyc").write_bytes(b"compiled")
    (lowering / ".products.py.swp").write_bytes(b"an editor's")
    os.utime(rules, (0, 0))
    version.packageHash.cache_clear()
    assert version.packageHash() == installed, "neither where files lie, nor their times, nor what lies beside them"
    text = rules.read_text()
    assert "if beta == 0:" in text
    digests = {installed}
    for path, changed in [
        (rules, text.replace("if beta == 0:", "if beta == 1:").encode()),  # as long as before
        (copied_sources["simulator"] / "codelets/include/print.h", b""),
        (copied_sources["popvision/formats"] / "executable.capnp", b""),
        (lowering / "new_rules.py", b""),
    ]:
        path.write_bytes(changed)
        assert version.packageHash() in digests, "read once per process"
        version.packageHash.cache_clear()
        digests.add(version.packageHash())
    assert len(digests) == 5


def test_another_rule_has_another_key(copied_sources):
    target = Target.createIPUTarget(1, "ipu2")
    before = executable_key(target, ["program"], {})
    assert executable_key(target, ["program"], {}) == before
    with (copied_sources["simulator"] / "frontends/lowering/products.py").open("a") as rules:
        rules.write("\n")
    version.packageHash.cache_clear()
    assert executable_key(target, ["program"], {}) != before
