"""Everything that goes wrong on a page, as it happens."""

from __future__ import annotations

from playwright.sync_api import Page


def noted_problems(page: Page, base: str) -> list[str]:
    """A list that fills with console errors and warnings, script errors, failed requests, answers of status 400 and
    above, dialogs, and requests to other places than `base`."""
    problems: list[str] = []

    def failed(url: str, reason: str) -> None:
        if reason != "net::ERR_ABORTED":  # a page left while it still asked for rows
            problems.append(f"failed: {url}: {reason}")

    def asked(url: str) -> None:
        if not url.startswith((base + "/", "data:", "blob:")):
            problems.append(f"outside: {url}")

    def said(kind: str, text: str) -> None:
        # Tests read pixels back themselves, which Chromium advises against.
        if kind in ("error", "warning") and "willReadFrequently" not in text:
            problems.append(f"{kind}: {text}")

    page.on("console", lambda m: said(m.type, m.text))
    page.on("pageerror", lambda e: problems.append(f"script: {e}"))
    page.on("requestfailed", lambda r: failed(r.url, r.failure or ""))
    page.on("response", lambda r: problems.append(f"{r.status}: {r.url}") if r.status >= 400 else None)
    page.on("request", lambda r: asked(r.url))
    page.on("dialog", lambda d: (problems.append(f"dialog: {d.message}"), d.dismiss()))
    return problems
