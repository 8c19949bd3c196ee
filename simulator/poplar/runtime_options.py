"""RuntimeOptions: how the host side of a run behaves.

POPLAR_RUNTIME_OPTIONS overrides what the program gives. None of these changes what the simulator does yet; they are
checked, kept for the report, and say so once when they differ from their default.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from simulator.poplar.option_flags import OptionFlags, checked, from_environment, notice_without_effect
from simulator.poplar.option_table import RUNTIME_TABLE

VARIABLE = "POPLAR_RUNTIME_OPTIONS"


class RuntimeOptions:
    """Checked runtime options; `values` holds all of them as strings. Raises `invalid_option`."""

    def __init__(self, flags: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None) -> None:
        given = OptionFlags(flags or {})
        given.update(from_environment(os.environ if environment is None else environment, VARIABLE))
        for name, value in given.items():
            checked(name, value, RUNTIME_TABLE, "a runtime option")
        notice_without_effect(given, RUNTIME_TABLE)
        self.given = dict(given)
        self.values = {name: given.get(name, option.default) for name, option in RUNTIME_TABLE.items()}
