"""Sentences about what a program asks for and the simulator does not do: each once per process, on standard error."""

from __future__ import annotations

import sys

_said: set[str] = set()


def no_effect(what: str) -> None:
    """Say that `what`, a name with its value, is taken but changes nothing."""
    name = what.split("=")[0]
    if name not in _said:
        _said.add(name)
        print(f"popvision: {what} has no effect in this version of the simulator.", file=sys.stderr)


def once(subject: str, sentence: str) -> None:
    """Say a sentence the first time that it concerns `subject`."""
    if subject not in _said:
        _said.add(subject)
        print(f"popvision: {sentence}", file=sys.stderr)
