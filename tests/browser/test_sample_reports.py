"""Every page of every packaged sample in both themes: no problem, and a ground that is light or dark as asked."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from popvision.package_data import package_folder

ROOT = Path(__file__).parents[2]


@pytest.mark.long
@pytest.mark.browser
def test_samples_in_both_themes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.browser.visit_pages", str(package_folder("sample_reports"))]
    done = subprocess.run([*command, "--shots", str(tmp_path)], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout, done.stderr
    pages = json.loads(done.stdout)
    assert {address: page["problems"] for address, page in pages.items() if page["problems"]} == {}
    assert len(list(tmp_path.glob("*.png"))) == len(pages) >= 2 * 30
    for address, page in pages.items():
        brightness = sum(map(int, re.findall(r"\d+", page["background"])[:3])) / (3 * 255)
        assert (brightness > 0.8) if address.startswith("light") else (brightness < 0.2), address
