"""The documents lead where they say, and the tutorial's figures are those of its programs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import popvision
from tests.example_runs import example_run

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")


def _heading_ids(text: str) -> set[str]:
    """Anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(document: Path) -> None:
    for target in LINK.findall(document.read_text()):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        linked = (document.parent / path).resolve() if path else document
        assert linked.exists(), f"{document.name} links to {target}"
        if anchor:
            assert anchor in _heading_ids(linked.read_text()), f"{document.name} links to {target}"


def test_readme_or_the_index_of_questions_leads_to_every_document() -> None:
    indexes = (ROOT / "README.md").read_text() + (ROOT / "docs" / "questions.md").read_text()
    unlinked = [path.name for path in DOCUMENTS if path.parent != ROOT and path.name not in indexes]
    assert unlinked == []


def test_the_tutorial_quotes_what_its_programs_give(tmp_path_factory: pytest.TempPathFactory) -> None:
    text = (ROOT / "docs" / "tutorial.md").read_text()
    before = popvision.open(example_run(tmp_path_factory, "row_norms.py").folder)
    after = popvision.open(example_run(tmp_path_factory, "row_norms.py", "--spread").folder)
    steps = before.steps()
    total, spread = int(steps.step_cycles.sum()), int(after.steps().step_cycles.sum())
    slowest = steps.loc[steps.step_cycles.idxmax()]
    assert f"takes {total:,} device cycles" in text
    assert f"{spread:,} cycles instead of {total:,}: {1 - spread / total:.2%} less".replace("%", " %") in text
    assert f"`{slowest['name']}`, takes {slowest.step_cycles / total:.2%} of".replace("%", " %") in text
    fullest = [report.tiles().including_gaps_bytes.max() / 1024 for report in (after, before)]
    assert f"holds {fullest[0]:.1f} KiB instead of {fullest[1]:.1f} KiB" in text


def test_the_architecture_is_short_and_names_rooms_that_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    assert len(text.split()) <= 1200
    named = [name for name in re.findall(r"`([\w/]+(?:/|\.py))`", text) if not name.startswith("structure")]
    places = [ROOT, *(ROOT / top for top in ("simulator", "popvision", "webapp", "popvision/analysis/execution"))]
    places += [ROOT / "simulator" / room for room in ("machine", "base", "codelets", "engine")]
    places += [ROOT / "popvision/formats", ROOT / "webapp/system_analyser"]
    missing = [name for name in named if not any((place / name).exists() for place in places)]
    assert len(named) > 30
    assert missing == []
