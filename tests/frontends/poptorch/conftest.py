"""These tests need PyTorch (.venv-frontends); without it none of them is collected."""

from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("torch") else ["*"]


@pytest.fixture
def few_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """IPUs of 16 tiles, and the same random numbers for every test."""
    import torch

    monkeypatch.setenv("POPVISION_TILES", "16")
    torch.manual_seed(0)


@pytest.fixture
def under_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """IPUs of 4 tiles, POPVISION_CHECK, and the same random numbers for every test."""
    import torch

    monkeypatch.setenv("POPVISION_TILES", "4")
    monkeypatch.setenv("POPVISION_CHECK", "torch")
    torch.manual_seed(0)
