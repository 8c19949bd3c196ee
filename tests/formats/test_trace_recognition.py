"""Traces of other tools are known by their contents, packed or not, whatever their names."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import re
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from popvision import zip_table
from popvision.analysis.summary.report_list import find
from popvision.analysis.trace.source import TraceSource
from popvision.formats.errors import FormatError
from popvision.formats.foreign_traces.importing import import_trace
from popvision.formats.foreign_traces.recognition import is_foreign_trace, kind_of

messages: Any = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")

EVENT = {"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "name": "a"}


def perfetto(spans: int) -> Any:
    trace = messages.Trace()
    for at in range(2 * spans):
        packet = trace.packet.add()
        packet.timestamp, packet.trusted_packet_sequence_id = 10 * at, 1
        packet.track_event.type, packet.track_event.track_uuid = 1 + at % 2, 1
        if at % 2 == 0:
            packet.track_event.name = f"w{at}"
    return trace


PLAIN = perfetto(51).SerializeToString()


@pytest.mark.parametrize("name", ["t.pftrace", "t.perfetto-trace", "t.pb", "t.trace", "t", "t.bin", "t.json"])
@pytest.mark.parametrize("packed", [False, True])
def test_perfetto_traces_have_any_name(tmp_path: Path, name: str, packed: bool) -> None:
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(PLAIN) if packed else PLAIN)
    assert is_foreign_trace(path)
    source = TraceSource(path)
    assert (source.events, source.lost) == (51, [])
    found, _ = find(tmp_path)
    assert [each.path for each in found] == ([path] if name not in ("t", "t.bin") else [])
    assert [each.path for each in find(path)[0]] == [path]


@pytest.mark.parametrize("methods", [("deflate",), ("zstd",), ("deflate", "zstd"), ("zstd", "zstd")])
def test_packed_packets_are_read(tmp_path: Path, methods: tuple[str, ...]) -> None:
    content = PLAIN
    for method in methods:
        outer = messages.Trace()
        if method == "zstd":
            outer.packet.add().zstd_compressed_packets = zstandard.compress(content)
        else:
            outer.packet.add().compressed_packets = zlib.compress(content)
        content = outer.SerializeToString()
    (tmp_path / "t").write_bytes(content)
    source = TraceSource(tmp_path / "t")
    assert (source.events, source.lost) == (51, [])


def test_what_of_packed_packets_cannot_be_read_is_said(tmp_path: Path) -> None:
    trace = perfetto(1)
    trace.packet.add().compressed_packets = zlib.compress(PLAIN)[:-9]
    trace.packet.add().zstd_compressed_packets = b"(\xb5/\xfd"
    (tmp_path / "t").write_bytes(trace.SerializeToString())
    source = TraceSource(tmp_path / "t")
    assert source.events > 1
    assert source.lost == ["Left out: packed packets that are cut, or too large: 2."]


@pytest.mark.parametrize("kept", [0.5, 0.9])
def test_a_cut_gz_of_perfetto_gives_what_stands_before(tmp_path: Path, kept: float) -> None:
    content = perfetto(5000).SerializeToString()
    packed = gzip.compress(content)
    (tmp_path / "t.pftrace.gz").write_bytes(packed[: int(kept * len(packed))])
    source = TraceSource(tmp_path / "t.pftrace.gz")
    assert 5000 * kept * 0.8 < source.events < 5000
    assert "is damaged after" in source.lost[0]


def test_long_facts_before_the_events(tmp_path: Path) -> None:
    document = {"distributedInfo": {"x": "y" * 300_000}, "traceEvents": [EVENT]}
    (tmp_path / "t.json").write_text(json.dumps(document))
    assert TraceSource(tmp_path / "t.json").events == 1
    (tmp_path / "u.json.gz").write_bytes(gzip.compress(json.dumps(document).encode("utf-16")))
    assert TraceSource(tmp_path / "u.json.gz").events == 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"\n\n\n\nplain text after blank lines\n",
        b"\n# a script\nimport os\n",
        b"\n\x05plain text",
        b"SQLite format 3\0" + b"\n" * 100,
        b'{"a": 1}',
        b"\x1f\x8b\n\n",
        bytes(range(256)) * 4,
        b"\x7fELF\n",
    ],
)
def test_other_files_are_no_traces(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.json").write_bytes(content)
    assert not is_foreign_trace(tmp_path / "t.json")
    assert kind_of(tmp_path / "t.json") == ("chrome" if content[:1] == b"{" else "")


def zipped(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_in_", "/"), content)
    return stream.getvalue()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "zst": zstandard.compress,
    "zip": lambda content: zipped(trace=content),
}


@pytest.mark.parametrize("methods", [*itertools.product(PACKERS), *itertools.product(PACKERS, PACKERS)])
@pytest.mark.parametrize("content", [PLAIN, json.dumps([EVENT] * 51).encode()], ids=["perfetto", "json"])
def test_packed_files_are_read(tmp_path: Path, methods: tuple[str, ...], content: bytes) -> None:
    for method in methods:
        content = PACKERS[method](content)
    path = tmp_path / ".".join(("t.json", *methods))
    path.write_bytes(content)
    source = TraceSource(path)
    assert (source.events, source.lost) == (51, [])
    assert [found.path for found in find(tmp_path)[0]] == ([path] if len(methods) == 1 else [])


@pytest.mark.parametrize("method", PACKERS)
def test_a_cut_packed_file_gives_what_stands_before(tmp_path: Path, method: str) -> None:
    events = [EVENT | {"ts": at, "name": f"{at * 7919 % 10007}"} for at in range(20_000)]
    content = PACKERS[method](json.dumps(events).encode())
    path = tmp_path / "t"
    path.write_bytes(content[: len(content) * 3 // 4])
    if method == "zip":  # without its table, which stands at the end
        with pytest.raises(FormatError, match="it holds a packed file that is damaged"):
            TraceSource(path)
        return
    source = TraceSource(path)
    assert 10_000 < source.events < 20_000
    assert "is damaged after" in source.lost[0]


def test_a_zip_of_several_files_lists_them(tmp_path: Path) -> None:
    path = tmp_path / "t.zip"
    path.write_bytes(zipped(a=b"1", b_in_c=b"2"))
    sentence = f"{path} is a zip of 2 files ('a', 'b/c'); unpack it and give one of them."
    with pytest.raises(FormatError, match=re.escape(sentence)):
        TraceSource(path)
    path.write_bytes(zipped())
    with pytest.raises(FormatError):
        TraceSource(path)
    path.write_bytes(zipped(trace=json.dumps([EVENT]).encode(), __MACOSX_in_trace=b"of macOS"))
    assert TraceSource(path).events == 1


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By their ratio, which zstd and zip take to any height, and by their layers."""
    bomb = json.dumps(EVENT).encode() + b" " * (100 << 20)
    for method in ("zst", "zip"):
        path = tmp_path / f"t.json.{method}"
        path.write_bytes(PACKERS[method](bomb) if method == "zst" else zipped(t=PACKERS["zst"](bomb)))
        source = TraceSource(path)
        assert source.events == 1
        assert source.lost == [f"{path} unpacks to more than 67,108,864 bytes; unpack it and give what it holds."]
    content = PLAIN
    for _ in range(4):
        content = gzip.compress(content)
    path = tmp_path / "deep"
    path.write_bytes(content)
    with pytest.raises(FormatError, match="is packed more than 3 times"):
        TraceSource(path)
    monkeypatch.setattr(zip_table, "MOST_TABLE_BYTES", 100)
    path.write_bytes(zipped(**{f"member {number}": b"" for number in range(100)}))
    with pytest.raises(FormatError, match="table of contents is larger"):
        TraceSource(path)


@pytest.mark.parametrize(
    ("content", "held"),
    [
        (b"", "nothing"),
        (b"SQLite format 3\0rest", "an SQLite database"),
        (b"\x7fELF\2", "an ELF file"),
        (b"some text", "text"),
        (b"\xff\xfe\xfd\xfc", "bytes that begin with ff fe fd fc"),
        (b"\x1f\x8b\n\n", "a packed file that is damaged"),
    ],
)
def test_a_refusal_names_what_was_found_and_what_can_be_read(tmp_path: Path, content: bytes, held: str) -> None:
    path = tmp_path / "t"
    path.write_bytes(content)
    with pytest.raises(FormatError) as refused:
        import_trace(path, tmp_path / "t.pvti")
    assert str(refused.value) == (
        f"{path} is no trace of a known format: it holds {held}. Give a .pvti, Chrome trace events as JSON, a Perfetto "
        "trace, a speedscope profile or a .cpuprofile, plain or packed as .gz, .zst or .zip of one file."
    )
