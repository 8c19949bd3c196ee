"""From a save to the new figures on the page of `popvision watch`: examples/train_mlp.py on 1,472 tiles.

    python -m benchmarks.save_to_figures [--saves 7] [--picture docs/images/watch.png]

The clock starts before the file is written and ends when the document of the page shows the next version, by the
page's own clock. Each save changes the width of the first hidden layer. `--picture` leaves the page as it is after the
last save, with the first version pinned.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

from popvision.package_data import package_folder
from tests.browser.visit_pages import CHROMIUM
from tests.watch.watch_command import watching

#: Keeps the moment, in ms since the epoch, at which each version appeared.
_NOTE_VERSIONS = """() => {
  window.shown_ = {};
  const note = document.querySelector("#watch-note");
  const look = () => { window.shown_[note.textContent.split(",")[0]] ??= performance.timeOrigin + performance.now(); };
  new MutationObserver(look).observe(note, { childList: true, characterData: true, subtree: true });
}"""

WIDTHS = (96, 160, 64, 112, 144, 80, 192)


def measure(saves: int, picture: Path | None) -> list[float]:
    """Seconds of each save."""
    text = (package_folder("examples") / "train_mlp.py").read_text(encoding="utf-8")
    assert "default=128" in text
    seconds = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        program = Path(folder) / "train_mlp.py"
        program.write_text(text, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 860}, color_scheme="light")
        with watching(program) as watch:
            page.goto(watch.url)
            note = page.locator("#watch-note")
            expect(note).to_contain_text("Version 1, ", timeout=60_000)
            page.locator("#watch-pin").click()
            page.evaluate(_NOTE_VERSIONS)
            for save in range(saves):
                time.sleep(3)  # the process that runs the next save imports meanwhile, as while one types
                began = time.time()
                program.write_text(text.replace("default=128", f"default={WIDTHS[save % len(WIDTHS)]}"), "utf-8")
                expect(note).to_contain_text(f"Version {save + 2}, ", timeout=60_000)
                seconds.append(page.evaluate(f"window.shown_['Version {save + 2}']") / 1000 - began)
            if picture is not None:
                page.screenshot(path=picture)
        browser.close()
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--saves", type=int, default=7)
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    seconds = measure(arguments.saves, arguments.picture)
    each = ", ".join(f"{value:.2f}" for value in seconds)
    print(f"{len(seconds)} saves: median {statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s ({each})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
