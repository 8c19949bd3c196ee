"""Make the reports of this folder again from the programs in examples/: `make samples`.

Each program runs in a child process with all reports on; only the files that the viewer shows are kept. Databases are
repacked with small pages, because an SQLite page of a small table is mostly empty. A C++ program is compiled first, with
g++ and the libraries of `make cpp`.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
EXAMPLES = ROOT / "examples"


@dataclass(frozen=True)
class Sample:
    """A program to run. `tiles` = 0 keeps the target's own number of tiles; fewer make a smaller file."""

    command: list[str]
    traced: bool = False
    exit_code: int = 0
    tiles: int = 0


SAMPLES = {
    "matmul_chain": Sample(["matmul_chain.py"]),
    "matmul_chain_hardware": Sample(["matmul_chain.py", "--hw"], tiles=368),
    "train_mlp": Sample(["train_mlp.py", "--epochs", "2"], traced=True, tiles=64),
    "train_mlp_wide": Sample(["train_mlp.py", "--epochs", "2", "--hidden", "256"], tiles=64),
    "pipeline": Sample(["pipeline.py"]),
    "replicated_training": Sample(["replicated_training.py", "--epochs", "2"]),
    "out_of_memory": Sample(["out_of_memory.py"], exit_code=1, tiles=368),
    "host_trace": Sample(["host_trace.py"], traced=True),
    "stream_cpp": Sample(["cpp/stream.cpp", "600"]),
}
#: one recorded run of each program suffices
OPTIONS = {
    "autoReport.all": "true",
    "autoReport.outputSerializedGraph": "false",
    "autoReport.outputArchive": "false",
    "autoReport.executionProfileProgramRunCount": "1",
    "profiler.includeFlopEstimates": "true",
}
KEPT = ("profile.pop", "debug.cbor")
LIMIT_BYTES = 8_000_000


def make(name: str, into: Path) -> None:
    """Run one program and keep the files that the viewer shows."""
    sample = SAMPLES[name]
    with tempfile.TemporaryDirectory() as scratch:
        environment = {k: v for k, v in os.environ.items() if k not in ("PVTI_OPTIONS", "POPLAR_ENGINE_OPTIONS")}
        environment["PYTHONPATH"] = str(ROOT)  # this checkout, whatever is installed
        environment["POPLAR_ENGINE_OPTIONS"] = json.dumps(OPTIONS | {"autoReport.directory": scratch})
        if sample.traced:
            environment["PVTI_OPTIONS"] = json.dumps({"enable": "true", "directory": scratch})
        if sample.tiles:
            environment["POPVISION_TILES"] = str(sample.tiles)
        program = EXAMPLES / sample.command[0]
        started = compiled(program, Path(scratch)) if program.suffix == ".cpp" else [sys.executable, str(program)]
        done = subprocess.run(
            [*started, *sample.command[1:]],
            env=environment, cwd=scratch, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        if done.returncode != sample.exit_code:
            raise SystemExit(f"{' '.join(sample.command)} ended with {done.returncode}:\n{done.stderr}")
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir(parents=True)
        for file in sorted(Path(scratch).iterdir()):
            if file.name in KEPT:
                shutil.copy(file, into / file.name)
            elif file.suffix == ".pvti":
                shutil.copy(file, into / f"{name}.pvti")
    for database in [*into.glob("*.pop"), *into.glob("*.pvti")]:
        repack(database)


def compiled(program: Path, folder: Path) -> list[str]:
    """Compile a C++ program as docs/cpp.md says, into a folder; the command that starts it."""
    libraries = ROOT / "build" / "cpp" / "lib"
    if not (libraries / "libpoplar.so").exists():
        raise SystemExit(f"{program.name} needs the libraries of C++ programs, which are not built: make cpp.")
    target = folder / program.stem
    folders = [f"-I{ROOT / path}" for path in ("native/include", "simulator/codelets/include")]
    links = [f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lpoplar", "-lpopops", "-lpoputil"]
    done = subprocess.run(["g++", "-std=c++11", "-O2", *folders, str(program), "-o", str(target), *links], check=False)
    if done.returncode != 0:
        raise SystemExit(f"{program.name} does not compile.")
    return [str(target)]


def repack(database: Path) -> None:
    """Rewrite the file with pages of 1 KiB."""
    db = sqlite3.connect(database)
    try:
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("PRAGMA page_size = 1024")
        db.execute("VACUUM")
    finally:
        db.close()


def damage(source: Path, into: Path) -> None:
    """A copy of a profile that stopped early: programs and memory by tile are complete, variables and the run are
    missing."""
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    whole = source.read_bytes()
    (into / "profile.pop").write_bytes(whole[: len(whole) * 7 // 10])


def main() -> None:
    """Make all samples and check that together they stay small."""
    for name in SAMPLES:
        make(name, HERE / name)
        print(f"{name}: {sum(f.stat().st_size for f in (HERE / name).iterdir()):,} B")
    damage(HERE / "matmul_chain_hardware" / "profile.pop", HERE / "damaged")
    total = sum(file.stat().st_size for file in HERE.rglob("*") if file.is_file())
    print(f"all samples: {total:,} B")
    if total > LIMIT_BYTES:
        raise SystemExit(f"the samples take {total:,} B, more than the {LIMIT_BYTES:,} B they may")


if __name__ == "__main__":
    main()
