"""Settings of every test."""

import os

import pytest


@pytest.fixture(autouse=True, scope="module")
def own_devices(tmp_path_factory):
    """Devices are exclusive, between processes and within one: those of a module of tests are its own."""
    before = os.environ.get("POPVISION_LOCKS")
    os.environ["POPVISION_LOCKS"] = str(tmp_path_factory.mktemp("locks"))
    yield
    if before is None:
        del os.environ["POPVISION_LOCKS"]
    else:
        os.environ["POPVISION_LOCKS"] = before


@pytest.fixture(autouse=True, scope="session")
def no_kept_imports():
    """Imports of other tools' traces are kept in the tester's own cache folder, unless a test gives another one."""
    os.environ["POPVISION_TRACE_CACHE"] = "off"
