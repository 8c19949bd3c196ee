"""HTML attributes that are not Python names."""

from __future__ import annotations

from typing import Any


def attributes(**named: object) -> dict[str, Any]:
    """`**attributes(data_nav="home", aria_label="Views")` -> data-nav="home" aria-label="Views"."""
    return {name.replace("_", "-"): str(value) for name, value in named.items()}
