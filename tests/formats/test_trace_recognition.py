"""Traces of other tools are known by their contents, packed or not, whatever their names."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from popvision.analysis.summary.report_list import find
from popvision.analysis.trace.source import TraceSource
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


@pytest.mark.parametrize("nested", [1, 2])
def test_packed_packets_are_read(tmp_path: Path, nested: int) -> None:
    content = PLAIN
    for _ in range(nested):
        outer = messages.Trace()
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
    assert source.lost == ["Left out: packed packets that are cut, or too large: 1; packets packed by zstd: 1."]


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
    assert kind_of(tmp_path / "t.json") == ("json" if content[:1] == b"{" else "")
