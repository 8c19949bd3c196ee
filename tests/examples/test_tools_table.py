"""Programs of PopLibs' own tools beside the published figures: `python -m benchmarks.validate --tools`."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.tools import command, summary
from benchmarks.tools.measure import Measured, measure
from benchmarks.tools.programs import TOOLS
from benchmarks.tools.table import Parameters, Published, fitted, rows

_ROWS = {f"{row.name} {row.chip}": row for row in rows()}


def test_the_table_is_whole_and_every_tool_is_known() -> None:
    assert len(_ROWS) == len(rows()) == 216
    assert len({row.name for row in rows()}) == 108
    assert {row.tool for row in rows()} == set(TOOLS)


@pytest.mark.parametrize(
    "key",
    [
        "bert_reduce_0 ipu1",
        "inception_tr_bs1_i10_dmax_pool ipu2",
        "cholesky_batch_1_dim_16_block_16_lower_false_type_half ipu1",
    ],
)
def test_the_page_holds_the_figures_of_a_row(key: str) -> None:
    line = summary.line(summary.Compared(_ROWS[key], measure(_ROWS[key])))
    figures = line.rsplit("|", 2)[0]
    assert any(text.startswith(figures) for text in command.PAGE.read_text("utf-8").splitlines()), line


def test_finished_rows_are_kept_and_a_part_leaves_the_page_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "KEPT", tmp_path / "kept" / "tools.jsonl")
    monkeypatch.setattr(command, "PAGE", tmp_path / "page.md")
    part = ["--only", "bert_reduce_0", "--part", "2/2"]
    assert command.main(part) == 0
    assert "| bert_reduce_0 | ipu2 |" in capsys.readouterr().out
    assert not command.PAGE.exists()
    monkeypatch.setattr(command, "measure", lambda row: pytest.fail(f"{row.name} ran again"))
    assert command.main([*part, "--page"]) == 0
    page = command.PAGE.read_text("utf-8")
    assert page.count("| bert_reduce_0 |") == 1
    assert "215 of 216 rows are not there" in page
    other = tmp_path / "other.csv"
    figures = "name,tool,parameters,target,cycles,total_memory_bytes,largest_tile_bytes"
    other.write_text(f"{figures}\nbert_reduce_0,reduce_op,--shape=4 --dims=0,IpuModel2,1,1,1\n", "utf-8")
    monkeypatch.setattr(command, "measure", lambda row: Measured(12_345))
    assert command.main(["--table", str(other)]) == 0
    assert "12,345" in capsys.readouterr().out, "the figures of another program of this name are not those of the row"


def test_rows_run_again_leave_the_others_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "KEPT", tmp_path / "kept" / "tools.jsonl")
    monkeypatch.setattr(command, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(command, "measure", lambda row: Measured(1, 1, 1))
    assert command.main(["--only", "bert_reduce_0"]) == 0
    assert command.main(["--only", "bert_reduce_0", "--part", "2/2", "--again", "--page"]) == 0
    assert "214 of 216 rows are not there" in command.PAGE.read_text("utf-8")


def test_a_tool_without_its_function_says_which() -> None:
    row = next(row for row in rows() if row.tool == "ctc_loss")
    assert measure(row) == Measured(missing="popnn.ctc")
    assert "missing: popnn.ctc" in summary.line(summary.Compared(row, measure(row)))


def test_a_parameter_that_no_tool_reads_is_refused() -> None:
    row = Published("a", "reduce_op", "--shape=4,4 --dims=1 --flavour 3", "ipu2", 1, 1, 1)
    with pytest.raises(ValueError, match="reduce_op does not read --flavour"):
        measure(row)


@pytest.mark.parametrize("tool", ["lstm_layer", "gru_layer"])
def test_a_phase_that_is_not_built_is_missing(tool: str) -> None:
    row = Published("a", tool, f"{_SMALL[tool]} --phase bwd --tiles-per-ipu 16", "ipu2", 1, 1, 1)
    assert measure(row) == Measured(missing="a layer in the phase bwd alone")


_SMALL = {
    "embedding_layer": "--shape {500,16} --num-indices 32",
    "fully_connected_layer": "--input-size 16 --output-size 8 --batch-size 4 --bias 0",
    "general_matrix_multiply": "--m 256 --k 256 --n 256",
    "gru_layer": "--batch-size 2 --sequence-size 2 --input-size 8 --output-size 8 --phase all",
    "lstm_layer": "--batch-size 2 --sequence-size 2 --input-size 8 --output-size 8 --phase all",
    "matrix_solver": "--a-rank 8 --b-rank 2 --block-size 4 --data-type float",
    "oct_conv": "--field {8,8} --kernel-size 3 --padding 1 --input-channels 16 --output-channels 16 --alpha 0.5",
    "pooling_layer": "--field {8,8} --kernel {3,3} --channels 16 --stride 2",
    "reduce_op": "--shape=16,4 --dims=1 --type=float",
    "single_conv_layer": "--field {8,8} --kernel-size 3 --padding 1 --input-channels 16 --output-channels 16 --bias 0",
}


@pytest.mark.parametrize("tool", sorted(_SMALL))
def test_every_tool_builds_its_program(tool: str) -> None:
    found = measure(Published("a", tool, f"{_SMALL[tool]} --tiles-per-ipu 16", "ipu2", 1, 1, 1))
    assert min(found.cycles, found.memory, found.largest_tile) > 0


def test_parameters() -> None:
    found = Parameters("--field {7,5} --stride 2 --cholesky --left-side=false --dims=1,3")
    assert found.numbers("field") == [7, 5]
    assert found.along("stride", 2, 1) == [2, 2]
    assert found.along("padding", 2, 0) == [0, 0]
    assert (found.flag("cholesky"), found.flag("left-side")) == (True, False)
    assert found.unread == ["dims"]
    with pytest.raises(ValueError, match="--cholesky is no, not true or false"):
        Parameters("--cholesky no").flag("cholesky")


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
