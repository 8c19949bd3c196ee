"""Records of which another tool's report may hold only some fields; reading another field raises AbsentError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from popvision.formats.errors import AbsentError

T = TypeVar("T", bound="PartlyKnown")


class PartlyKnown:
    """Base of frozen dataclasses (`repr=False`) whose fields may be missing one by one."""

    @classmethod
    def of(cls: type[T], **fields: Callable[[], Any]) -> T:
        """Fill each field from its function; a field whose function raises AbsentError raises it again when read."""
        record, sentences = object.__new__(cls), {}
        for name, read in fields.items():
            try:
                record.__dict__[name] = read()
            except AbsentError as absent:
                sentences[name] = str(absent)
        record.__dict__["_sentences"] = sentences
        return record

    def __getattr__(self, name: str) -> Any:
        sentence = self.__dict__.get("_sentences", {}).get(name)
        raise AttributeError(name) if sentence is None else AbsentError(sentence)

    def __repr__(self) -> str:
        known = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items() if name != "_sentences")
        return f"{type(self).__name__}({known})"
