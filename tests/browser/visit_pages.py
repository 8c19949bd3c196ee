"""Opens every page of every report and trace in a folder in headless Chromium, and says what it saw.

    python -m tests.browser.visit_pages FOLDER [--lo] [--shots DIR]

`--lo` first brings up the loopback device: inside `unshare -rn` nothing else exists, so a page that needs anything from
outside fails here. Prints one JSON object: per page its text length, console errors, failed requests, and
requests to other hosts; with `--shots` also writes a picture of each page in both themes. The exit code is 0 when
no page had a problem.
"""

from __future__ import annotations

import fcntl
import json
import socket
import struct
import sys
import threading
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright
from waitress import create_server

from tests.browser.frame import PATIENCE, until_quiet
from webapp.base.access import Access
from webapp.base.library import Library
from webapp.base.views import views_of
from webapp.shell.app import create_app
from webapp.shell.security import HostPolicy
from webapp.shell.serve import bind
from webapp.shell.uploads import Uploads

CHROMIUM = "/usr/bin/chromium"
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


def bring_up_loopback() -> None:
    """What `ip link set lo up` does, without iproute2."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        request = struct.pack("16sh14s", b"lo", 0, b"")
        flags = struct.unpack("16sh14s", fcntl.ioctl(s, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(s, _SIOCSIFFLAGS, struct.pack("16sh14s", b"lo", flags | _IFF_UP, b""))


def serve(
    folder: Path, access: Access | None = None, *, uploads: bool = False, follows: bool = False
) -> tuple[str, Library]:
    """Serve `folder` on a free port from a thread of this process."""
    bound = bind("127.0.0.1", 0)
    library = Library([folder], follows=follows)
    policy = HostPolicy(port=bound.getsockname()[1])
    uploaded = Uploads(library) if uploads else None
    app = create_app(library, policy, access=access, uploads=uploaded)
    server = create_server(app.server, sockets=[bound], threads=8)
    threading.Thread(target=server.run, daemon=True).start()
    return f"http://127.0.0.1:{bound.getsockname()[1]}", library


def addresses(library: Library) -> list[str]:
    """Paths of the picker and of every view of every entry below the folder given."""
    paths = ["/"]
    for entry in library.entries():
        if entry.is_sample:
            continue
        prefix = "r" if entry.kind == "report" else "t"
        paths += [f"/{prefix}/{entry.key}/{view.id}" for view in views_of(entry.kind)]
    return paths


def visit(page: Page, base: str, path: str) -> dict[str, Any]:
    """Open one page, wait until it is quiet, and report on it."""
    problems: list[str] = []
    page.on("console", lambda m: problems.append(f"console: {m.text}") if m.type == "error" else None)
    page.on("pageerror", lambda e: problems.append(f"script: {e}"))
    page.on("requestfailed", lambda r: problems.append(f"failed: {r.url}"))
    page.on("response", lambda r: problems.append(f"{r.status}: {r.url}") if r.status >= 400 else None)
    page.on("request", lambda r: None if r.url.startswith((base, "data:", "blob:")) else problems.append(r.url))
    page.set_default_timeout(PATIENCE)
    page.goto(base + path)
    page.wait_for_selector("#page > *", state="attached")
    until_quiet(page)
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return {"text": page.inner_text("body"), "problems": problems, "background": background}


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0])
    if "--lo" in arguments:
        bring_up_loopback()
    shots = Path(arguments[arguments.index("--shots") + 1]) if "--shots" in arguments else None
    base, library = serve(folder)
    seen: dict[str, Any] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for theme in ("light", "dark") if shots else ("light",):
            for path in addresses(library):
                page = browser.new_page(viewport={"width": 1400, "height": 900}, color_scheme=theme)
                seen[f"{theme} {path}"] = visit(page, base, path)
                if shots:
                    shots.mkdir(parents=True, exist_ok=True)
                    page.screenshot(path=shots / f"{path.strip('/').replace('/', '-') or 'picker'}-{theme}.png")
                page.close()
        browser.close()
    json.dump(seen, sys.stdout, indent=1)
    return int(any(each["problems"] for each in seen.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
