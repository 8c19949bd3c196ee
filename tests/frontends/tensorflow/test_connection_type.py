"""The example of connection types as a user starts it: its result, and its lines on stderr in their order."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "examples/tensorflow/connection_type/connection_type.py"
SUMS = "[array([3., 8.], dtype=float32)]"


def lines_of(kind: str, folder: Path, **variables: str) -> list[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "POPLAR_"))}
    environment |= {"PYTHONPATH": f"{ROOT}:{ROOT / 'compat'}", "XDG_RUNTIME_DIR": str(folder), **variables}
    command = [sys.executable, str(SCRIPT), "--connection_type", kind]
    done = subprocess.run(
        command, env=environment, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return done.stdout.splitlines()


def places(lines: list[str], words: str) -> list[int]:
    return [number for number, line in enumerate(lines) if words in line]


def test_always_attaches_before_it_compiles(tmp_path: Path) -> None:
    lines = lines_of("ALWAYS", tmp_path)
    [attached], [compiled] = places(lines, "attached to "), places(lines, "Compiled ")
    assert attached < compiled
    assert lines[-1] == SUMS


def test_on_demand_compiles_before_it_attaches(tmp_path: Path) -> None:
    lines = lines_of("ON_DEMAND", tmp_path)
    [attached], [compiled] = places(lines, "attached to "), places(lines, "Compiled ")
    assert compiled < attached
    assert lines[-1] == SUMS


def test_never_compiles_and_refuses_to_run(tmp_path: Path) -> None:
    lines = lines_of("NEVER", tmp_path)
    assert len(places(lines, "Compiled ")) == 1
    assert not places(lines, "attached to ")
    assert lines[-1] == "Compiled"


def test_precompiled_programs_run_later_without_compilation(tmp_path: Path) -> None:
    flags = f"--executable_cache_path={tmp_path / 'new' / 'cache'}"
    lines = lines_of("PRE_COMPILE", tmp_path, TF_POPLAR_FLAGS=flags)
    [saved] = places(lines, "A pre-compiled Poplar program has been saved to ")
    assert not places(lines, "attached to ")
    assert lines[-1] == "[array([0., 0.], dtype=float32)]"
    stored = Path(lines[saved].rpartition(" ")[2])
    assert [stored] == list((tmp_path / "new" / "cache").glob("*.poplar_exec"))
    before = stored.stat().st_mtime_ns
    options = '{"autoReport.all":"true"}'
    assert lines_of("ON_DEMAND", tmp_path, TF_POPLAR_FLAGS=flags)[-1] == SUMS
    assert stored.stat().st_mtime_ns == before
    assert [stored] == list(stored.parent.glob("*.poplar_exec")), "with remote buffers unknown, the key is the same"
    assert lines_of("ON_DEMAND", tmp_path, TF_POPLAR_FLAGS=flags, POPLAR_ENGINE_OPTIONS=options)[-1] == SUMS
    [report] = tmp_path.glob("tf_report__*")
    assert (report / "profile.pop").stat().st_size > 0
    assert len(list(stored.parent.glob("*.poplar_exec"))) == 2, "engine options are part of the key"


@pytest.mark.parametrize(
    ("kind", "flags", "sentence"),
    [
        ("PRE_COMPILE", "", "'executable_cache_path' in 'TF_POPLAR_FLAGS' has not been set"),
        ("ALWAYS", "--executable_cache_pth=x", "did you mean '--executable_cache_path'?"),
        ("ALWAYS", "--on_demand_device_poll_time=5", "'--on_demand_device_poll_time' has the value '5'"),
    ],
)
def test_wrong_flags_are_refused(tmp_path: Path, kind: str, flags: str, sentence: str) -> None:
    lines = lines_of(kind, tmp_path, TF_POPLAR_FLAGS=flags)
    assert sentence in lines[-1]
