"""All rules, and the findings of a report in order.

Cost: the columns of steps once for all rules of cycles, those of memory once for all rules of bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from popvision.analysis.insights import bytes_spared, bytes_used, late, vertices, waiting, work
from popvision.analysis.insights.finding import MOST_PLACES, Finding, Insights, NotLookedAt
from popvision.analysis.insights.steps import ProgramSteps, program_steps
from popvision.analysis.report.not_recorded import NotRecordedError, if_recorded
from popvision.analysis.report.tile_knowledge import phases_unknown_text, tiles_unknown
from popvision.formats.errors import FormatError

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Rules of cycles, and whether a rule needs the cycles of single tiles.
OF_CYCLES: dict[str, tuple[Callable[[ReportSource, ProgramSteps], Iterator[Finding]], bool]] = {
    "imbalance": (work.imbalance, True),
    "few_tiles": (work.few_tiles, True),
    "repeated_copy": (work.repeated_copies, False),
    "small_steps": (work.small_steps, False),
    "host": (waiting.host, False),
    "exchange": (waiting.exchange, False),
    "rearranging": (waiting.rearranging, False),
    "overlap_lost": (waiting.overlap_lost, True),
    "last_tile": (late.last_tile, True),
    "last_ipu": (late.last_ipu, False),
    "received_by_few": (late.received_by_few, False),
    "slow_vertices": (vertices.slow_vertices, True),
    "tiny_vertices": (vertices.tiny_vertices, True),
    "float_products": (vertices.float_products, True),
    "serial_passes": (vertices.serial_passes, False),
    "guesses": (vertices.guesses, True),
}
OF_BYTES: dict[str, Callable[[ReportSource], Iterator[Finding]]] = {
    "out_of_memory": bytes_used.does_not_fit,
    "little_headroom": bytes_used.little_headroom,
    "large_temporary": bytes_used.large_temporary,
    "code_larger_than_data": bytes_used.code_larger_than_data,
    "gaps": bytes_spared.gaps,
    "interleaved": bytes_spared.interleaved,
    "constants": bytes_spared.constants,
    "used_once": bytes_spared.used_once,
    "alike_exchanges": bytes_spared.alike_exchanges,
}
RULES = (*OF_CYCLES, *OF_BYTES)


def insights(source: ReportSource) -> Insights:
    """The findings of a report; a part that is missing or damaged is listed as not looked at."""
    return source.kept.recent(("insights", source.generation), lambda: _insights(source))


def _insights(source: ReportSource) -> Insights:
    findings: list[Finding] = []
    skipped: list[NotLookedAt] = []
    steps: ProgramSteps | None = None
    try:
        steps = program_steps(source)
    except (NotRecordedError, FormatError) as problem:
        skipped += [NotLookedAt(rule, str(problem)) for rule in OF_CYCLES]
    if steps is not None:
        unknown = tiles_unknown(source) or phases_unknown_text(source)
        for rule, (look, of_tiles) in OF_CYCLES.items():
            if of_tiles and unknown:
                skipped.append(NotLookedAt(rule, unknown))
            else:
                _look(rule, lambda look=look: look(source, steps), findings, skipped)  # type: ignore[misc]
    for rule, look_at in OF_BYTES.items():
        _look(rule, lambda look_at=look_at: look_at(source), findings, skipped)  # type: ignore[misc]
    if not _is_an_ipu(source):
        findings = [replace(each, change="") for each in findings]
    findings.sort(key=lambda f: (f.rule != "out_of_memory", f.unit != "cycles", -f.share, f.sentence))
    listed, further = _largest_of_each(findings)
    memory = source.reader.tile_memory()
    phases: dict[str, int] = {}
    if steps is not None:
        for row, phase in enumerate(steps.phase):
            if phase:
                phases[phase] = phases.get(phase, 0) + int(steps.cycles[row])
    return Insights(
        0 if steps is None else steps.total,
        phases,
        -1 if steps is None else steps.ipu,
        0 if memory is None else int(memory.excluding_gaps.sum()),
        tuple(listed),
        further,
        tuple(skipped),
        "" if steps is None else steps.apart,
    )


def _is_an_ipu(source: ReportSource) -> bool:
    """Whether the changes, which name Poplar's API, can be made: reports of other machines have programs without it."""
    target = if_recorded(source.reader.target)
    return target is None or target.architecture.startswith("Ipu")


def _largest_of_each(findings: list[Finding]) -> tuple[list[Finding], dict[str, int]]:
    """The MOST_PLACES largest findings of each rule, in order, and how many more each rule has."""
    number: dict[str, int] = {}
    listed = []
    for finding in findings:
        number[finding.rule] = number.get(finding.rule, 0) + 1
        if number[finding.rule] <= MOST_PLACES:
            listed.append(finding)
    return listed, {rule: count - MOST_PLACES for rule, count in number.items() if count > MOST_PLACES}


def _look(
    rule: str, look: Callable[[], Iterator[Finding]], findings: list[Finding], skipped: list[NotLookedAt]
) -> None:
    try:
        findings += look()
    except (NotRecordedError, FormatError) as problem:
        skipped.append(NotLookedAt(rule, str(problem)))
