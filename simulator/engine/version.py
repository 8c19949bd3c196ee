"""Which API this is, and which package gives it."""

from __future__ import annotations

from hashlib import sha256

from popvision import __version__
from simulator.runtime.recording.report_meta import API_LEVEL, popvision_version


def versionString() -> str:
    """The version of Poplar whose API this is, and that of this package: what reports give as poplarVersion."""
    return f"{API_LEVEL} (popvision {popvision_version()})"


def packageHash() -> str:
    """A digest of this package's version. Executables of another version are refused (`Executable.deserialize`)."""
    return sha256(__version__.encode()).hexdigest()[:16]
