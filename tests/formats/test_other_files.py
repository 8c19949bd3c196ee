"""debug.json, debug.cbor, serialized_graph.capnp, archive.a and the folder that holds them."""

from __future__ import annotations

import random
import shutil
import subprocess
import zlib
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from popvision.analysis.report.source import ReportSource
from popvision.formats import debug_info, serialized_graph
from popvision.formats.archive import read_archive, write_archive
from popvision.formats.debug_info import DebugInfo, read_debug_info, write_debug_info
from popvision.formats.elf_image import Section, Symbol, TileImage, parse_tiles, tiles_text
from popvision.formats.errors import FormatError
from popvision.formats.serialized_graph import SerializedGraph, read_serialized_graph, write_serialized_graph
from tests.reports import write_tiny

CONTEXTS = [
    DebugInfo(0, (), "poplar", "main", {"shape": [2, 3]}, {}, "train.py", 4),
    DebugInfo(7, (0,), "poplibs", "matMul Ä", {"a": None, "alpha": 0.5}, {"out": "t3"}, "train.py", 12),
]
GRAPH = SerializedGraph(
    run_id="tiny-run",
    facts={"target": "Ipu2"},
    variable_name=["x", "ü", ""],
    variable_base=np.array([0, 4, 9]),
    mapping_tile=np.arange(3_000_000) % 1472,
    program_compute_set=np.array([-1, 0]),
)
IMAGES = [
    TileImage(
        np.array([0, 1, 2, 7]),
        [Section(".text", 1000, 0x4C000, True), Section(".data", 20, 4)],
        [Symbol("main", ".text", 0, 400), Symbol("weights", ".data", 4, 8)],
    ),
    TileImage(np.array([3]), [Section(".text", 64, 0, True)]),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_tiny(tmp_path / "training")
    write_debug_info(tmp_path, CONTEXTS, "tiny-run")
    write_serialized_graph(tmp_path / "training" / "serialized_graph.capnp", GRAPH)
    write_archive(tmp_path / "training" / "archive.a", IMAGES, "tiny-run")
    return tmp_path / "training"


@pytest.mark.parametrize("name", ["debug.json", "debug.cbor"])
def test_debug_contexts_come_back(folder: Path, name: str) -> None:
    contexts = read_debug_info(folder.parent / name)
    assert contexts.run_id == debug_info.run_id_of(folder.parent / name) == "tiny-run"
    assert [contexts.record(context.id) for context in CONTEXTS] == [context.record() for context in CONTEXTS]
    assert list(contexts.parents()) == [(0, []), (7, [0])]
    assert (contexts.record(5), len(contexts), 7 in contexts) == ({}, 2, True)


def test_an_argument_must_be_json(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="arguments must be JSON"):
        write_debug_info(tmp_path, [DebugInfo(0, arguments={"f": object()})], "")
    assert list(tmp_path.iterdir()) == []


def test_the_graph_comes_back(folder: Path) -> None:
    found = read_serialized_graph(folder / "serialized_graph.capnp")
    for entry in fields(GRAPH):
        a, b = getattr(GRAPH, entry.name), getattr(found, entry.name)
        assert np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b, entry.name


@pytest.mark.skipif(shutil.which("capnp") is None, reason="the capnp command is not installed")
def test_the_capnp_command_decodes_the_header(folder: Path) -> None:
    schema = Path(serialized_graph.__file__).with_name("serialized_graph.capnp")
    with (folder / "serialized_graph.capnp").open("rb") as file:
        done = subprocess.run(["capnp", "decode", str(schema), "Header"], stdin=file, capture_output=True, check=False)
    assert b'format = "popvision.graph"' in done.stdout


def test_archive_sizes_and_symbols(folder: Path) -> None:
    archive = read_archive(folder / "archive.a")
    assert archive.tile_bytes(9).tolist() == [1020, 1020, 1020, 64, 0, 0, 0, 1020, 0]
    assert [member.name for member in archive.members] == ["tile000000.o", "tile000003.o"]
    assert archive.members[0].image.sections == IMAGES[0].sections
    assert archive.members[0].image.symbols == IMAGES[0].symbols
    assert archive.run_id == "tiny-run"


@pytest.mark.skipif(shutil.which("size") is None, reason="binutils are not installed")
def test_binutils_read_the_archive(folder: Path) -> None:
    sizes = subprocess.run(["size", "-A", "archive.a"], cwd=folder, capture_output=True, text=True, check=True).stdout
    texts = [line.split()[1] for line in sizes.splitlines() if line.startswith(".text")]
    assert texts == ["1000", "1000", "1000", "64", "1000"]
    names = subprocess.run(["ar", "t", "archive.a"], cwd=folder, capture_output=True, text=True, check=True).stdout
    assert names.split() == [f"tile{tile:06d}.o" for tile in (0, 1, 2, 3, 7)]
    table = subprocess.run(["readelf", "-s", "archive.a"], cwd=folder, capture_output=True, text=True, check=True)
    assert table.stderr == ""
    assert any(line.split()[2:4] + line.split()[-1:] == ["400", "FUNC", "main"] for line in table.stdout.splitlines())


def with_tiles(path: Path, spelled: bytes) -> bytes:
    """The only member of an archive, header and object, for these tiles, spelled with eight characters."""
    data = path.read_bytes()[8:]
    head, elf = data[:60], data[60:].replace(b"tiles=00000000", b"tiles=" + spelled)
    at = elf.index(b"crc32=") + 6
    checksum = zlib.crc32(elf[:at] + b"00000000" + elf[at + 8 :])
    return head + elf[:at] + f"{checksum:08x}".encode() + elf[at + 8 :]


def test_an_archive_with_one_object_per_image_is_read(tmp_path: Path) -> None:
    """As versions before wrote it: ranges of tiles in one object. More tiles than any system has are refused."""
    path = tmp_path / "archive.a"
    write_archive(path, [TileImage(np.array([0]), [Section(".text", 8)])], "r")
    of_tiles, of_many = with_tiles(path, b"2-3,0005"), with_tiles(path, b"0-999999")
    path.write_bytes(b"!<arch>\n" + 17 * of_many)
    with pytest.raises(FormatError, match="its members name more tiles than a system can have"):
        read_archive(path)
    path.write_bytes(b"!<arch>\n" + of_tiles)
    assert read_archive(tmp_path / "archive.a").tile_bytes(6).tolist() == [0, 0, 8, 8, 0, 8]


def test_a_tile_has_one_image(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"tiles 7 have two images"):
        write_archive(tmp_path / "archive.a", [IMAGES[0], replace(IMAGES[1], tiles=np.array([3, 7]))], "r")
    with pytest.raises(FormatError, match="belongs to no tile"):
        write_archive(tmp_path / "archive.a", [replace(IMAGES[0], tiles=np.array([], np.int64))], "r")
    assert list(tmp_path.iterdir()) == []


def test_tile_ranges() -> None:
    assert tiles_text(np.array([7, 0, 1, 2, 9, 10])) == "0-2,7,9-10"
    assert parse_tiles("0-2,7,9-10").tolist() == [0, 1, 2, 7, 9, 10]


def test_files_of_a_report(folder: Path) -> None:
    source = ReportSource(folder)
    assert {name: file.state for name, file in source.files.items()} == dict.fromkeys(source.files, "found")
    assert source.files["debug.json"].path == folder.parent / "debug.json"
    assert (source.label, source.report_id, source.debug.record(7)["line"]) == ("training", "tiny", 12)
    assert ReportSource(folder / "archive.a").reader.path == folder / "profile.pop"


def test_stale_and_missing_neighbours(folder: Path) -> None:
    write_debug_info(folder.parent, CONTEXTS, "another run")
    (folder / "archive.a").unlink()
    files = ReportSource(folder).files
    assert [files[name].state for name in ("debug.json", "debug.cbor", "archive.a")] == ["stale", "stale", "missing"]
    assert len(ReportSource(folder).debug) == 0


def test_a_folder_without_a_report(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"holds no profile\.pop; run the program with autoReport\.all"):
        ReportSource(tmp_path)
    with pytest.raises(FormatError, match="does not exist"):
        ReportSource(tmp_path / "nowhere")


def damaged(data: bytes, rng: random.Random, trial: int) -> bytes:
    copy = bytearray(data)
    if trial % 6 == 0:
        del copy[rng.randrange(len(copy)) :]
    else:
        copy[rng.randrange(len(copy))] ^= 1 << rng.randrange(8)
    return bytes(copy)


def small_graph(path: Path) -> None:
    write_serialized_graph(path, SerializedGraph("r", {"a": 1}, ["x", "yy"], region_start=np.arange(600) % 7))


WRITERS: dict[str, tuple[Callable[[Path], None], Callable[[Path], Any]]] = {
    "debug.json": (
        lambda path: write_debug_info(path.parent, CONTEXTS, "r"),
        lambda path: [read_debug_info(path).record(i) for i in (0, 7)],
    ),
    "debug.cbor": (
        lambda path: write_debug_info(path.parent, CONTEXTS, "r"),
        lambda path: [read_debug_info(path).record(i) for i in (0, 7)],
    ),
    "serialized_graph.capnp": (small_graph, lambda path: repr(read_serialized_graph(path))),
    "archive.a": (lambda path: write_archive(path, IMAGES, "r"), lambda path: [m.image for m in images(path)]),
}


def images(path: Path) -> list[Any]:
    return read_archive(path).members


@pytest.mark.parametrize("name", list(WRITERS))
def test_damage_is_noticed_or_harmless(tmp_path: Path, name: str) -> None:
    write, read = WRITERS[name]
    path = tmp_path / name
    write(path)
    data, truth, rng, noticed = path.read_bytes(), repr(read(path)), random.Random(2), 0
    for trial in range(300):
        path.write_bytes(damaged(data, rng, trial))
        try:
            answer = repr(read(path))
        except FormatError:
            noticed += 1
            continue
        # what a cut between two members loses cannot be told from an archive that never had them
        assert answer == truth or (name == "archive.a" and trial % 6 == 0)
    assert noticed > 150
