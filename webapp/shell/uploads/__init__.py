"""Reports dropped on the first page, unpacked into a private folder that is deleted when the viewer ends."""

from webapp.shell.uploads.store import Uploads
from webapp.shell.uploads.unpack import RefusedError, unpack

__all__ = ["RefusedError", "Uploads", "unpack"]
