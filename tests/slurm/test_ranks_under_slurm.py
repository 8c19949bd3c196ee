"""A plain Poplar program on four ranks of a real job step: each on an IPU of its own, one report set."""

from __future__ import annotations

import json

from popvision.formats.profile import ProfileReader
from tests.slurm.shell import Shell

_PROFILED = """POPLAR_ENGINE_OPTIONS='{"autoReport.all":"true", "autoReport.directory":"./out"}'"""
_PROGRAM = "python -m tests.analysis.ranks.rank_program 3"


def test_four_ranks_are_one_report_set(shell: Shell) -> None:
    ids = shell.output(f"POPVISION_TILES=4 {_PROFILED} srun --ntasks=4 --ipus=4 {_PROGRAM}").split()
    assert sorted(ids) == ["0", "1", "2", "3"]
    folders = sorted((shell.folder / "out").iterdir())
    assert [folder.name for folder in folders] == ["rank_0", "rank_1", "rank_2", "rank_3"]
    metas = [ProfileReader(folder / "profile.pop").meta for folder in folders]
    assert [meta["rank"]["rank"] for meta in metas] == [0, 1, 2, 3]
    assert len({meta["rank"]["run"] for meta in metas}) == 1
    assert all(ProfileReader(folder / "profile.pop").target().type == "Ipu" for folder in folders)
    (answer,) = json.loads(shell.output("popvision ranks out --json"))
    assert (answer["ranks"], answer["missing"]) == (4, [])
    cycles = [row["cycles"] for row in answer["by_rank"]]
    assert cycles == sorted(set(cycles))  # each counts down from a higher number than the one before
    assert answer["sentences"][0].startswith("Rank 3 is slowest: ")


def test_the_ranks_of_a_later_step_replace_those_of_an_earlier_one(shell: Shell) -> None:
    """The second step overwrites the ranks that it has; the rest stays as a set with missing ranks."""
    shell.output(f"POPVISION_TILES=4 {_PROFILED} srun --ntasks=3 --ipus=4 {_PROGRAM}")
    shell.output(f"POPVISION_TILES=4 {_PROFILED} srun --ntasks=2 --ipus=2 {_PROGRAM}")
    answers = json.loads(shell.output("popvision ranks out --json"))
    assert [(answer["ranks"], answer["missing"]) for answer in answers] == [(2, []), (3, [0, 1])]


def test_a_step_of_one_task_writes_where_it_is_told(shell: Shell) -> None:
    shell.output(f"POPVISION_TILES=4 {_PROFILED} srun --ntasks=1 --ipus=1 {_PROGRAM}")
    assert (shell.folder / "out" / "profile.pop").is_file()
