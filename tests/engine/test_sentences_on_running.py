"""Each sentence of Poplar's page on loading, running and stopping stands in docs/api.md beside tests that there are."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
METHODS = {"Engine", "prepare", "deploy", "load", "run", "loadAndRun", "stop"}


def rows():
    section = (
        (ROOT / "docs" / "api.md").read_text().partition("### Loading, running and stopping")[2].partition("\n### ")[0]
    )
    cells = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    return [(of.strip(" `"), sentence, tests) for of, sentence, tests in cells]


def test_each_sentence_has_tests_that_there_are():
    for _, sentence, tests in rows():
        links = re.findall(r"\[(test_\w+)\]\(\.\./(tests/[\w/]+\.py)\)", tests)
        assert links, sentence
        for name, file in links:
            assert f"def {name}(" in (ROOT / file).read_text(), (name, file)


def test_every_method_that_loads_runs_or_stops_is_there():
    assert {of for of, _, _ in rows()} >= METHODS
