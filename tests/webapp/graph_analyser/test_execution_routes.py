"""Answers with bars stay below their limit, in coarser columns where they must, and lose nothing by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from popvision.formats.generate import Size, generate
from tests.webapp.graph_analyser.test_exchange_routes import unpack
from webapp.base import bar_answer
from webapp.base.library import Library
from webapp.shell.app import create_app


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, str, int]:
    folder: Path = tmp_path_factory.mktemp("bars") / "large"
    folder.mkdir()
    generate(folder / "profile.pop", Size(intervals=400_000, kind="repeat", tiles=16, layers=60))
    library = Library([folder])
    key = next(entry.key for entry in library.entries() if not entry.is_sample)
    cycles = library.report(key).reader.total_cycles()
    return create_app(library).server.test_client(), f"/data/{key}/execution/bars?ipu=0", cycles


def ends(arrays: dict[str, list[int]]) -> int:
    """Bars that are drawn or counted in a cell."""
    return len(arrays["begin"]) + sum(arrays["cell_count"])


def test_a_large_answer_comes_in_coarser_columns(address: tuple[Any, str, int]) -> None:
    client, path, cycles = address
    pitch = cycles * 1024 // 16_000
    data = client.get(f"{path}&pitch={pitch}&first=0&columns=16384").data
    header, arrays = unpack(data)
    assert len(data) < 500_000
    assert header["coarser"] > 1
    assert header["pitch"] == header["coarser"] * pitch
    assert header["columns"] == -(-16384 // header["coarser"])
    assert max(arrays["cell_column"], default=0) < header["columns"]
    wide = (np.array(arrays["end"]) - np.array(arrays["begin"])) * 1024 >= header["pitch"]
    assert wide.all()  # a bar is drawn where it fills a column of those that the answer names


def test_the_columns_asked_for_where_they_fit(address: tuple[Any, str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    client, path, _ = address
    query = f"{path}&pitch=4096&first=7&columns=64"
    header, arrays = unpack(client.get(query).data)
    assert [header[name] for name in ("pitch", "first", "columns", "coarser")] == [4096, 7, 64, 1]
    monkeypatch.setattr(bar_answer, "MOST_BYTES", 0)
    coarse, fewer = unpack(client.get(f"{query}&view=flame").data)  # another address: answers are kept by address
    assert coarse["coarser"] > 1
    assert coarse["first"] * coarse["pitch"] <= 7 * 4096
    assert (coarse["first"] + coarse["columns"]) * coarse["pitch"] >= (7 + 64) * 4096
    assert ends(fewer) >= ends(arrays)  # the window grew by up to a column on either side; no bar is gone
