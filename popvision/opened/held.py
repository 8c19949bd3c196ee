"""What is open holds its source until it is closed; no file is held open in between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Self, TypeVar

from popvision.formats.errors import FormatError

if TYPE_CHECKING:
    from types import TracebackType

S = TypeVar("S")


class Held(Generic[S]):
    """A source that can be closed; a context manager."""

    def __init__(self, source: S, name: str) -> None:
        self._held: S | None = source
        self._name = name

    @property
    def source(self) -> S:
        """The source of `popvision.analysis` behind it, for questions that have no method here. Raises FormatError
        once it is closed."""
        if self._held is None:
            raise FormatError(f"{self._name} was closed; open it again with popvision.open.")
        return self._held

    def close(self) -> None:
        """Let go of everything that was read. This is about memory alone."""
        self._held = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
