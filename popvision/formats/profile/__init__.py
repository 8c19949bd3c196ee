"""profile.pop: its contents as columns (`model`), its writer and its reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from popvision.formats.profile.reader import ProfileReader
    from popvision.formats.profile.writer import ProfileWriter

__all__ = ["ProfileReader", "ProfileWriter"]


def __getattr__(name: str) -> Any:
    # Imported on first use: `popvision info` looks at a file without paying for NumPy.
    if name == "ProfileReader":
        from popvision.formats.profile.reader import ProfileReader

        return ProfileReader
    if name == "ProfileWriter":
        from popvision.formats.profile.writer import ProfileWriter

        return ProfileWriter
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
