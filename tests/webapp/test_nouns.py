"""A number stands with its noun in one way, and nothing writes "1 tiles"."""

from __future__ import annotations

import re
from pathlib import Path

from popvision.analysis.report.nouns import with_noun

_ROOT = Path(__file__).parents[2]

#: A plural made by hand.
_BY_HAND = re.compile(r"\{''? if [\w.()\[\]]+ == 1 else '?s'?\}")


def test_one_has_no_plural() -> None:
    assert with_noun(1, "tile") == "1 tile"
    assert with_noun(0, "tile") == "0 tiles"
    assert with_noun(1_472, "tile") == "1,472 tiles"
    assert with_noun(2, "match", "matches") == "2 matches"


def test_no_page_makes_a_plural_by_hand() -> None:
    files = [path for folder in ("webapp", "popvision/analysis") for path in (_ROOT / folder).rglob("*.py")]
    made = [str(path.relative_to(_ROOT)) for path in files if _BY_HAND.search(path.read_text("utf-8"))]
    assert made == []
