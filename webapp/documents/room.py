"""How large an exported file may grow."""

from __future__ import annotations

#: Bytes of an exported file, in UTF-8: what mail programs and issue trackers still take.
MOST_BYTES = 8_000_000

#: Of these, kept for the head, the notes and the list of what damage has cost.
_RESERVED = 256_000


class Room:
    """Bytes that the blocks of a file may still take."""

    def __init__(self, size: int = MOST_BYTES) -> None:
        self.size = size
        self._left = size - min(_RESERVED, size // 2)
        self.is_cut = False

    def take(self, text: str) -> bool:
        """Whether the text still fits; if so, its bytes are gone."""
        size = len(text.encode("utf-8", "replace"))
        if size > self._left:
            self.is_cut = True
            return False
        self._left -= size
        return True
