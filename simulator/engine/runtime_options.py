"""RuntimeOptions: how the host side of runs behaves.

What holds for a run, later ones first: POPLAR_RUNTIME_OPTIONS, the RuntimeOptions given to `run`, those given to
`prepare`, the engine's own options, the defaults.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from simulator.base.options.flags import OptionFlags, from_environment
from simulator.base.options.option import OptionValues
from simulator.base.options.run import RuntimeSettings
from simulator.base.options.settings import check, fill
from simulator.base.options.table import RUNTIME_TABLE
from simulator.base.target import Target

VARIABLE = "POPLAR_RUNTIME_OPTIONS"


class RuntimeOptions:
    """Checked runtime options, `given` as strings, for `Engine.prepare` and `Engine.run`. Raises `invalid_option` for
    an unknown name or a malformed value, of the environment variable too."""

    def __init__(self, flags: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None) -> None:
        given = OptionFlags(flags or {})
        given.update(from_environment(os.environ if environment is None else environment, VARIABLE))
        check(given, RUNTIME_TABLE, "a runtime option")
        self.given = dict(given)
        self.values = {name: given.get(name, option.default) for name, option in RUNTIME_TABLE.items()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuntimeOptions) and self.values == other.values

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.values.items())))

    def __repr__(self) -> str:
        return f"RuntimeOptions({self.given})"


def runtime_values(below: Mapping[str, str], options: RuntimeOptions | Mapping[str, Any] | None) -> dict[str, str]:
    """Every runtime option as text: as `options` (flags become RuntimeOptions, as they do in C++) give it, else as
    `below`, which may hold other options too."""
    if options is not None and not isinstance(options, RuntimeOptions):
        options = RuntimeOptions(options)
    values = {name: below.get(name, option.default) for name, option in RUNTIME_TABLE.items()}
    values.update((options or RuntimeOptions()).given)
    return values


def runtime_settings(texts: Mapping[str, str], target: Target) -> RuntimeSettings:
    """The settings that `runtime_values` mean. Raises `invalid_option` for options that do not go together."""
    return fill(RuntimeSettings, OptionValues(RUNTIME_TABLE, texts, target, {}))
