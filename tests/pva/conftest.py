"""One report of a program, shared by all tests of pva."""

from __future__ import annotations

from pathlib import Path

import pytest

from popvision import pva
from tests.pva.made import make


@pytest.fixture(scope="session")
def made_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The profile.pop of tests/pva/made.py; read-only for tests."""
    return make(tmp_path_factory.mktemp("made") / "report")


@pytest.fixture(scope="session")
def made(made_path: Path) -> pva.Report:
    return pva.openReport(str(made_path), str(made_path.with_name("debug.cbor")))
