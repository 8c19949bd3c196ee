"""An access token for a viewer that other machines can reach.

The address printed at the start contains the token. The first visit stores it in a cookie that scripts cannot read and
other sites cannot make the browser send. Without the token nothing is served, not even a style sheet.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from html import escape
from urllib.parse import urlencode

from flask import Request, Response

#: The query key of the first visit.
KEY = "token"

_COOKIE = "popvision_access"

_REFUSED = (
    "This viewer needs the token that it printed when it started: open the complete address, including ?token=..."
)


class Access:
    """One token for the life of a server. `port` separates the cookies of two viewers on one machine."""

    def __init__(self, port: int | None = None, token: str = "") -> None:
        self.token = token or secrets.token_urlsafe(24)
        self.cookie = _COOKIE if port is None else f"{_COOKIE}_{port}"

    def check(self, request: Request) -> Response | None:
        """None when the request is allowed; else the answer: the page that sets the cookie, or a refusal."""
        if self._is_ours(request.cookies.get(self.cookie, "")):
            return None
        if request.method == "GET" and self._is_ours(request.args.get(KEY, "")):
            return self._welcome(request)
        return Response(f"{_REFUSED}\n", status=401, mimetype="text/plain")

    def _is_ours(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode("utf-8"))

    def _welcome(self, request: Request) -> Response:
        """Set the cookie and go to the same page without the token. A page does so instead of a redirect, so that the
        browser treats the next request as same-site and sends the strict cookie."""
        rest = [(name, value) for name, value in request.args.items(multi=True) if name != KEY]
        path = "/" + request.path.lstrip("/\\")
        address = escape(path + (f"?{urlencode(rest)}" if rest else ""), quote=True)
        page = (
            f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>PopVision</title>'
            f'<meta http-equiv="refresh" content="0;url={address}"></head>'
            f'<body><a href="{address}">PopVision</a></body></html>'
        )
        response = Response(page, mimetype="text/html")
        response.headers["Cache-Control"] = "no-store"
        response.set_cookie(self.cookie, self.token, httponly=True, samesite="Strict", path="/")
        return response


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def own_names(host: str) -> list[str]:
    """Names by which other machines reach a server bound to `host`, best first: the address itself, or for a wildcard
    the addresses and the name of this machine."""
    if host not in ("0.0.0.0", "::"):
        return [f"[{host}]" if ":" in host else host.lower()]
    name = socket.gethostname()
    addresses = [_outward_address()]
    try:
        addresses += [str(each[4][0]) for each in socket.getaddrinfo(name, None, family=socket.AF_INET)]
    except OSError:
        pass
    return [each.lower() for each in dict.fromkeys([*addresses, name]) if each and not is_loopback(each)]


def _outward_address() -> str:
    """The address that this machine uses to reach others; no data is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return ""
        return str(probe.getsockname()[0])
