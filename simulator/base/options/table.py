"""Every engine and runtime option that is known. `docs/options.md` is written from these tables."""

from __future__ import annotations

from simulator.base.options.debug import DEBUG
from simulator.base.options.option import Option
from simulator.base.options.report import REPORTS, SEEN
from simulator.base.options.runtime import RUNTIME
from simulator.base.options.target import OPTIMISATION, OTHER, OWN, TARGET

__all__ = [
    "DEBUG",
    "DOCUMENTED_ENGINE",
    "ENGINE_TABLE",
    "OPTIMISATION",
    "OTHER",
    "OWN",
    "REPORTS",
    "RUNTIME",
    "RUNTIME_TABLE",
    "SEEN",
    "TARGET",
    "Option",
]

DOCUMENTED_ENGINE = DEBUG + OPTIMISATION + TARGET + REPORTS + OTHER
ENGINE_TABLE = {option.name: option for option in DOCUMENTED_ENGINE + OWN + SEEN + RUNTIME}
RUNTIME_TABLE = {option.name: option for option in RUNTIME}
