"""Run the sample programs with profiling on, each into its own folder: `python -m examples.demo [FOLDER]`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent

#: folder of the report -> (what it shows, program and arguments)
PROGRAMS: dict[str, tuple[str, list[str]]] = {
    "matmul_chain": ("two matrix products on the IPU Model", ["matmul_chain.py"]),
    "matmul_chain_hardware": ("the same on simulated hardware", ["matmul_chain.py", "--hw"]),
    "train_mlp": ("a three-layer network in training", ["train_mlp.py"]),
    "train_cnn": ("a convolutional network in training", ["train_cnn.py"]),
    "pipeline": ("a pipeline over two IPUs with I/O tiles", ["pipeline.py"]),
    "replicated_training": ("four replicas in data-parallel training", ["replicated_training.py"]),
    "host_trace": ("a host trace with graphs and a heat map", ["host_trace.py"]),
}


def run(name: str, folder: Path) -> float:
    """Run one program with all reports on and its output in `folder`/output.txt; returns the seconds that it took."""
    _, command = PROGRAMS[name]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    began = time.monotonic()
    arguments = [sys.executable, "-m", "popvision", "run", "-d", str(folder), str(HERE / command[0]), *command[1:]]
    with (folder / "output.txt").open("w") as output:
        done = subprocess.run(arguments, stdout=output, stderr=subprocess.STDOUT, check=False, cwd=HERE.parent)
    if done.returncode:
        print((folder / "output.txt").read_text()[-2000:], file=sys.stderr)
        raise SystemExit(f"{command[0]} ended with exit code {done.returncode}; its output is in {folder}/output.txt")
    return time.monotonic() - began


def main() -> None:
    """Run all programs and print a line for each."""
    into = Path(sys.argv[1] if len(sys.argv) > 1 else "demo_reports")
    for name, (what, _) in PROGRAMS.items():
        print(f"  {name:<24} {what} ...", end=" ", flush=True)
        print(f"{run(name, into / name):.1f} s", flush=True)
    print(f"Reports are in {into}/. See them again with: .venv/bin/popvision view {into}")


if __name__ == "__main__":
    main()
