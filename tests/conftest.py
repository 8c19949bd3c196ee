"""Settings of every test."""

import os
import tempfile

from hypothesis import settings

# How long an example takes says more about what else the machine does than about the code; benchmarks measure times.
settings.register_profile("tests", deadline=None)
settings.load_profile("tests")

# Devices are exclusive between processes: those of a test process are its own.
os.environ["POPVISION_LOCKS"] = tempfile.mkdtemp(prefix="popvision-locks-")
