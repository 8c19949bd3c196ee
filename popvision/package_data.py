"""Find folders that ship with the code: at the root of a checkout, inside this package in an installed wheel."""

from __future__ import annotations

from pathlib import Path


def package_folder(name: str) -> Path:
    """The path of `compat`, `sample_reports`, `examples` or `docs`. Raises FileNotFoundError when the installation
    lacks it."""
    here = Path(__file__).resolve().parent
    for folder in (here.parent / name, here / f"_{name}"):
        if folder.is_dir() and ((here.parent / "pyproject.toml").is_file() or folder.parent == here):
            return folder
    raise FileNotFoundError(f"the folder {name!r} is missing from this installation of popvision; install it again")
