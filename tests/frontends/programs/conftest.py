"""These tests compare with torch: without it they are left out."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["*"]
