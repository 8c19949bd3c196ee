"""Another tool beside ours: the environment that holds it, and a port for its server."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path


def environment(scratch: Path, name: str, package: str) -> Path:
    """The bin folder of an environment that holds the package; it is made in `scratch` when it is not there."""
    where = scratch / name
    if not where.is_dir():
        subprocess.run([sys.executable, "-m", "venv", where], check=True)
        subprocess.run([where / "bin" / "pip", "install", "--quiet", package], check=True)
    return where / "bin"


def free_port() -> int:
    """A port of this machine that nothing listens on now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
