"""claims.csv: which test notices that a public body does nothing. `python -m tests.stubs claim` finds new ones.

A row without a test has a reason in its place; both are read by people too.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).parent / "claims.csv"


@dataclass(frozen=True)
class Claim:
    name: str  #: a key of `surface.bodies`
    test: str  #: a node id of pytest
    excluded: str = ""  #: why no test can notice


def load() -> dict[str, Claim]:
    """Claims by name."""
    if not LIST.exists():
        return {}
    with LIST.open(newline="") as file:
        return {row["name"]: Claim(row["name"], row["test"], row["excluded"]) for row in csv.DictReader(file)}


def save(claims: dict[str, Claim]) -> None:
    """All claims, sorted by name."""
    with LIST.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["name", "test", "excluded"])
        for name in sorted(claims):
            writer.writerow([name, claims[name].test, claims[name].excluded])
