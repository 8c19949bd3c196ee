"""Texts of formulas for cost terms: the docstrings of the functions that compute them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=256)
def described(section: str, *formulas: Callable[..., Any]) -> str:
    """The docstrings of cycle formulas on one line, an inner formula after the one that uses it, and where they were
    published."""
    texts = (" ".join((formula.__doc__ or formula.__name__).split()) for formula in formulas)
    return f"{' | '.join(texts)} [PopLibs estimator, published-numbers {section}]"


@lru_cache(maxsize=256)
def described_as(where: str, *formulas: Callable[..., Any]) -> str:
    """As `described`, for formulas of public PopLibs sources that the published summary leaves out."""
    texts = (" ".join((formula.__doc__ or formula.__name__).split()) for formula in formulas)
    return f"{' | '.join(texts)} [{where}]"
