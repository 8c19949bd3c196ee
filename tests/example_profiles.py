"""Profiles of Hypothesis, a plugin of pytest: how many examples a test draws has its home here.

`commit` draws 25, the same each time; HYPOTHESIS_PROFILE=long draws 500 at random and prints the seed that repeats
them. A test whose single example costs more than about 80 ms is `costly`: it draws a fourth of either. Deadlines are
off: how long an example takes says more about what else the machine does than about the code.
"""

import os
import random

import pytest
from hypothesis import HealthCheck, Phase, settings

PROFILE = "HYPOTHESIS_PROFILE"
PROFILES = ("commit", "long")
COSTLY_PART = 4

# A fixture of a function serves all examples of a test here, on purpose: they write into files of their own.
UNCHECKED = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large)

settings.register_profile("every", deadline=None, suppress_health_check=UNCHECKED)
settings.register_profile("commit", settings.get_profile("every"), max_examples=25, derandomize=True)
settings.register_profile("long", settings.get_profile("every"), max_examples=500, print_blob=True)


def costly() -> settings:
    """A fourth of the examples of the profile that runs, for tests with expensive examples."""
    return settings(max_examples=settings().max_examples // COSTLY_PART)


def search() -> settings:
    """The examples of the profile until the first that fails, which is left as it was found: for tests that a test
    fails."""
    return settings(phases=[Phase.generate], database=None)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """The profile and, for the long one, its seed: before Hypothesis' plugin reads the seed, and before xdist hands the
    options to its processes."""
    name = os.environ.get(PROFILE, "commit")
    if name not in PROFILES:
        raise pytest.UsageError(f"{PROFILE} is {name!r}: give one of {', '.join(PROFILES)}.")
    settings.load_profile(name)
    if name == "long" and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = random.SystemRandom().randrange(2**32)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Prints the seed here because pytest leaves its header out under -q; processes of xdist have no reporter."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and os.environ.get(PROFILE) == "long":
        reporter.write_line(
            f"Hypothesis profile long; the same again: --hypothesis-seed={session.config.option.hypothesis_seed}"
        )
