"""Every known engine and runtime option, by name: the entries of the groups together."""

from __future__ import annotations

from collections.abc import Iterable

from simulator.base.options.compile import COMPILE_SWITCHES, CompileSettings
from simulator.base.options.option import Option
from simulator.base.options.report import REPORT_SWITCHES, ReportSettings
from simulator.base.options.run import RUN_SWITCHES, RunSettings, RuntimeSettings
from simulator.base.options.settings import options_of

_RUNTIME_OPTIONS = options_of(RuntimeSettings)
_ENGINE_OPTIONS = (
    *options_of(CompileSettings),
    *COMPILE_SWITCHES,
    *options_of(RunSettings),
    *RUN_SWITCHES,
    *options_of(ReportSettings),
    *REPORT_SWITCHES,
)

#: Headings of docs/options.md and the names below each, by what a name begins with.
_PREFIXES = {
    "Debug": "debug.",
    "Optimisation": "opt.",
    "Target": "target.",
    "Reports": "autoReport.",
    "Experimental": "experimental.",
    "Of the simulator itself": "popvision.",
}


def _documented(prefix: str) -> tuple[Option, ...]:
    return _sorted(
        option for option in _ENGINE_OPTIONS if option.source == "documented" and option.name.startswith(prefix)
    )


def _sorted(options: Iterable[Option]) -> tuple[Option, ...]:
    return tuple(sorted(options, key=lambda option: option.name.lower()))


SECTIONS = {
    **{heading: _documented(prefix) for heading, prefix in _PREFIXES.items()},
    "Names from published programs and reports": _sorted(o for o in _ENGINE_OPTIONS if o.source == "seen"),
    "Runtime": _sorted(_RUNTIME_OPTIONS),
}

ENGINE_TABLE = {option.name: option for options in SECTIONS.values() for option in options}
RUNTIME_TABLE = {option.name: option for option in SECTIONS["Runtime"]}
