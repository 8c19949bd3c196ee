"""Replay the requests of a browser session by ten clients at once.

`Recorder` records the requests of a page, without scripts, styles and pictures, and the time of each. `replay` gives
each client a thread and one connection, keeps the recorded pauses, and times each reply from the first byte sent to the
last one received.
"""

from __future__ import annotations

import http.client
import threading
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from playwright.sync_api import Page
from playwright.sync_api import Request as PageRequest

CLIENTS = 10


@dataclass(frozen=True)
class Request:
    """One request; `after` = seconds since the first request of the recording."""

    after: float
    method: str
    target: str
    body: bytes
    kind: str


@dataclass(frozen=True)
class Reply:
    """One reply; `seconds` as the client measures them."""

    target: str
    status: int
    size: int
    seconds: float


class Recorder:
    """Records the requests of one page from its construction on."""

    def __init__(self, page: Page) -> None:
        self.requests: list[Request] = []
        self._begun = time.perf_counter()
        page.on("request", self._note)

    def _note(self, request: PageRequest) -> None:
        parts = urlsplit(request.url)
        if parts.scheme != "http" or parts.path.startswith(("/assets/", "/_dash-component-suites/")):
            return
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        kind = request.headers.get("content-type", "")
        after = time.perf_counter() - self._begun
        self.requests.append(Request(after, request.method, target, request.post_data_buffer or b"", kind))


def replay(base: str, requests: list[Request], clients: int = CLIENTS) -> list[Reply]:
    """All replies of all clients, which start one after the other within the first second."""
    replies: list[Reply] = []
    lock = threading.Lock()

    def work(number: int) -> None:
        own = _one_client(base, requests, delay=number / clients)
        with lock:
            replies.extend(own)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return replies


def _one_client(base: str, requests: list[Request], delay: float) -> list[Reply]:
    host = urlsplit(base).netloc
    connection = http.client.HTTPConnection(host, timeout=60)
    begun = time.perf_counter() + delay - requests[0].after
    found = []
    for each in requests:
        time.sleep(max(0.0, begun + each.after - time.perf_counter()))
        headers = {"Origin": base} | ({"Content-Type": each.kind} if each.kind else {})
        sent = time.perf_counter()
        connection.request(each.method, each.target, body=each.body or None, headers=headers)
        reply = connection.getresponse()
        size = len(reply.read())
        found.append(Reply(each.target, reply.status, size, time.perf_counter() - sent))
    connection.close()
    return found
