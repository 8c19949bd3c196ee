"""Protection of the local server from pages of other sites in the user's browser.

A request is answered only when its Host header is a loopback name (or an explicitly allowed name) with the port of the
server, which prevents DNS rebinding. A request that changes state must also come from the server's origin. Every answer
forbids the page to load or send anything elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from flask import Flask, Response, request

from webapp.base.access import Access

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})

_HOST = re.compile(r"^(?P<name>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+)(:(?P<port>\d{1,5}))?$")


@dataclass(frozen=True)
class HostPolicy:
    """The accepted Host headers. `port` None = any port (for tests without a socket); `allowed` = further host names
    with any port."""

    port: int | None = None
    allowed: frozenset[str] = frozenset()
    own: frozenset[str] = (
        frozenset()
    )  #: further names with our port: those of this machine when the server is bound beyond loopback

    def accepts(self, host: str) -> bool:
        """Whether a Host header names this server."""
        match = _HOST.match(host)
        if match is None:
            return False
        name = match["name"].lower().rstrip(".")
        if name not in LOOPBACK_NAMES | self.allowed | self.own:
            return False
        return self.port is None or int(match["port"] or 80) == self.port or name in self.allowed

    def accepts_origin(self, origin: str, host: str) -> bool:
        """Whether a page at `origin` may send a request: its host must be that of the server."""
        scheme, _, rest = origin.partition("://")
        return scheme in ("http", "https") and rest.lower() == host.lower()


def host_names(names: Iterable[str]) -> frozenset[str]:
    """Lower-cased names. Raises ValueError for one that is not a plain host name, such as "*"."""
    hosts = set()
    for name in names:
        match = _HOST.match(name)
        if match is None or match["port"] is not None:
            raise ValueError(f"allowed host {name!r} is not a host name: write it without scheme, port or wildcard")
        hosts.add(name.lower())
    return frozenset(hosts)


def content_policy(script_hashes: Iterable[str]) -> str:
    """The Content-Security-Policy: everything from this server, inline scripts by hash. Plotly and the grid write style
    attributes, hence 'unsafe-inline' for styles; data: and blob: images are plots saved as pictures."""
    return "; ".join(
        [
            "default-src 'none'",
            "script-src 'self' " + " ".join(script_hashes),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        ]
    )


def protect(server: Flask, policy: HostPolicy, script_hashes: Iterable[str], access: Access | None = None) -> None:
    """Add the checks and the headers to every request of `server`; with `access` each one needs its token."""
    csp = content_policy(script_hashes)

    @server.before_request
    def check_origin() -> Response | None:
        host = request.headers.get("Host", "")
        if not policy.accepts(host):
            return _refuse(
                f"This viewer does not accept host {host[:200]!r}. If it is yours, allow it with --allow-host."
            )
        origin = request.headers.get("Origin")
        if origin is not None and not policy.accepts_origin(origin, host):
            return _refuse("Requests from other sites are refused.")
        if request.headers.get("Sec-Fetch-Site", "none") == "cross-site" and request.method != "GET":
            return _refuse("Requests from other sites are refused.")
        return None if access is None else access.check(request)

    @server.after_request
    def add_headers(response: Response) -> Response:
        response.headers["Content-Security-Policy"] = csp
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["X-Frame-Options"] = "DENY"
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        response.headers["Permissions-Policy"] = "camera=(), microphone=(), geolocation=()"
        return response


def _refuse(sentence: str) -> Response:
    return Response(sentence, status=403, mimetype="text/plain")
