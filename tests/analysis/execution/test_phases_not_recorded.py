"""Phases that hardware did not record are said to be so, by every reader of shares; they are not zero."""

from __future__ import annotations

import numpy as np
import pytest

import popvision
from popvision.analysis.compare.metrics import measure
from popvision.analysis.execution.phases import PHASES, phase_totals
from popvision.analysis.execution.window import window_figures
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tile_knowledge import phases_unknown, phases_unknown_text
from popvision.analysis.summary.headline import headline
from popvision.analysis.summary.profile_summary import profile_summary
from tests.engine.test_option_effects import PROFILE, hardware, model, run

EXTERNAL = {"global exchange": "debug.instrumentExternalExchange", "host": "debug.instrumentExternalExchange"}
COMPUTE = dict.fromkeys(("compute", "exchange", "sync"), "debug.instrumentCompute")


@pytest.mark.parametrize(
    ("target", "off", "unknown"),
    [
        (hardware, [], {}),
        (hardware, ["ExternalExchange"], EXTERNAL),
        (hardware, ["Compute"], COMPUTE),
        (hardware, ["Compute", "ExternalExchange"], COMPUTE | EXTERNAL),
        (hardware, ["ControlFlow"], {}),
        (model, ["Compute", "ExternalExchange"], {}),
    ],
)
def test_phases_without_counters_are_unknown(tmp_path, target, off, unknown):
    run(target(), tmp_path, PROFILE | {f"debug.instrument{kind}": "false" for kind in off})
    source = ReportSource(tmp_path)
    assert phases_unknown(source) == unknown
    totals = phase_totals(source)
    known = [phase for phase in PHASES if phase not in unknown]
    assert list(headline(source).shares) == known
    shares = sum(totals.share(phase) for phase in known)
    assert (shares < 0.999) if unknown else shares == pytest.approx(1)
    frame = popvision.open(tmp_path).phases().set_index("phase")
    assert frame.index[np.isnan(frame.time_share)].tolist() == [phase for phase in PHASES if phase in unknown]
    text = profile_summary(source)
    for option in set(unknown.values()):
        assert f"not recorded ({option} was off)" in text
        assert f"Run with {option}=true" in phases_unknown_text(source)
    assert ("not recorded" in text) == bool(unknown)
    values = measure(source)
    for phase in PHASES:
        name = phase.replace(" ", "_")
        has_none = phase in unknown or not totals.of_tiles  # lengths of steps are no averages of tiles
        assert (values[f"{name}_share"] is None) == (values[f"{name}_cycles"] is None) == has_none
    figures = window_figures(source, 0, 0, source.reader.total_cycles())
    assert [phase for phase in PHASES if figures.share(phase) is None] == [p for p in PHASES if p in unknown]
    assert (figures.unrecorded > 0) == bool(unknown)
    assert figures.all_cycles == 4 * source.reader.total_cycles() or not figures.of_tiles
    for phase in known:
        if figures.of_tiles:
            assert figures.recorded_cycles(phase) <= totals.tile_cycles[phase]
