"""What `openReport` and `openTrace` raise: a RuntimeError, as scripts written for libpva expect."""

from popvision.formats.errors import FormatError

__all__ = ["FormatError"]
