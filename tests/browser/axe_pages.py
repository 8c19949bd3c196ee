"""axe-core in a page: what breaks WCAG 2.2 A and AA, or a best practice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import axe_playwright_python
from playwright.sync_api import Page

_SOURCE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text("utf-8")

#: Elements that axe is told to pass over, with the reason.
PASSED_OVER = [
    # Plotly's own drawing: what holds it carries the name, the table beside it the values.
    ".js-plotly-plot .main-svg",
]


def violations(page: Page, *, within: str = "html", rules: list[str] | None = None) -> list[str]:
    """One line per element that breaks a rule. `rules` None = all of them."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(_SOURCE)
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "rule", "values": rules}
    found = page.evaluate(
        "([within, leave, options]) => axe.run({include: [[within]], exclude: leave.map((each) => [each])}, options)"
        ".then((result) => result.violations)",
        [within, PASSED_OVER, options],
    )
    return [
        f"{each['id']} ({each['impact']}): {node['target'][-1]}: {node['html'][:160]}: {_why(node)}"
        for each in found
        for node in each["nodes"]
    ]


def _why(node: dict[str, Any]) -> str:
    checks = node["any"] + node["all"] + node["none"]
    return "; ".join(check["message"] for check in checks)[:200]
