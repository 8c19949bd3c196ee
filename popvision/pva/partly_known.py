"""Figures of which another tool's report may know some: the others raise AbsentError when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from popvision.formats.errors import AbsentError

T = TypeVar("T", bound="PartlyKnown")


class PartlyKnown:
    """Base of frozen dataclasses (`repr=False`) whose fields may be missing one by one."""

    @classmethod
    def of(cls: type[T], **fields: Callable[[], Any]) -> T:
        """One whose fields are what these return; a field whose question raises AbsentError raises it again."""
        made, sentences = object.__new__(cls), {}
        for name, ask in fields.items():
            try:
                made.__dict__[name] = ask()
            except AbsentError as absent:
                sentences[name] = str(absent)
        made.__dict__["_sentences"] = sentences
        return made

    def __getattr__(self, name: str) -> Any:
        sentence = self.__dict__.get("_sentences", {}).get(name)
        raise AttributeError(name) if sentence is None else AbsentError(sentence)

    def __repr__(self) -> str:
        known = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items() if name != "_sentences")
        return f"{type(self).__name__}({known})"
