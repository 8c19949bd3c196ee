"""A full disk and a read-only folder, for every writer of a format: a documented exception, and no file that looks
whole."""

from __future__ import annotations

import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from popvision.answers.verification import files_to_verify, verify_file
from popvision.formats.errors import FormatError
from tests.formats.mutated_formats import FORMATS
from tests.reports import write_tiny

ROOT = Path(__file__).resolve().parents[2]


def write_report(path: Path) -> None:
    write_tiny(path.parent)


#: File -> what writes it. An executable is written by whoever opens its file, so that it is not here.
WRITERS = {each.file: each.make for name, each in FORMATS.items() if name != "executable"} | {
    "profile.pop": write_report
}

#: What writers raise. The tracer says a sentence instead and the program goes on (tests/pvti/test_tracer.py).
DOCUMENTED = (FormatError, OSError, sqlite3.Error)


@contextmanager
def room(size: int) -> Iterator[None]:
    """No file of this process grows beyond `size` bytes, as on a disk that is full then."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def is_open_trace(path: Path) -> bool:
    """The trace of a program that goes on: it keeps what was written."""
    return path.suffix == ".pvti"


@pytest.mark.parametrize("file", WRITERS)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_full_disk(file: str, share: float, tmp_path: Path) -> None:
    (tmp_path / "sound").mkdir()
    WRITERS[file](tmp_path / "sound" / file)
    size = (tmp_path / "sound" / file).stat().st_size
    folder = tmp_path / "full"
    folder.mkdir()
    with room(int(share * size)), pytest.raises(DOCUMENTED) as caught:
        WRITERS[file](folder / file)
    assert "\n" not in str(caught.value)
    left = sorted(path.name for path in folder.iterdir())
    if is_open_trace(Path(file)):
        assert all(name.startswith(file) for name in left)
        for path in files_to_verify(folder) if left else []:
            assert verify_file(path)["integrity"] in ("sound", "damaged")
    else:
        assert [name for name in left if name == file or name.endswith(".tmp")] == []


AS_NOBODY = """
import os, sys
from pathlib import Path
from tests.formats.test_failing_disks import DOCUMENTED, WRITERS
folder = Path(sys.argv[1])
warm = folder.parent / "warm"
for file, write in WRITERS.items():
    (warm / file.replace(".", "-")).mkdir(parents=True)
    write(warm / file.replace(".", "-") / file)  # all is imported now
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
assert not os.access(folder, os.W_OK)
for file, write in WRITERS.items():
    try:
        write(folder / file)
    except DOCUMENTED as problem:
        assert "\\n" not in str(problem)
        print(file, "refused")
"""


def test_a_read_only_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for folder in tmp_path.parents[:2]:
        folder.chmod(0o755)
    folder = tmp_path / "read-only"
    folder.mkdir(mode=0o555)
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == [f"{file} refused" for file in WRITERS], done.stderr
    assert list(folder.iterdir()) == []
