"""EngineOptions and RuntimeOptions: from what a program and the environment give to settings.

POPLAR_ENGINE_OPTIONS and POPLAR_RUNTIME_OPTIONS win over the program; so does POPLAR_TARGET_OPTIONS, below the
first. The options themselves, with defaults and implications, stand in simulator.base.options.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from simulator.base.errors import invalid_option
from simulator.base.log import Level, log, wants
from simulator.base.options.compile import CompileSettings
from simulator.base.options.flags import OptionFlags, from_environment
from simulator.base.options.option import OptionValues
from simulator.base.options.report import OF_EACH_ENGINE, ReportSettings
from simulator.base.options.run import RunSettings, RuntimeSettings
from simulator.base.options.settings import check, fill, notice_without_effect
from simulator.base.options.table import ENGINE_TABLE, RUNTIME_TABLE, SECTIONS
from simulator.base.target import Target, TargetType
from simulator.base.text_output import once
from simulator.base.wrong_arguments import methods_refuse_wrong_arguments

ENGINE_VARIABLE = "POPLAR_ENGINE_OPTIONS"
RUNTIME_VARIABLE = "POPLAR_RUNTIME_OPTIONS"
TARGET_VARIABLE = "POPLAR_TARGET_OPTIONS"


@dataclass(frozen=True)
class EngineOptions:
    """Settings of one engine. `given` holds what program and environment set, `values` every option, both as text."""

    given: Mapping[str, str]
    values: Mapping[str, str]
    compile: CompileSettings
    run: RunSettings
    report: ReportSettings

    def records_runs(self, target: Target) -> bool:
        """Whether a target can record runs: models always, hardware where some kind of instrumentation is on."""
        if target.type is TargetType.IPU:
            settings = self.compile
            return bool(settings.compute_level) or settings.external_exchange or settings.control_flow
        return target.type is TargetType.IPU_MODEL

    def of_compilation(self) -> dict[str, str]:
        """The options, all of them, that an executable has for good."""
        return {name: text for name, text in self.values.items() if name not in OF_EACH_ENGINE | RUNTIME_TABLE.keys()}

    def run_settings(self, target: Target, environment: Mapping[str, str]) -> RunSettings:
        """What an engine acts on while programs run: the options of runs, and what follows from the others."""
        return replace(
            self.run,
            recording=self.records_runs(target),
            blocks_of_all=self.compile.records_blocks and not self.report.output_execution_profile,
            measured_host=environment.get("POPVISION_HOST_CLOCK") == "measured",
        )

    def say_where_nothing_is_recorded(self) -> None:
        """Say once that a folder of reports was given, and nothing that goes there."""
        outputs = [name for name in self.given if name == "autoReport.all" or name.startswith("autoReport.output")]
        if "autoReport.directory" in self.given and not outputs:
            once(
                "autoReport.directory",
                f"autoReport.directory is {self.given['autoReport.directory']!r}, but no autoReport.output* option is "
                "given, so that nothing is recorded; set autoReport.all to true.",
            )

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
    given.update(_target_options(environment))
    given.update(from_environment(environment, ENGINE_VARIABLE))
    check(given, ENGINE_TABLE, "an engine option")
    notice_without_effect(given, ENGINE_TABLE)
    for name, text in given.items() if wants(Level.DEBUG) else ():
        log(Level.DEBUG, "OPTIONS", f"{name} is {text}")
    values = OptionValues(ENGINE_TABLE, given, target, environment)
    report, run = fill(ReportSettings, values), fill(RunSettings, values)
    return EngineOptions(dict(given), values.texts(), _compile_settings(values, run), run, report)


def _target_options(environment: Mapping[str, str]) -> OptionFlags:
    """Those of POPLAR_TARGET_OPTIONS. Raises `invalid_option` for another option than those of the group target."""
    given = from_environment(environment, TARGET_VARIABLE)
    names = [option.name for option in SECTIONS["Target"]]
    for name, text in given.items():
        if name not in names:
            raise invalid_option(
                f"{TARGET_VARIABLE} has '{name}' (value '{text}'), which is no target option; it takes "
                f"{', '.join(names)}."
            )
    return given


def resolve_for_executable(
    options: Mapping[str, Any] | None, environment: Mapping[str, str], compiled: EngineOptions, target: Target
) -> EngineOptions:
    """Settings of an engine made from an executable that was compiled with other settings: what compilation acted on
    stays, options of reports and runtime options are the engine's own. Raises `invalid_option` naming another option
    that differs, one that was given if there is."""
    own = resolve(options, environment, target)
    # What options of reports imply of compilation does not count as different, with the engine's or the executable's.
    reports = {name: text for name, text in compiled.given.items() if name in OF_EACH_ENGINE}
    alike = {name: text for name, text in own.given.items() if name not in OF_EACH_ENGINE} | reports
    now = OptionValues(ENGINE_TABLE, alike, target, environment)
    fixed = compiled.of_compilation()
    differ = [name for name, text in fixed.items() if text not in (own.values[name], now[name])]
    if differ:
        name = min(differ, key=lambda name: (name not in own.given and name not in compiled.given, name))
        raise invalid_option(
            f"Option '{name}' is '{now[name]}' but the executable was compiled with '{fixed[name]}'; give both the "
            "same options."
        )
    settings = replace(own, values={**own.values, **fixed}, compile=compiled.compile)
    if own.report.output_execution_profile and target.type is TargetType.IPU and not settings.records_runs(target):
        once(
            "not instrumented",
            "The executable was compiled without instrumentation, so that its runs on hardware are not recorded; "
            "compile it with autoReport.outputExecutionProfile or debug.instrument set to true.",
        )
    return settings


def _compile_settings(values: OptionValues, run: RunSettings) -> CompileSettings:
    """The options of compilation, and what the options of runs need of it."""
    settings = fill(CompileSettings, values)
    return replace(
        settings,
        memory=values.target.getTargetType() is not TargetType.CPU,
        step_by_step=run.trace or run.verify,
    )


@methods_refuse_wrong_arguments()
class RuntimeOptions:
    """Checked runtime options, `given` as strings, for `Engine.prepare` and `Engine.run`. Raises `invalid_option` for
    an unknown name or a malformed value, of the environment variable too."""

    def __init__(self, flags: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None) -> None:
        given = OptionFlags(flags or {})
        given.update(from_environment(os.environ if environment is None else environment, RUNTIME_VARIABLE))
        check(given, RUNTIME_TABLE, "a runtime option")
        self.given = dict(given)
        self.values = {name: given.get(name, option.default) for name, option in RUNTIME_TABLE.items()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuntimeOptions) and self.values == other.values

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.values.items())))

    def __repr__(self) -> str:
        return f"RuntimeOptions({self.given})"


class RuntimeLayers:
    """The runtime options in force, later ones first: POPLAR_RUNTIME_OPTIONS, the RuntimeOptions given to `run`, those
    given to `prepare`, the engine's own options, the defaults."""

    def __init__(self, engine_values: Mapping[str, str], target: Target) -> None:
        self._engine_values, self._target = engine_values, target
        self.prepare(None)

    def prepare(self, options: RuntimeOptions | Mapping[str, Any] | None) -> None:
        """Options of all runs to come. Raises `invalid_option` for those that do not go together."""
        self._prepared = self._texts(self._engine_values, options)
        self._settings = self._settings_of(self._prepared)

    def settings(self, options: RuntimeOptions | Mapping[str, Any] | None) -> RuntimeSettings:
        """Those of one run, which `options` hold for. Raises `invalid_option` for those that do not go together."""
        return self._settings if options is None else self._settings_of(self._texts(self._prepared, options))

    def _texts(self, below: Mapping[str, str], options: RuntimeOptions | Mapping[str, Any] | None) -> dict[str, str]:
        """Every runtime option: as `options` give it (flags become RuntimeOptions, as they do in C++), else as `below`,
        which may hold other options too."""
        if not isinstance(options, RuntimeOptions):
            options = RuntimeOptions(options)
        return {name: below.get(name, option.default) for name, option in RUNTIME_TABLE.items()} | options.given

    def _settings_of(self, texts: Mapping[str, str]) -> RuntimeSettings:
        return fill(RuntimeSettings, OptionValues(RUNTIME_TABLE, texts, self._target, {}))
