"""C++ programs, built with the commands of a user and run.

`make test-cpp` builds the libraries and sets POPVISION_TEST_CPP; without it these tests are skipped."""

from __future__ import annotations

import os

import pytest

from tests.cpp.building import HERE, Shell


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if "POPVISION_TEST_CPP" not in os.environ:
        for item in items:
            if "shell" in getattr(item, "fixturenames", ()) and HERE in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="needs the libraries of C++ programs: make test-cpp"))


@pytest.fixture
def shell(tmp_path, monkeypatch) -> Shell:
    """A shell in an empty folder that sourced enable.sh; compiled codelets are kept there too."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Shell(tmp_path)
