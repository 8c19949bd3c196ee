"""Routes of the exchange page: what they answer, how large, and how they refuse."""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from popvision.formats.generate import Size, generate
from tests.reports import write_tiny
from webapp.base.library import Library
from webapp.shell.app import create_app

TILES = 512


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Library, Path]:
    folder = tmp_path_factory.mktemp("exchange")
    (folder / "large").mkdir()
    write_tiny(folder / "tiny")
    generate(folder / "large" / "profile.pop", Size(intervals=20_000, tiles=TILES, layers=1))
    library = Library([folder])
    return create_app(library).server.test_client(), library, folder


def key(library: Library, name: str) -> str:
    return next(entry.key for entry in library.entries() if entry.path.name == name)


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, list[int]]]:
    length = int.from_bytes(data[:4], "little")
    header = json.loads(data[4 : 4 + length])
    kinds = {"u1": "u1", "u4": "<u4", "i4": "<i4", "f8": "<f8"}
    return header, {
        name: np.frombuffer(data, kinds[kind], count, offset).tolist() for name, kind, offset, count in header["arrays"]
    }


def test_columns_and_cells_of_the_tiny_report(served: Any) -> None:
    client, library, _ = served
    base = f"/data/{key(library, 'tiny')}/exchange"
    header, arrays = unpack(client.get(f"{base}/tiles", headers={"Host": "localhost"}).data)
    assert (header["program"], header["step"], header["type"], header["reason"]) == (3, 2, "DoExchange", "")
    assert (arrays["received"], arrays["sent"], arrays["recorded"]) == ([8, 0, 8, 0], [0, 8, 0, 0], [4, 0, 4, 0])
    query = "program=3&size=1&row=0&rows=4&column=0&columns=4"
    header, arrays = unpack(client.get(f"{base}/matrix?{query}").data)
    assert (header["largest"], arrays["cell"], arrays["value"]) == (8, [4, 6], [8, 8])
    header, arrays = unpack(client.get(f"{base}/matrix?{query}&order=hardware").data)
    assert arrays["cell"] == [4, 7]  # tile 2 is at position 3: its physical id is 3
    header, arrays = unpack(client.get(f"{base}/matrix?{query.replace('size=1', 'size=2').replace('=4', '=2')}").data)
    assert arrays["value"] == [8, 8, 0, 0]
    _, arrays = unpack(client.get(f"{base}/partners?program=3&tile=1").data)
    assert (arrays["from"], arrays["to"], arrays["toBytes"]) == ([], [0, 2], [8, 8])


def test_compared_with_itself_nothing_differs(served: Any) -> None:
    client, library, _ = served
    own = key(library, "large")
    header, arrays = unpack(client.get(f"/data/{own}/exchange/tiles?vs={own}").data)
    assert header["signed"] is True
    assert all(not any(arrays[name]) for name in ("received", "sent", "code", "fan_in", "fan_out", "recorded"))
    query = f"program={header['program']}&size=1&row=0&rows=100&column=0&columns={TILES}&vs={own}"
    header, arrays = unpack(client.get(f"/data/{own}/exchange/matrix?{query}").data)
    assert (header["largest"], arrays["value"]) == (0, [])


def test_the_export_is_every_message(served: Any) -> None:
    client, library, folder = served
    own = key(library, "large")
    program = unpack(client.get(f"/data/{own}/exchange/tiles").data)[0]["program"]
    lines = client.get(f"/data/{own}/exchange/messages.csv?program={program}").text.splitlines()
    assert lines[0] == "source_tile,destination_tile,bytes"
    with sqlite3.connect(folder / "large" / "profile.pop") as db:
        query = "select n from arrays join messages on arrays.id = src_array where program = ?"
        ((count,),) = db.execute(query, (program,)).fetchall()
        ((total,),) = db.execute(
            "select max(data_in) from steps_by_ipu join steps on id = step_id where program = ?", (program,)
        ).fetchall()
    assert len(lines) - 1 == count
    assert sum(int(line.split(",")[2]) for line in lines[1:]) == total


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("matrix?program=3", "size"),
        ("matrix?program=99&size=1&row=0&rows=1&column=0&columns=1", "no program 99"),
        ("matrix?program=1&size=1&row=0&rows=1&column=0&columns=1", "holds no messages"),
        ("partners?program=3&tile=4", "tile"),
        ("messages.csv?program=1", "holds no messages"),
    ],
)
def test_refusals_are_sentences(served: Any, query: str, words: str) -> None:
    client, library, _ = served
    answer = client.get(f"/data/{key(library, 'tiny')}/exchange/{query}")
    assert answer.status_code == 400
    assert words in answer.text


def test_a_window_is_never_large(served: Any) -> None:
    """A dense matrix of all cells that one answer may hold stays below 500 kB; more is refused."""
    client, library, _ = served
    own = key(library, "large")
    program = unpack(client.get(f"/data/{own}/exchange/tiles").data)[0]["program"]
    query = f"/data/{own}/exchange/matrix?program={program}&size=1&row=0&column=0&columns={TILES}"
    began = time.thread_time()
    answer = client.get(f"{query}&rows=234")
    assert time.thread_time() - began < 2
    assert (answer.status_code, len(answer.data) < 500_000) == (200, True)
    assert client.get(f"{query}&rows=235").status_code == 400
