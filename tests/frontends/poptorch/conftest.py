"""These tests need PyTorch (.venv-frontends); without it none of them is collected."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]
