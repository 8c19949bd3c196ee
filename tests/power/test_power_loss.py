"""The power is lost at an fsync of a report or trace: what is read then is sound, and every finished run is there.

`pytest tests/power -m long` takes every fsync, also of a program that runs on an engine; a commit takes some.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from popvision.analysis.trace.source import TraceSource
from popvision.answers.verification import files_to_verify, verify_file
from popvision.formats.profile import ProfileReader, ProfileWriter
from tests.formats.mutated_formats import FORMATS, begun_journal, write_turn
from tests.formats.mutations import pva_figures
from tests.power.recorded_writes import Operation, compiled, record
from tests.power.replayed_disk import Loss, losses
from tests.power.written_files import TURNS, append_runs
from tests.pvti.trace_answers import Answers, answers_of
from tests.reports import tiny_compilation

#: Losses in part at each fsync.
SEEDS = 12


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("power"))


@pytest.fixture(scope="module")
def logs(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Operation]]:
    """What each program did, recorded once."""
    recorded: dict[str, list[Operation]] = {}

    def log(name: str) -> list[Operation]:
        if name not in recorded:
            program = f"import sys; from tests.power.written_files import WRITERS; WRITERS[{name!r}](sys.argv[1])"
            recorded[name] = record(library, program, tmp_path_factory.mktemp("log") / "folder")
        return recorded[name]

    return log


def left(loss: Loss, folder: Path) -> Path:
    """What the loss left, as files in the folder, which holds nothing else then."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path, contents in loss.files.items():
        (folder / Path(path).name).write_bytes(contents)
    return folder


def figures_by_runs(path: Path) -> list[dict[str, str]]:
    """The figures of a report with none of the runs, one, and so on."""
    with ProfileWriter(path) as writer:
        writer.write_compilation(tiny_compilation())
        return [pva_figures(path), *(pva_figures(path) for _ in append_runs(writer))]


def is_report(path: Path, truths: list[dict[str, str]], least: int, most: int) -> bool:
    """A sound report with at least and at most so many runs, and their figures."""
    runs = len(ProfileReader(path).runs().name)
    return verify_file(path)["integrity"] == "sound" and least <= runs <= most and pva_figures(path) == truths[runs]


@pytest.mark.parametrize("some", [7, pytest.param(1, marks=pytest.mark.long)])
def test_a_report(some: int, logs: Callable[[str], list[Operation]], tmp_path: Path) -> None:
    """Each run that was announced is there. Before the compilation was announced, there may be no report."""
    truths = figures_by_runs(tmp_path / "truth.pop")
    for loss in losses(logs("report"), SEEDS // some, only=lambda number: number % some == 0):
        path = left(loss, tmp_path / "left") / "profile.pop"
        announced = loss.said.count(b"run\n")
        if path.exists() or b"compiled" in loss.said:
            assert is_report(path, truths, announced, announced + 1), loss.words


@pytest.mark.parametrize("some", [10, pytest.param(1, marks=pytest.mark.long)])
def test_a_report_in_the_place_of_one_with_a_log(
    some: int, logs: Callable[[str], list[Operation]], tmp_path: Path
) -> None:
    """A killed program left a report with its log. Until the new report is there, the old one is, with both runs."""
    truths, names = figures_by_runs(tmp_path / "truth.pop"), set()
    for loss in losses(logs("report in the place of another"), SEEDS // some, only=lambda number: number % some == 0):
        _, killed, said = loss.said.partition(b"killed")
        if killed:
            path = left(loss, tmp_path / "left") / "profile.pop"
            name, announced = ProfileReader(path).report_id, said.count(b"run\n")
            least, most = {"old": (2, 2), "new": (announced, announced + 1)}[name]
            assert is_report(path, truths, least, most), loss.words
            assert name == "new" or b"compiled" not in said, loss.words
            names.add(name)
    assert names == {"old", "new"}


def answers(path: Path) -> Answers:
    """What a trace says, but for its state of being written; flows too, which readers count."""
    source = TraceSource(path)
    assert source.survey() == []
    said = answers_of(source)
    del said["meta"]["state"]
    return said


@pytest.fixture(scope="module")
def truths_of_traces(tmp_path_factory: pytest.TempPathFactory) -> list[Answers]:
    """The answers of traces with none of the turns, one, and so on."""
    folder = tmp_path_factory.mktemp("truths")
    writer = begun_journal(folder / "truth.pvti")
    truths = [answers(writer.path)]
    for turn in range(TURNS):
        write_turn(writer, turn)
        truths.append(answers(writer.path))
    writer.close()
    return truths


@pytest.mark.parametrize("some", [5, pytest.param(1, marks=pytest.mark.long)])
def test_a_trace(
    some: int, logs: Callable[[str], list[Operation]], truths_of_traces: list[Answers], tmp_path: Path
) -> None:
    """What was synced is there, all of it when the trace has ended."""
    for loss in losses(logs("trace"), SEEDS // some, only=lambda number: number % some == 0):
        path = left(loss, tmp_path / "left") / "trace.pvti"
        announced = loss.said.count(b"turn\n")
        if b"begun" in loss.said:
            assert answers(path) in truths_of_traces[announced:], loss.words


@pytest.mark.parametrize("name", ["debug information", "graph", "archive"])
def test_a_file_with_a_temporary_name(name: str, logs: Callable[[str], list[Operation]], tmp_path: Path) -> None:
    """It is there and whole once its writer has returned, and whole or not there before."""
    for loss in losses(logs(name), SEEDS):
        path = left(loss, tmp_path / "left") / FORMATS[name].file
        if path.exists() or b"there" in loss.said:
            assert verify_file(path)["integrity"] == "sound", loss.words


def file_names(files: Iterator[str]) -> set[str]:
    return {Path(path).name for path in files if Path(path).suffix in (".pop", ".json", ".cbor", ".capnp", ".a")}


@pytest.mark.long
def test_a_program_on_an_engine(logs: Callable[[str], list[Operation]], tmp_path: Path) -> None:
    """Every file of a run that was announced is there and sound; so is the trace, and what a loss left of it once, all
    later ones leave."""
    log, most_events = logs("engine"), 0
    *_, last = losses(log, 0)
    for loss in losses(log, 3):
        folder = left(loss, tmp_path / "left")
        announced = loss.said.count(b"run\n")
        if announced:
            assert file_names(iter(loss.files)) == file_names(iter(last.files)), loss.words
            assert len(ProfileReader(folder / "profile.pop").runs().name) >= announced, loss.words
        for path in files_to_verify(folder) if any(folder.iterdir()) else []:
            if path.suffix != ".pvti" or b"loaded" in loss.said:
                assert verify_file(path)["integrity"] == "sound", f"{loss.words}: {path.name}"
        for path in folder.glob("*.pvti") if b"loaded" in loss.said else []:
            events = TraceSource(path).events
            assert events >= most_events, loss.words
            most_events = events if "all lost" in loss.words else most_events
    assert most_events > 0
