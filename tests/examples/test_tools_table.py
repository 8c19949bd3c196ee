"""Programs of PopLibs' own tools beside the published figures: `python -m benchmarks.validate --tools`."""

from __future__ import annotations

import pytest

from benchmarks.tools import command, summary
from benchmarks.tools.measure import Measured, measure
from benchmarks.tools.programs import TOOLS
from benchmarks.tools.table import Parameters, Published, fitted, rows

_ROWS = {row.key: row for row in rows()}


def test_the_table_is_whole_and_every_tool_is_known() -> None:
    assert len(_ROWS) == len(rows()) == 216
    assert len({row.name for row in rows()}) == 108
    assert {row.tool for row in rows()} == set(TOOLS)


@pytest.mark.parametrize("key", ["bert_reduce_0 ipu1", "inception_tr_bs1_i10_dmax_pool ipu2"])
def test_the_page_holds_the_figures_of_a_row(key: str) -> None:
    line = summary.line(summary.Compared(_ROWS[key], measure(_ROWS[key])))
    figures = line.rsplit("|", 2)[0]
    assert any(text.startswith(figures) for text in command.PAGE.read_text("utf-8").splitlines()), line


def test_a_tool_without_its_function_says_which() -> None:
    row = next(row for row in rows() if row.tool == "ctc_loss")
    assert measure(row) == Measured(missing="popnn.ctc")
    assert "missing: popnn.ctc" in summary.line(summary.Compared(row, measure(row)))


def test_a_parameter_that_no_tool_reads_is_refused() -> None:
    row = Published("a", "reduce_op", "--shape=4,4 --dims=1 --flavour 3", "ipu2", 1, 1, 1)
    with pytest.raises(ValueError, match="reduce_op does not read --flavour"):
        measure(row)


def test_parameters() -> None:
    found = Parameters("--field {7,5} --stride 2 --cholesky --left-side=false --dims=1,3")
    assert found.numbers("field") == [7, 5]
    assert found.along("stride", 2, 1) == [2, 2]
    assert found.along("padding", 2, 0) == [0, 0]
    assert (found.flag("cholesky"), found.flag("left-side")) == (True, False)
    assert found.unread == ["dims"]


def test_the_summary_counts_chips_as_halves_of_a_program() -> None:
    def compared(name: str, chip: str, cycles: int) -> summary.Compared:
        return summary.Compared(Published(name, "reduce_op", "", chip, 100, 100, 100), Measured(cycles, 114, 111, 0.1))

    pairs = [
        compared("a", "ipu1", 104),
        compared("a", "ipu2", 120),
        compared("b", "ipu2", 90),
        compared("c", "ipu1", 1),
    ]
    line = summary.summary(pairs[:3])[2]
    assert line == "| reduce_op | 2 | 33% | 67% | 100% | 1.04 | 0.90-1.20 | 100% | 0% |"
    assert [fitted(name, ["a", "b", "c"]) for name in "abc"] == [True, True, False]
    assert "| first halves, for fitting | 1 |" in "\n".join(summary.summary(pairs[:3]))
