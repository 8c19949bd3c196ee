"""Run the sample programs with profiling on, each into its own folder: `python -m examples.demo [FOLDER]`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
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
#: the same for programs that need PyTorch
PYTORCH_PROGRAMS: dict[str, tuple[str, list[str]]] = {
    "pytorch_mnist": (
        "MNIST in PyTorch, training and inference",
        ["pytorch/mnist.py", "--images", "800", "--test-images", "160"],
    ),
    "pytorch_pipeline": ("the same network as a pipeline over two IPUs", ["pytorch/pipelined_mnist.py"]),
}


def programs() -> dict[str, tuple[str, list[str]]]:
    """Those that run here: with PyTorch its programs too."""
    return {**PROGRAMS, **(PYTORCH_PROGRAMS if find_spec("torch") else {})}


def environment() -> dict[str, str]:
    """That of this process with PopTorch's names on the path."""
    compat = [folder for folder in (HERE.parent / "compat", HERE.parent / "_compat") if folder.is_dir()]
    path = os.pathsep.join([*map(str, compat), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}


def run(name: str, folder: Path) -> float:
    """Run one program with all reports on and its output in `folder`/output.txt; returns the seconds that it took."""
    _, command = programs()[name]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    began = time.monotonic()
    arguments = [sys.executable, "-m", "popvision", "run", "-d", str(folder), str(HERE / command[0]), *command[1:]]
    with (folder / "output.txt").open("w") as output:
        done = subprocess.run(
            arguments, stdout=output, stderr=subprocess.STDOUT, check=False, cwd=HERE.parent, env=environment()
        )
    if done.returncode:
        print((folder / "output.txt").read_text()[-2000:], file=sys.stderr)
        raise SystemExit(f"{command[0]} ended with exit code {done.returncode}; its output is in {folder}/output.txt")
    return time.monotonic() - began


def main() -> None:
    """Run all programs and print a line for each."""
    into = Path(sys.argv[1] if len(sys.argv) > 1 else "demo_reports")
    for name, (what, _) in programs().items():
        print(f"  {name:<24} {what} ...", end=" ", flush=True)
        print(f"{run(name, into / name):.1f} s", flush=True)
    print(f"Reports are in {into}/. See them again with: .venv/bin/popvision view {into}")


if __name__ == "__main__":
    main()
