"""Where the ranks of a job step write their reports, and what they say of themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from popvision.formats.profile import ProfileReader
from simulator.base.errors import invalid_option
from simulator.base.rank import Rank, rank_of
from tests.analysis.ranks.rank_program import RUN, run_program, run_rank, step_variables


def test_a_task_of_a_step_is_a_rank() -> None:
    assert rank_of(step_variables(2, 4)) == Rank(2, 4, RUN)
    assert rank_of({name: text for name, text in step_variables(0, 2).items() if "PORT" not in name}) == Rank(
        0, 2, "slurm 7.0"
    )


TORCHRUN = {"RANK": "1", "WORLD_SIZE": "3", "MASTER_ADDR": "host", "MASTER_PORT": "29500", "TORCHELASTIC_RUN_ID": "a"}
MPIRUN = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "3", "PMIX_NAMESPACE": "prterun-host-7@1"}
MPIEXEC = {"PMI_RANK": "1", "PMI_SIZE": "3"}
LAUNCHERS = {"torchrun": TORCHRUN, "mpirun": MPIRUN, "mpiexec": MPIEXEC}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_process_of_any_launcher_is_a_rank(launcher: str) -> None:
    variables = LAUNCHERS[launcher]
    found = rank_of(variables)
    assert found is not None
    assert (found.rank, found.ranks) == (1, 3)
    assert found.run.startswith(f"{launcher} ")
    assert "host" not in found.run
    number, count = list(variables)[:2]
    zero = rank_of(variables | {number: "0"})
    assert zero is not None
    assert (zero.rank, zero.run) == (0, found.run)
    for wrong in ({count: "1"}, {number: "3"}, {number: "-1"}, {count: "many"}, {count: ""}):
        assert rank_of(variables | wrong) is None
    assert rank_of({name: text for name, text in variables.items() if name != count}) is None


def test_runs_of_one_launcher_differ() -> None:
    runs = {rank_of(TORCHRUN | {"MASTER_PORT": port}).run for port in ("29500", "29501")}  # type: ignore[union-attr]
    assert len(runs) == 2


def test_the_innermost_launcher_counts() -> None:
    step = step_variables(2, 4)
    assert rank_of(step | TORCHRUN) == rank_of(TORCHRUN)
    assert rank_of(step | MPIEXEC) == Rank(2, 4, RUN)
    assert rank_of({"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "4"}) == Rank(2, 4, "slurm 0.0")


@pytest.mark.parametrize(
    "change",
    [
        {"SLURM_STEP_NUM_TASKS": "1"},
        {"SLURM_STEP_NUM_TASKS": ""},
        {"SLURM_PROCID": "4"},
        {"SLURM_PROCID": "-1"},
        {"SLURM_PROCID": "²"},
        {"SLURM_STEP_ID": "batch"},
    ],
)
def test_what_is_no_rank(change: dict[str, str]) -> None:
    assert rank_of(step_variables(2, 4) | change) is None
    assert rank_of({}) is None


@pytest.mark.parametrize(
    ("rank", "ranks", "directory", "expected"),
    [
        (2, 4, "out", "out/rank_2"),
        (2, 11, "out", "out/rank_02"),
        (3, 4, "out_3", "out_3/rank_3"),
    ],
)
def test_the_folder_of_a_rank(rank: int, ranks: int, directory: str, expected: str) -> None:
    assert Rank(rank, ranks, "any").folder(Path(directory)) == Path(expected)


def test_ranks_write_beside_each_other(tmp_path: Path) -> None:
    for rank in (0, 1):
        run_rank(tmp_path, rank, 2, 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rank_0", "rank_1"]
    for rank in (0, 1):
        meta = ProfileReader(tmp_path / f"rank_{rank}" / "profile.pop").meta
        assert meta["rank"] == {"rank": rank, "ranks": 2, "run": RUN}


def test_a_program_that_keeps_its_ranks_apart_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPVISION_RANK_FOLDERS", "off")
    run_rank(tmp_path, 1, 2, 1)
    assert ProfileReader(tmp_path / "profile.pop").meta["rank"]["rank"] == 1
    monkeypatch.setenv("POPVISION_RANK_FOLDERS", "no")
    with pytest.raises(invalid_option, match="POPVISION_RANK_FOLDERS='no' is neither on nor off"):
        run_rank(tmp_path, 1, 2, 1)


def test_a_program_alone_writes_where_it_is_told(tmp_path: Path) -> None:
    run_program(1, options={"autoReport.all": "true", "autoReport.directory": str(tmp_path)})
    assert (tmp_path / "profile.pop").is_file()
    assert "rank" not in ProfileReader(tmp_path / "profile.pop").meta
