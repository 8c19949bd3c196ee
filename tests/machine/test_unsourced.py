"""Every constant of the costs has a source, or is in the list of those without one."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest
from syntax_trees import syntax_tree

import simulator
from simulator.machine.unsourced import UNSOURCED

ROOM = Path(simulator.__file__).parent
PUBLISHED = re.compile(r"published|poplar-model|exact|estimator|headers", re.IGNORECASE)
DOUBTFUL = re.compile(r"\bfitted\b|\bguess", re.IGNORECASE)
#: share a comment with constants that are fitted, and are published themselves, as that comment says
BESIDE = {
    ("machine.exchange", "CODE_PER_FRAGMENT"),
    ("machine.footprint", "WORKER_SCRATCH"),
    ("machine.footprint", "WORKERS"),
    ("machine.footprint", "POINTER_PER_EDGE"),
    ("machine.footprint", "COUNTER_BYTES"),
    ("machine.links", "LINKS_TO_PARTNER"),
}
LISTED = {(entry.module, re.split(r"[.\[]", entry.name)[0]) for entry in UNSOURCED}


def constants() -> list[tuple[str, str, str, str]]:
    """(module, name, comment that belongs to it, module text) of every number assigned at the top of a module."""
    found = []
    for path in sorted(ROOM.rglob("*.py")):
        module = ".".join(path.relative_to(ROOM).with_suffix("").parts)
        lines, tree = path.read_text().splitlines(), syntax_tree(path)
        for node in tree.body:
            if isinstance(node, ast.Assign) and is_number(node.value):
                text, about = comment(lines, node), ast.get_docstring(tree) or ""
                for target in node.targets:
                    for name in target.elts if isinstance(target, ast.Tuple) else [target]:
                        found.append((module, getattr(name, "id", ""), text, about))
    return found


def is_number(node: ast.expr) -> bool:
    """A literal number, or made of such: arithmetic, tuples."""
    if isinstance(node, ast.Tuple):
        return all(is_number(part) for part in node.elts)
    if isinstance(node, ast.BinOp):
        return is_number(node.left) and is_number(node.right)
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)


def comment(lines: list[str], node: ast.Assign) -> str:
    """Comments beside the constant and above it or above the constants that it follows without a blank line."""
    row, found = node.lineno - 1, [lines[node.lineno - 1].partition("#")[2]]
    while row > 0 and lines[row - 1].strip():
        row -= 1
        if lines[row].lstrip().startswith("#"):
            found.insert(0, lines[row])
        elif any(line.lstrip().startswith("#") for line in found):
            break
    return " ".join(found)


def test_every_constant_has_a_source_or_is_listed() -> None:
    unlisted, unsourced = [], []
    found = constants()
    for module, name, text, about in found:
        listed = (module, name) in LISTED | BESIDE
        if DOUBTFUL.search(text):
            unlisted += [] if listed else [f"{module}.{name}"]
        elif module.startswith("machine.") and not (listed or PUBLISHED.search(text) or PUBLISHED.search(about)):
            unsourced += [] if module == "machine.targets" else [f"{module}.{name}"]
    assert not unlisted, "fitted or guessed: list these in unsourced.py"
    assert not unsourced, "these name no source"
    assert sum(module.startswith("machine.") for module, *_ in found) > 60


def test_fields_of_chips_marked_as_fitted_are_listed_or_cost_nothing() -> None:
    """F = fitted; what no cost depends on (columns, counters of the instruction set) is not a constant of the costs."""
    text = (ROOM / "machine/targets.py").read_text()
    fitted = set(re.findall(r"^    (\w+): [^\n]*#: [^\n]*\bF\b", text, re.MULTILINE))
    listed = {entry.name.removeprefix("Chip.") for entry in UNSOURCED if entry.module == "machine.targets"}
    assert "min_ipu_sync_delay" in fitted & listed
    assert fitted - listed <= {"columns", "rpt_count_max", "stride_bits"}


def test_every_entry_is_a_number_that_exists_once(subtests: pytest.Subtests) -> None:
    for entry in UNSOURCED:
        with subtests.test(f"{entry.module}.{entry.name}"):
            module = importlib.import_module(f"simulator.{entry.module}")
            owner, _, key = entry.name.replace("Chip.", "MK2.").replace("[", ".").rstrip("]").partition(".")
            value = getattr(module, owner)
            if key:
                value = value[key] if isinstance(value, dict) else getattr(value, key)
            assert isinstance(value, int | float)
            assert value > 0
            assert entry.why
            assert UNSOURCED.count(entry) == 1
