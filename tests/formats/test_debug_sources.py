"""Source texts in debug.json and debug.cbor: whole, within limits, of the user's files alone."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path

import pytest

from popvision.formats import debug_info
from popvision.formats.debug_info import DebugInfo, SourceText, read_debug_info, write_debug_info
from popvision.formats.errors import FormatError
from simulator.base.errors import invalid_option
from simulator.base.user_files import is_users
from simulator.runtime.recording.source_texts import source_texts

TEXTS = [SourceText("a.py", "x = 1\n</script>\u202e\x00"), SourceText("b.py", "", "it is larger than 1 MiB")]


@pytest.mark.parametrize("name", ["debug.json", "debug.cbor"])
def test_texts_come_back(tmp_path: Path, name: str) -> None:
    write_debug_info(tmp_path, [DebugInfo(0, file="a.py", line=1)], "run", sources=TEXTS)
    assert read_debug_info(tmp_path / name).sources == {"a.py": TEXTS[0], "b.py": TEXTS[1]}
    assert debug_info.run_id_of(tmp_path / name) == "run"
    write_debug_info(tmp_path, [], "run")
    assert read_debug_info(tmp_path / name).sources is None


@pytest.mark.parametrize("change", [{"text": "y = 2"}, {"file": 7}])
def test_changed_texts_are_refused(tmp_path: Path, change: dict[str, object]) -> None:
    write_debug_info(tmp_path, [], "run", sources=TEXTS)
    document = json.loads((tmp_path / "debug.json").read_text())
    document["sources"][0] |= change
    (tmp_path / "debug.json").write_text(json.dumps(document))
    with pytest.raises(FormatError, match="checksum of its sources"):
        read_debug_info(tmp_path / "debug.json")


def test_too_much_text_is_refused(tmp_path: Path) -> None:
    many = [SourceText(f"{i}.py", "x" * debug_info.MOST_SOURCE_BYTES) for i in range(9)]
    write_debug_info(tmp_path, [], "run", sources=many)
    with pytest.raises(FormatError, match="more sources than a report may"):
        read_debug_info(tmp_path / "debug.json")


def test_only_the_users_files_within_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POPVISION_SOURCES", raising=False)
    (tmp_path / "train.py").write_bytes(b"# -*- coding: latin-1 -*-\nname = '\xe9'\n")
    (tmp_path / "large.py").write_bytes(b"#" * (debug_info.MOST_SOURCE_BYTES + 1))
    (tmp_path / "folder.py").mkdir()
    files = ["train.py", "large.py", "folder.py", "gone.py"]
    contexts = [DebugInfo(i, file=str(tmp_path / file)) for i, file in enumerate([*files, "train.py"])]
    contexts += [
        DebugInfo(9, file=file) for file in (functools.__file__, pytest.__file__, debug_info.__file__, "<string>")
    ]
    found = source_texts(contexts)
    assert found is not None
    assert [Path(text.file).name for text in found] == files
    assert found[0].text.endswith("name = 'é'\n")
    assert [text.absent != "" for text in found] == [False, True, True, True]
    monkeypatch.setenv("POPVISION_SOURCES", "off")
    assert source_texts(contexts) is None
    monkeypatch.setenv("POPVISION_SOURCES", "perhaps")
    with pytest.raises(invalid_option, match="use 'on' or 'off'"):
        source_texts(contexts)


def test_sources_end_at_eight_mebibytes(tmp_path: Path) -> None:
    for i in range(10):
        (tmp_path / f"{i}.py").write_bytes(b"#" * debug_info.MOST_SOURCE_BYTES)
    found = source_texts([DebugInfo(i, file=str(tmp_path / f"{i}.py")) for i in range(10)])
    assert found is not None
    assert [bool(text.absent) for text in found] == [False] * 8 + [True] * 2


def test_which_frames_are_the_users() -> None:
    assert is_users(__file__)
    assert is_users("<stdin>")
    for file in (
        functools.__file__,
        pytest.__file__,
        debug_info.__file__,
        "<frozen runpy>",
        sys.modules["json"].__file__,
    ):
        assert not is_users(str(file))
