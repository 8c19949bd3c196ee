"""Reports of processes that shared a folder, with no launcher to number them, are a set of ranks."""

from pathlib import Path

import pytest

from popvision.analysis.ranks.process_folders import ProcessFacts, numbered, process_facts
from popvision.analysis.ranks.rank_set import find_rank_sets
from tests.analysis.ranks.rank_program import run_program
from tests.cli.called import popvision

SHARED = Path("/runs/out")


def run_below(folder: Path, number: int) -> None:
    run_program(number, options={"autoReport.outputExecutionProfile": "true", "autoReport.directory": str(folder)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three processes, one after the other here, and before them one of another run, which left its folder."""
    shared = tmp_path_factory.mktemp("runs") / "out"
    for name, number in (("process_30", 1), ("", 4), ("process_20", 2), ("process_10", 6)):
        run_below(shared / name, number)
    return shared


def test_those_that_came_while_the_first_had_the_folder_are_a_set(folder: Path) -> None:
    for place in (folder, folder.parent, folder / "process_10"):
        ([found], note) = find_rank_sets(place)
        assert (found.ranks, found.missing, found.engine, note) == (3, [], "", "")
        assert found.folders == {0: folder, 1: folder / "process_20", 2: folder / "process_10"}


def test_a_folder_of_another_run_is_no_rank(folder: Path) -> None:
    (sets, _) = find_rank_sets(folder / "process_30")
    assert [folder / "process_30" in found.folders.values() for found in sets] == [False]


def test_the_command_compares_them(folder: Path) -> None:
    text = popvision("ranks", folder).stdout
    assert text.startswith("3 ranks of the processes that shared out (numbered by when they came)\nRank 2 is slowest: ")
    assert "process_10" in text
    assert "process_30" not in text


@pytest.mark.parametrize("since", [None, "1", True, -1, 1.5])
def test_what_is_no_moment(since: object) -> None:
    assert process_facts({"folderSince": since}) is None
    assert process_facts({}) is None


def test_engines_are_of_their_process_and_strangers_of_none() -> None:
    reports = {
        SHARED: 10,
        SHARED / "engine_1": 10,
        SHARED / "training": 10,
        SHARED / "other": 7,  # another program's, whose folder lies below
        SHARED / "process_1": 12,
        SHARED / "process_1" / "training": 12,
        SHARED / "process_2_1": 11,
        SHARED / "process_3": 9,
        SHARED.parent / "alone": 50,
    }
    places = numbered({path: ProcessFacts(since, "") for path, since in reports.items()})
    assert {path: place.number for path, place in places.items()} == {
        SHARED: 0,
        SHARED / "engine_1": 0,
        SHARED / "training": 0,
        SHARED / "process_2_1": 1,
        SHARED / "process_1": 2,
        SHARED / "process_1" / "training": 2,
    }
    assert {place.processes for place in places.values()} == {3}


def test_processes_are_a_set_without_the_first_ones_report() -> None:
    reports = {SHARED / "process_1": ProcessFacts(2, ""), SHARED / "process_2": ProcessFacts(1, "")}
    assert {path.name: place.number for path, place in numbered(reports).items()} == {"process_1": 1, "process_2": 0}
