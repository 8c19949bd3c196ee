"""Takes the pictures of docs/graph-analyser.md from the sample reports: `make pictures`, or names of pictures after it.

Each is what headless Chromium shows of one address, 1400 x 860. An address carries the whole state of its page, so a
picture needs no clicks but those named.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from tests.browser.visit_pages import CHROMIUM, serve  # noqa: E402

IMAGES = HERE / "images"
SIZE = {"width": 1400, "height": 860}


@dataclass(frozen=True)
class Picture:
    """`report` is a folder of sample_reports, `against` the one it is compared with, `click` selectors pressed in
    turn."""

    report: str
    view: str
    state: dict[str, str]
    theme: str = "light"
    against: str = ""
    click: tuple[str, ...] = ()


PICTURES: dict[str, Picture] = {
    "summary": Picture("train_mlp", "summary", {}),
    "summary-compare": Picture("train_mlp", "summary", {}, against="train_mlp_wide"),
    "memory": Picture("matmul_chain", "memory", {"tiles": "0,700", "mem_by": "category"}),
    "liveness": Picture("matmul_chain", "liveness", {"liveness": "18"}),
    "program-tree": Picture("train_mlp", "program_tree", {"program": "40"}, "dark"),
    "execution": Picture("matmul_chain", "execution", {}),
    "exchange": Picture("matmul_chain", "exchange", {"program": "20"}),
    "operations": Picture("train_mlp", "operations", {"ops_group": "1", "ops_name": "layer1"}),
    "operations-graph": Picture("train_mlp", "operations", {"ops_view": "graph", "ops_group": "1"}, "dark"),
    "source": Picture("train_mlp", "source", {}),
}


def main(names: list[str]) -> None:
    """Take the pictures named, all of them by default."""
    IMAGES.mkdir(exist_ok=True)
    base, library = serve(HERE.parent / "sample_reports")
    keys = {entry.path.name: entry.key for entry in library.entries() if entry.kind == "report"}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name in names or PICTURES:
            picture = PICTURES[name]
            page = browser.new_page(viewport=SIZE, color_scheme="dark" if picture.theme == "dark" else "light")
            take(page, base, keys, picture, IMAGES / f"{name}.png")
            page.close()
        browser.close()


def take(page: Page, base: str, keys: dict[str, str], picture: Picture, path: Path) -> None:
    """Open the address, press what is to be pressed, wait until the page is quiet."""
    state = picture.state | ({"vs": keys[picture.against]} if picture.against else {})
    page.goto(f"{base}/r/{keys[picture.report]}/{picture.view}?{urlencode(state)}")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(1_500)
    for selector in picture.click:
        page.click(selector)
        page.wait_for_timeout(1_000)
    page.screenshot(path=path)
    print(path.relative_to(HERE.parent))


if __name__ == "__main__":
    main(sys.argv[1:])
