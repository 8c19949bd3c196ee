"""Mutated copies of a file of each format, and whether anybody is told another thing than the truth.

`python -m tests.formats.mutated_formats FORMAT FOLDER FIRST COUNT` is the child process of test_mutations.py. Mutations
are those of mutations.py: number n is drawn with n as its seed. A file is refused with a FormatError, or it says what
the sound one says; less of it only where it is flagged as damaged.
"""

from __future__ import annotations

import dataclasses
import os
import resource
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.formats.errors import FormatError
from tests.formats import mutations

if TYPE_CHECKING:
    from popvision.formats.pvti.writer import TraceWriter

#: What is said of a file, and whether it is flagged as damaged: once for each way of asking.
Said = Iterator[tuple[dict[str, Any], bool]]


@dataclass(frozen=True)
class Format:
    """How to make a sound file, and how to ask it. `refusals` are the exceptions of one sentence."""

    file: str
    make: Callable[[Path], None]
    ask: Callable[[Path], Said]
    refusals: Callable[[], tuple[type[Exception], ...]] = lambda: (FormatError,)


def _small_pages(path: Path) -> None:
    """Nearly every byte of the file means something."""
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA page_size={mutations.PAGE}")
        db.execute("VACUUM")


def begun_journal(path: Path) -> TraceWriter:
    """A trace with one of everything that events refer to."""
    from popvision.formats.pvti.writer import TraceWriter

    writer = TraceWriter(path, {"run_id": "r", "command": "program"}, clock_offset_ns=10**18)
    with writer.transaction():
        writer.add_process(1, 10, 1, "program")
        for thread in (1, 2):
            writer.set_thread(thread, 1, 100 + thread, f"thread {thread}")
        for channel, name in enumerate(("work", "data"), start=1):
            writer.set_channel(channel, name, channel == 1)
        for site in range(1, 9):
            writer.add_string(site, f"label {site}")
            writer.add_site(site, 1 + site % 2, site, 8 if site == 3 else None)
        writer.add_graph(1, "graph", "unit")
        writer.add_heatmap(1, "heat", "2^x", [0.0, 1.0, 2.0])
        writer.add_flow(1, "flow")
        for series in (1, 2):
            writer.add_series(series, 1, f"line {series}")
    return writer


def _make_journal(path: Path) -> None:
    writer = begun_journal(path)
    for turn in range(12):
        write_turn(writer, turn)
    with writer.transaction():
        writer.add_events(1, [2 << 2], [99_999])  # never ends
    writer.close()
    _small_pages(path)


def write_turn(writer: TraceWriter, turn: int) -> None:
    """Events of two threads and a point of each line, heat map and flow, in one transaction."""
    at = 10**18 + turn * 1_000
    with writer.transaction():
        for thread in (1, 2):
            codes = [4, 8, 3 << 2 | 2, 9, 5, (4 + turn % 4) << 2, (4 + turn % 4) << 2 | 1]
            writer.add_events(thread, codes, [turn * 1_000 + step * 7 for step in range(len(codes))])
        writer.add_samples(1 + turn % 2, [at], [turn * 1.5])
        writer.add_heatmap_column(1, at, [turn, 0, 1, 2])
        writer.add_flow_point(1, 1 + turn % 2, at + 3)


def _make_trace(path: Path) -> None:
    from popvision.formats.pvti.finalise import finalise

    _make_journal(path)
    finalise(path)
    _small_pages(path)


def _ask_trace(path: Path) -> Said:
    from popvision.analysis.trace.growing import FollowedTrace
    from popvision.analysis.trace.source import TraceSource
    from tests.pvti.trace_answers import answers_of, use

    for source in (TraceSource(path), FollowedTrace(path).now()):
        said = answers_of(source)
        yield said, bool(source.lost)
        use(source)


def _make_debug(path: Path) -> None:
    from popvision.formats.debug_info import DebugInfo, write_debug_info

    infos = [DebugInfo(each, [each - 1] if each > 1 else [], "poplar", f"name {each}") for each in range(1, 40)]
    write_debug_info(path.parent, infos, "run")


def _ask_debug(path: Path) -> Said:
    from popvision.formats.debug_info import read_debug_info

    contexts = read_debug_info(path)
    yield {"run": contexts.run_id, "records": repr([contexts.record(id) for id in contexts])}, False


def _make_graph(path: Path) -> None:
    from popvision.formats.serialized_graph import SerializedGraph, write_serialized_graph

    numbers = np.arange(300, dtype=np.int64)
    names = [f"variable {number}" for number in range(300)]
    graph = SerializedGraph("run", {"tiles": 8}, names, ["FLOAT"] * 300, numbers * 7, numbers % 7, numbers % 2, numbers)
    write_serialized_graph(path, graph)


def _ask_graph(path: Path) -> Said:
    from popvision.formats.serialized_graph import read_serialized_graph

    graph = read_serialized_graph(path)
    yield {field.name: _plain(getattr(graph, field.name)) for field in dataclasses.fields(graph)}, False


def _make_archive(path: Path) -> None:
    from popvision.formats.archive import write_archive
    from popvision.formats.elf_image import Section, TileImage

    images = [TileImage(np.array([tile]), [Section(f".text.{tile}", 8 * tile)]) for tile in range(1, 9)]
    write_archive(path, images, "run")


def _ask_archive(path: Path) -> Said:
    from popvision.formats.archive import read_archive

    archive = read_archive(path)
    members = [(each.name, each.image.tiles.tolist(), repr(each.image.sections)) for each in archive.members]
    yield {"run": archive.run_id, "members": members}, False


def _make_executable(path: Path) -> None:
    from simulator.frontends.session.executable_cache import entry_bytes
    from simulator.poplar import FLOAT, Graph, Target, compileGraph
    from simulator.poplar.program import Sequence
    from simulator.poplibs import popops

    graph = Graph(Target.createIPUTarget(1, 4, "ipu2"))
    variable = graph.addVariable(FLOAT, [8], "variable")
    graph.setTileMapping(variable, 1)
    program = Sequence()
    popops.addInPlace(graph, variable, variable, program)
    path.write_bytes(entry_bytes(compileGraph(graph, [program]), b"notes of a front end"))


def _ask_executable(path: Path) -> Said:
    import simulator.poplibs.popops  # noqa: F401  its kernels are bound when an executable is read
    from popvision.answers.verification import verify_file
    from simulator.frontends.session.executable_cache import read_entry

    data, is_damaged = path.read_bytes(), verify_file(path)["integrity"] == "damaged"
    yield {"verified": b"" if is_damaged else data}, is_damaged
    read_entry(data)
    yield {"bytes": data}, False


def _refusals_of_executables() -> tuple[type[Exception], ...]:
    from simulator.base.errors import poplar_error

    return (poplar_error,)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


FORMATS: dict[str, Format] = {
    "trace": Format("trace.pvti", _make_trace, _ask_trace),
    "journal": Format("journal.pvti", _make_journal, _ask_trace),
    "debug information": Format("debug.cbor", _make_debug, _ask_debug),
    "graph": Format("serialized_graph.capnp", _make_graph, _ask_graph),
    "archive": Format("archive.a", _make_archive, _ask_archive),
    "executable": Format("executable.popef", _make_executable, _ask_executable, _refusals_of_executables),
}


def child(name: str, folder: Path, first: int, count: int) -> int:
    """Tries mutations `first` ... of the file in a folder, and says what is wrong with them."""
    from tests.pvti.trace_answers import untrue

    format_ = FORMATS[name]
    sound = folder / format_.file
    if not sound.exists():
        format_.make(sound)
    truths, data, wrong = [said for said, _ in format_.ask(sound)], sound.read_bytes(), 0
    resource.setrlimit(resource.RLIMIT_AS, (mutations.MEMORY, mutations.MEMORY))
    path = folder / f"{os.getpid()}.{format_.file}"
    for number in range(first, first + count):
        kind, changed = mutations.mutated(data, number)
        print(f"mutation {number} ({kind})", flush=True)
        path.write_bytes(changed)
        signal.setitimer(signal.ITIMER_VIRTUAL, mutations.SECONDS)  # ends this process
        try:
            for (said, is_flagged), truth in zip(format_.ask(path), truths, strict=False):
                if names := untrue(said, truth, is_flagged):
                    print(f"WRONG after mutation {number} ({kind}): {', '.join(names)}", flush=True)
                    wrong += 1
        except format_.refusals() as refusal:
            if "\n" in str(refusal):
                raise RuntimeError("a refusal of several lines") from refusal
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    path.unlink()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(child(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
