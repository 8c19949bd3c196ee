"""An export of a damaged file says a sentence, and nothing beside it: no exception that Python ignored, neither while
objects are freed nor when the process ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.formats import mutations
from tests.formats.mutated_formats import FORMATS

ROOT = Path(__file__).resolve().parents[2]

TABLES = [["export", kind, "--format", "json"] for kind in ("intervals", "tiles", "steps", "liveness")]
EVENTS = [["trace", "export", "--format", format_] for format_ in ("csv", "json", "chrome", "speedscope")]

#: Exports files of the names in sys.argv, each in every way.
EXPORTING = """
import gc, sys, warnings
from tests.cli.called import popvision
from tests.cli.test_damaged_exports import EVENTS, TABLES
warnings.simplefilter("ignore", ResourceWarning)  # locks of kept imports last as long as the process
for path in sys.argv[1:]:
    for words in TABLES if path.endswith(".pop") else EVENTS:
        done = popvision(*words, path)
        gc.collect()
        assert done.returncode in (0, 1)
        assert done.returncode == 0 or done.stderr, words
        assert all(line.startswith("popvision: ") for line in done.stderr.splitlines()), done.stderr
        print(path, *words, done.returncode)
"""


@pytest.mark.parametrize("name", ["profile.pop", "trace.pvti", "journal.pvti"])
def test_nothing_but_sentences(name: str, tmp_path: Path) -> None:
    sound = tmp_path / name
    makers = {format_.file: format_.make for format_ in FORMATS.values()} | {"profile.pop": mutations.make_report}
    makers[name](sound)
    paths = []
    for number in range(4):
        paths.append(tmp_path / str(number) / name)
        paths[-1].parent.mkdir()
        paths[-1].write_bytes(mutations.mutated(sound.read_bytes(), number)[1])
    command = [sys.executable, "-X", "dev", "-c", EXPORTING, *map(str, paths)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    codes = [line.split()[-1] for line in done.stdout.splitlines()]
    assert len(codes) == 4 * len(paths)
    assert "1" in codes
