"""Which test notices that a public body does nothing: the column `test` of public_names.csv for signatures of the
seeds, claims.csv for everything else. `python -m tests.stubs claim` finds new ones.

A row without a test has a reason in its place; both are read by people too.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from tests.stubs import public_names

LIST = Path(__file__).parent / "claims.csv"


@dataclass(frozen=True)
class Claim:
    name: str  #: a key of `surface.bodies`
    test: str  #: a node id of pytest
    excluded: str = ""  #: why no test can notice


def load() -> dict[str, Claim]:
    """Claims by the keys of bodies."""
    rows = [row for row in public_names.rows() if row.test and not row.excluded]
    known = {f"{row.key} {row.python}": row.test for row in rows}
    claims = {name: Claim(name, test) for name, test in known.items()}
    if LIST.exists():
        with LIST.open(newline="") as file:
            claims |= {row["name"]: Claim(row["name"], row["test"], row["excluded"]) for row in csv.DictReader(file)}
    return claims


def save(claims: dict[str, Claim]) -> None:
    """All claims, each into its list."""
    seeds = {f"{row.key} {row.python}": row.key for row in public_names.rows()}
    public_names.save({seeds[name]: claim.test for name, claim in claims.items() if name in seeds})
    with LIST.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["name", "test", "excluded"])
        for name in sorted(set(claims) - set(seeds)):
            writer.writerow([name, claims[name].test, claims[name].excluded])
