"""Syntax trees of the project's own files."""

from __future__ import annotations

import ast
import gc
from pathlib import Path


def syntax_tree(path: Path) -> ast.Module:
    """The syntax tree of a Python file.

    No garbage is collected meanwhile: CPython before 3.11.8 counts the depth of all trees in one place
    (python/cpython issue 106905). A collection lets finalizers and other threads run; when these parse too, as
    formatting a traceback does, `ast.parse` raises "AST constructor recursion depth mismatch"."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    finally:
        if collects:
            gc.enable()
