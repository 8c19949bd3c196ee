"""OperationAnalysis: the operations that the viewer shows, with the programs, indices and allocations of each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from popvision import pva
from popvision.analysis.operations.operations import operations
from popvision.analysis.report.source import ReportSource


@pytest.mark.parametrize("layer", ["", "poplar"])
def test_operations_are_those_of_the_viewer(made: pva.Report, made_path: Path, layer: str) -> None:
    wanted = operations(ReportSource(made_path), layer)
    found = pva.OperationAnalysis(made, layer).operations
    assert len(found) > 2
    assert [op.name for op in found] == wanted.owners.name[1:]
    assert [op.debugContext.id for op in found] == wanted.owners.context[1:].tolist()
    for row, op in enumerate(found, 1):
        assert [p._id for p in op.programs()] == np.flatnonzero(wanted.owners.program == row).tolist()
        assert (op.firstStepIndex, op.lastStepIndex) == (wanted.first_index[row], wanted.last_index[row])
        steps = [i for i, s in enumerate(made.compilation.livenessProgramSteps) if s.program in set(op.programs())]
        assert (op.firstStepIndex, op.lastStepIndex) == ((steps[0], steps[-1]) if steps else (-1, -1))
    cycles = sum(s.ipus[0].cycles for s in made.execution.steps if s.program in set(found[0].programs()))
    assert cycles == operations(ReportSource(made_path), layer, 0).cycles.cycles[1]  # type: ignore[union-attr]


def test_variables_of_an_operation(made: pva.Report) -> None:
    product = next(op for op in pva.OperationAnalysis(made).operations if op.name == "layer/product")
    assert {v._id for v in product.vars} == {v._id for p in product.programs() for v in p.vars}
    assert {"x", "layer/product/Conv_1/preRegroup"} <= {v.unloweredVar.name for v in product.vars if v.hasUnloweredVar}
    assert list(product.vars) == sorted(product.vars, key=lambda v: v._id)


def test_layers(made: pva.Report) -> None:
    assert pva.OperationAnalysis(made).layer == "poplibs"
    assert pva.OperationAnalysis(made, "PopLibs").layer == "poplibs"
    with pytest.raises(ValueError, match=r"there is no layer 'onnx': this report has .*poplibs"):
        pva.OperationAnalysis(made, "onnx")
    with pytest.raises(TypeError, match="the Report that openReport returns, not str"):
        pva.OperationAnalysis("profile.pop")  # type: ignore[arg-type]
