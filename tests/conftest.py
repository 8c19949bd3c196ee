"""Settings of every test."""

from hypothesis import settings

# How long an example takes says more about what else the machine does than about the code; benchmarks measure times.
settings.register_profile("tests", deadline=None)
settings.load_profile("tests")
