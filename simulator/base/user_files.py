"""Tell the user's source files from those of this project, installed packages and Python."""

from __future__ import annotations

import os
import site
import sysconfig
from functools import cache

_REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
_OWN = tuple(os.path.join(_REPOSITORY, name) + os.sep for name in ("simulator", "popvision", "webapp"))  # noqa: PTH118
_INSTALLED = tuple(
    sorted(
        {
            path.rstrip(os.sep) + os.sep
            for path in (
                *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
                *site.getsitepackages(),
                site.getusersitepackages(),
            )
        }
    )
)


@cache
def is_users(file: str) -> bool:
    """Whether a file is the user's own. Code without a file (`<string>`, a prompt) counts as such; frozen modules of
    Python do not."""
    if file.startswith("<"):
        return not file.startswith("<frozen")
    return not file.startswith(_OWN) and not file.startswith(_INSTALLED) and "/site-packages/" not in file
