"""The reports that a page compares: the report of the address is the source, `vs=<key>[,<key>]` names the targets.

Summary and Overview compare with all targets, every other view with the first one, as its header says; the page of a
trace compares with a trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from popvision.analysis.report.not_recorded import FormatError
from webapp.base.library import UnknownKeyError

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.analysis.trace.columns import HostTrace
    from webapp.base.library import Library

#: The selection key of the targets, shared by all views.
KEY = "vs"

#: Views that compare with all targets.
COMPARE_WITH_ALL = ("summary", "overview")

#: Targets of one page.
MOST_TARGETS = 4


def target_keys(params: Mapping[str, Any] | None) -> list[str]:
    """The keys in `vs`, each once, at most MOST_TARGETS."""
    named = str((params or {}).get(KEY, "")).split(",")
    return list(dict.fromkeys(key for key in named if key))[:MOST_TARGETS]


def targets_of(library: Library, params: Mapping[str, Any] | None) -> list[ReportSource]:
    """The opened targets in the order of `vs`, without those that are missing or unreadable (`target_problems`)."""
    return [opened for opened in (_opened(library, key) for key in target_keys(params)) if not isinstance(opened, str)]


def opened_targets(library: Library, params: Mapping[str, Any] | None) -> dict[str, ReportSource]:
    """The opened targets by key."""
    targets = {key: _opened(library, key) for key in target_keys(params)}
    return {key: opened for key, opened in targets.items() if not isinstance(opened, str)}


def target_of_page(library: Library, params: Mapping[str, Any] | None) -> ReportSource | None:
    """The report that a view compares with: the first target, None without a comparison."""
    return next(iter(targets_of(library, params)), None)


def target_problems(library: Library, params: Mapping[str, Any] | None) -> list[str]:
    """One sentence for each target that is missing or unreadable."""
    return [opened for opened in (_opened(library, key) for key in target_keys(params)) if isinstance(opened, str)]


def compared_trace(library: Library, params: Mapping[str, Any] | None) -> HostTrace | str | None:
    """The trace that the page of a trace compares with, the first in `vs`; a sentence when it is missing or unreadable,
    None without a comparison."""
    keys = target_keys(params)
    if not keys:
        return None
    try:
        trace: HostTrace = library.trace(keys[0])
    except UnknownKeyError:
        return f"The given folders have no trace {keys[0][:60]!r} to compare with."
    except FormatError as problem:
        return str(problem)
    return trace


def _opened(library: Library, key: str) -> Any:
    try:
        return library.report(key)
    except UnknownKeyError:
        return f"The given folders have no report {key[:60]!r} to compare with."
    except FormatError as problem:
        return str(problem)
