"""What a save changed: the program, or only its comments and the places of its lines.

Two texts are the same program when their syntax trees are equal without positions. Both trees are then walked side by
side, which pairs the lines of their nodes: O(nodes). Docstrings count as code, because a program can read them.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass

from popvision.analysis.source_code.rows import align_lines


@dataclass(frozen=True)
class Problem:
    """Why a program has no new figures: one sentence, and the line that it is about (0 = none)."""

    sentence: str
    file: str = ""
    line: int = 0


def syntax_problem(file: str, text: str) -> Problem | None:
    """Why the text is no Python program, None when it is one."""
    try:
        _parse(text)
    except SyntaxError as error:
        return Problem(f"{type(error).__name__}: {error.msg}", file, error.lineno or 0)
    except (ValueError, RecursionError, MemoryError) as error:
        return Problem(f"This file cannot be compiled: {error or type(error).__name__}", file)
    return None


def moved_lines(old: str, new: str) -> dict[int, int] | None:
    """Line of the new text for each line of code of the old one, where both are the same program; None where they
    differ, or where a line was split or joined, so that its figures must be counted anew."""
    if old == new:
        return {line: line for line in range(1, old.count("\n") + 2)}
    try:
        trees = _parse(old), _parse(new)
        if ast.dump(trees[0]) != ast.dump(trees[1]):
            return None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    there: dict[int, int] = {}
    back: dict[int, int] = {}
    for one, other in zip(*map(ast.walk, trees), strict=True):
        for place in ("lineno", "end_lineno"):
            a, b = getattr(one, place, None), getattr(other, place, None)
            if a is not None and b is not None and (there.setdefault(a, b) != b or back.setdefault(b, a) != a):
                return None
    return there


def same_lines(old: list[str], new: list[str]) -> dict[int, int]:
    """Line of the new text for each line of the old one that is still there: equal lines by their order, and an edited
    block of lines in order where it keeps its length."""
    pairs: dict[int, int] = {}
    gone: list[int] = []
    added: list[int] = []

    def close_block() -> None:
        if len(gone) == len(added):
            pairs.update(zip(gone, added, strict=True))
        gone.clear()
        added.clear()

    for mine, theirs in zip(*(each.tolist() for each in align_lines(old, new)), strict=True):
        if mine and theirs:
            close_block()
            pairs[mine] = theirs
        elif mine:
            gone.append(mine)
        else:
            added.append(theirs)
    close_block()
    return pairs


def _parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)
