"""EngineOptions: the settings of one engine, from the options that a program and POPLAR_ENGINE_OPTIONS give.

The environment variable wins over the program. Names, defaults and what implies what stand in simulator.base.options.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from simulator.base.options.compile import CompileSettings
from simulator.base.options.flags import OptionFlags, from_environment
from simulator.base.options.option import OptionValues
from simulator.base.options.report import ReportSettings
from simulator.base.options.run import RunSettings
from simulator.base.options.settings import check, fill, notice_without_effect
from simulator.base.options.table import ENGINE_TABLE
from simulator.base.target import Target, TargetType

VARIABLE = "POPLAR_ENGINE_OPTIONS"


@dataclass(frozen=True)
class EngineOptions:
    """Settings of one engine. `given` holds what program and environment set, `values` every option, both as text."""

    given: Mapping[str, str]
    values: Mapping[str, str]
    compile: CompileSettings
    run: RunSettings
    report: ReportSettings

    def facts(self) -> dict[str, Any]:
        """What a report says about the options."""
        return {
            "engineOptions": dict(self.values),
            "engineOptionsGiven": dict(self.given),
            "computeInstrumentation": self.compile.compute_level.capitalize() or "Off",
            "externalExchangeInstrumentation": "Tile" if self.compile.external_exchange else "Off",
            "controlFlowInstrumentation": "On" if self.compile.control_flow else "Off",
        }


def resolve(options: Mapping[str, Any] | None, environment: Mapping[str, str], target: Target) -> EngineOptions:
    """Settings for a target. Raises `invalid_option` naming option and value, or the environment variable."""
    given = OptionFlags(options or {})
    given.update(from_environment(environment, VARIABLE))
    check(given, ENGINE_TABLE, "an engine option")
    notice_without_effect(given, ENGINE_TABLE)
    values = OptionValues(ENGINE_TABLE, given, target, environment)
    report, run = fill(ReportSettings, values), fill(RunSettings, values)
    return EngineOptions(dict(given), values.texts(), _compile_settings(values, run, report), run, report)


def _compile_settings(values: OptionValues, run: RunSettings, report: ReportSettings) -> CompileSettings:
    """What the compiler acts on: its own options, and what runs and reports need of it."""
    settings = fill(CompileSettings, values)
    return replace(
        settings,
        memory=values.target.getTargetType() is not TargetType.CPU,
        lowered_variables=(
            report.output_lowered_vars
            or report.writes_archive
            or report.lowered_dump is not None
            or settings.address_accurate
            or settings.verify
        ),
        serialized_graph=report.output_serialized_graph,
        step_by_step=run.trace or run.verify,
    )
