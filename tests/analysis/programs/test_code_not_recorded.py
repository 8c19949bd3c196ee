"""Code of programs where the compiler made none: not recorded, which is no figure of 0 B."""

from __future__ import annotations

import pytest

from popvision.analysis.operations.code import operation_code
from popvision.analysis.programs.table import column_totals, program_columns
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.source import ReportSource
from tests.samples import SAMPLES


def test_a_report_without_code_has_no_code_of_programs() -> None:
    source = ReportSource(SAMPLES / "matmul_chain")
    with pytest.raises(NotRecordedError):
        operation_code(source)
    assert set(program_columns(source)["code"].tolist()) == {-1}
    assert column_totals(source)["code"] == 0


def test_a_report_with_code_has_it() -> None:
    source = ReportSource(SAMPLES / "matmul_chain_hardware")
    code = program_columns(source)["code"]
    assert code.min() == 0
    assert code.sum() == column_totals(source)["code"] > 0
