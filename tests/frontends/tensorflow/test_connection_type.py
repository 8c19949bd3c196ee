"""The example of connection types as a user starts it, in its three historical forms: its result, and its lines on
stderr in their order."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "examples/tensorflow/connection_type"
SUMS = "[array([3., 8.], dtype=float32)]"
HELP = """usage: connection_type.py [-h] [--connection_type {ALWAYS,ON_DEMAND,NEVER}]

optional arguments:
  -h, --help            show this help message and exit
  --connection_type {ALWAYS,ON_DEMAND,NEVER}
                        Specify connection type
"""


def start(form: str, folder: Path, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "POP"))}
    environment |= {
        "PYTHONPATH": f"{ROOT}:{ROOT / 'compat'}",
        "POPVISION_LOCKS": str(folder / "locks"),
        "COLUMNS": "80",
    }
    command = [sys.executable, str(FOLDER / form), *arguments]
    return subprocess.Popen(
        command,
        env=environment | variables,
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def lines_of(form: str, kind: str, folder: Path, **variables: str) -> list[str]:
    return start(form, folder, "--connection_type", kind, **variables).communicate()[0].splitlines()


def places(lines: list[str], words: str) -> list[int]:
    return [number for number, line in enumerate(lines) if words in line]


def test_always_attaches_before_it_compiles(tmp_path: Path) -> None:
    lines = lines_of("connection_type.py", "ALWAYS", tmp_path)
    [attached], [compiled] = places(lines, "attached to "), places(lines, "Compiled ")
    assert attached < compiled
    assert lines[-1] == SUMS
    pattern = r".* I tensorflow/compiler/plugin/poplar/driver/poplar_executor.cc:1619\] TensorFlow device "
    assert re.fullmatch(pattern + "/device:IPU:0 attached to 1 IPU with Poplar device ID: 0", lines[attached])
    pattern = r".* I tensorflow/compiler/jit/xla_compilation_cache.cc:376\] Compiled cluster using XLA!  This line is "
    assert re.fullmatch(pattern + "logged at most once for the lifetime of the process.", lines[compiled])


def test_on_demand_compiles_before_it_attaches(tmp_path: Path) -> None:
    lines = lines_of("connection_type.py", "ON_DEMAND", tmp_path)
    [attached], [compiled] = places(lines, "attached to "), places(lines, "Compiled ")
    assert compiled < attached
    assert lines[-1] == SUMS


@pytest.mark.parametrize("form", ["connection_type.py", "ipu_config.py"])
def test_never_compiles_and_refuses_to_run(tmp_path: Path, form: str) -> None:
    lines = lines_of(form, "NEVER", tmp_path)
    assert len(places(lines, "Compiled ")) == 1
    assert not places(lines, "attached to ")
    assert lines[-1] == "Compiled"


def test_help_is_that_of_the_first_sdk(tmp_path: Path) -> None:
    printed = start("connection_type.py", tmp_path, "--help").communicate()[0]
    assert printed.endswith(HELP)


def test_precompiled_programs_run_later_without_compilation(tmp_path: Path) -> None:
    flags = f"--executable_cache_path={tmp_path / 'new' / 'cache'}"
    lines = lines_of("pre_compile.py", "PRE_COMPILE", tmp_path, TF_POPLAR_FLAGS=flags)
    [saved] = places(lines, "A pre-compiled Poplar program has been saved to ")
    assert len(places(lines, "Compiled ")) == 1
    assert not places(lines, "attached to ")
    assert lines[-1] == "[array([0., 0.], dtype=float32)]"
    stored = Path(lines[saved].rpartition(" ")[2])
    assert [stored] == list((tmp_path / "new" / "cache").glob("*.poplar_exec"))
    before = stored.stat().st_mtime_ns
    lines = lines_of("ipu_config.py", "ALWAYS", tmp_path, TF_POPLAR_FLAGS=flags)
    assert lines[-1] == SUMS, "the attached device supports remote buffers, as pre_compile.py said"
    assert not places(lines, "saved to ")
    assert stored.stat().st_mtime_ns == before
    assert [stored] == list(stored.parent.glob("*.poplar_exec"))
