"""Compiled codelets of these tests go to a cache of their own, once for the session."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def codelet_cache(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    yield
    patch.undo()
