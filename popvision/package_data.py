"""Folders shipped beside the code: in a checkout at the root, in an installed wheel inside this package."""

from __future__ import annotations

from pathlib import Path


def package_folder(name: str) -> Path:
    """Where `compat`, `sample_reports` or `examples` is. Raises FileNotFoundError when the installation lacks it."""
    here = Path(__file__).resolve().parent
    for folder in (here.parent / name, here / f"_{name}"):
        if folder.is_dir() and ((here.parent / "pyproject.toml").is_file() or folder.parent == here):
            return folder
    raise FileNotFoundError(f"the folder {name!r} is missing from this installation of popvision; install it again")
