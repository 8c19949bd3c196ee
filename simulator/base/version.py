"""Which Poplar API this is, and which package gives it."""

from __future__ import annotations

from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version

from popvision import __version__

#: The version of Poplar whose API this is. Our own version stands where an SDK has its build hash.
API_LEVEL = "3.4.0"


def package_version() -> str:
    """The version of the installed package."""
    try:
        return version("popvision")
    except PackageNotFoundError:
        return "0+unknown"


def versionString() -> str:
    """The version of Poplar whose API this is, and that of this package: what reports give as poplarVersion."""
    return f"{API_LEVEL} (popvision {package_version()})"


def packageHash() -> str:
    """A digest of this package's version. Executables of another version are refused (`Executable.deserialize`)."""
    return sha256(__version__.encode()).hexdigest()[:16]
