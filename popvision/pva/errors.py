"""What `openReport` and `openTrace` raise: the formats' own error, so `except RuntimeError` in old scripts catches it."""

from popvision.formats.errors import FormatError

__all__ = ["FormatError"]
