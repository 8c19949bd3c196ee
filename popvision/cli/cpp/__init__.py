"""`popvision cpp`: the libraries of C++ programs, for an installation without a Makefile."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path

import click

from popvision.formats.errors import FormatError
from popvision.package_data import package_folder


@click.group(name="cpp")
def command() -> None:
    """Build the libraries that C++ programs for Poplar are linked with, and print the variables that find them."""


@command.command(name="build")
def build() -> None:
    """Compile the libraries into the user's cache; needs g++, Python's headers and pybind11 (pip install
    'popvision[cpp]'). Exit code 1 where something is missing."""
    done = subprocess.run([sys.executable, str(package_folder("native") / "build.py"), str(place())], check=False)
    raise SystemExit(done.returncode)


@command.command(name="env")
def env() -> None:
    """Print export lines for a shell: eval "$(popvision cpp env)"."""
    libraries = place() / "lib"
    if not (libraries / "libpoplar.so").exists():
        raise FormatError("the libraries of C++ programs are not built; run 'popvision cpp build' first.")
    headers = [package_folder("native") / "include", _codelet_headers()]
    for variable, folders in (
        ("CPATH", headers),
        ("LIBRARY_PATH", [libraries]),
        ("LD_LIBRARY_PATH", [libraries]),
        ("CMAKE_PREFIX_PATH", [libraries.parent]),
    ):
        value = os.pathsep.join(shlex.quote(str(folder)) for folder in folders)
        click.echo(f"export {variable}={value}${{{variable}:+:${variable}}}")


def place() -> Path:
    """The libraries' folder: one for each version of Python and of popvision, and each environment."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    version = importlib.metadata.version("popvision")
    environment = sys.prefix.strip("/").replace("/", "-")
    return base / "popvision" / "cpp" / f"{version}-python{platform.python_version()}-{environment}"


def _codelet_headers() -> Path:
    """Found without an import: popvision never imports the simulator."""
    found = importlib.util.find_spec("simulator")
    if found is None or found.origin is None:
        raise FormatError("the package 'simulator' is missing from this installation of popvision; install it again.")
    return Path(found.origin).parent / "codelets" / "include"
