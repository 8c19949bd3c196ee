"""The list of operators in docs/tensorflow.md: python -m simulator.frontends.tensorflow.documents.operators FILE.

The part of the file from its heading on is written anew; what stands before it stays."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from simulator.frontends import lowering
from simulator.frontends.lowering.rules import TABLE
from simulator.frontends.tensorflow.capture import converters
from simulator.frontends.tensorflow.capture.conversion import CONVERTERS

#: begins the part that lists operators
OPERATORS = "## Operators"

_HEAD = """
Written from the tables of converters and rules by `python -m simulator.frontends.tensorflow.documents.operators
docs/tensorflow.md`.

These operators of TensorFlow are captured. An operator whose inputs are all known when the function is compiled, as the
arithmetic of shapes is, runs on the host whatever it is. Another one is refused by a sentence that names it, its line
and this page.

| family | operators |
| --- | --- |"""

_RULES = """
They become the rules of [PyTorch's operators](poptorch.md#operators) where those mean the same, and these where not:

| rule | named | calls |
| --- | --- | --- |"""


def section() -> str:
    """The part of the page from its heading on."""
    return "\n".join([OPERATORS, _HEAD, *_families(), _RULES, *_rules(), ""])


def _families() -> Iterator[str]:
    """Rows of operators by the module of their converters."""
    assert converters is not None, "its import registers the converters"
    families: dict[str, list[str]] = {}
    for type_, convert in CONVERTERS.items():
        families.setdefault(convert.__module__.rpartition(".")[2], []).append(type_)
    for family, types in sorted(families.items()):
        yield f"| {family.replace('_', ' ')} | {', '.join(f'`{one}`' for one in sorted(types))} |"


def _rules() -> Iterator[str]:
    assert lowering is not None, "its import registers the rules"
    for rule in sorted(TABLE, key=lambda one: one.name):
        if rule.name.startswith(("tf.", "control.")):
            yield f"| `{rule.name}` | {rule.kind} | {rule.call} |"


def rewritten(page: str) -> str:
    """The page with its list of operators as the tables have it."""
    return page.partition(OPERATORS)[0] + section()


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(rewritten(path.read_text()))
