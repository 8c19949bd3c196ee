"""Every engine and runtime option that is known. `docs/options.md` is written from these tables."""

from __future__ import annotations

from simulator.poplar.debug_options import DEBUG
from simulator.poplar.option import Option
from simulator.poplar.report_options import REPORTS, SEEN
from simulator.poplar.runtime_option_names import RUNTIME
from simulator.poplar.target_options import OPTIMISATION, OTHER, OWN, TARGET

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
