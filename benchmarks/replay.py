"""What a browser asked while somebody worked, asked again by ten clients at once.

`Recorder` keeps every request of a page that is not a script, style or picture, with the moment it was sent; `replay`
gives each client a thread and one connection, keeps the recorded pauses, and times each reply from the first byte sent
to the last one received.
"""

from __future__ import annotations

import http.client
import threading
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from playwright.sync_api import Page, Request

CLIENTS = 10


@dataclass(frozen=True)
class Asked:
    """One request; `after` = seconds since the first of the recording."""

    after: float
    method: str
    target: str
    body: bytes
    kind: str


@dataclass(frozen=True)
class Answered:
    """One reply; `seconds` as the client sees them."""

    target: str
    status: int
    size: int
    seconds: float


class Recorder:
    """Of one page, from when it is made."""

    def __init__(self, page: Page) -> None:
        self.asked: list[Asked] = []
        self._begun = time.perf_counter()
        page.on("request", self._note)

    def _note(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme != "http" or parts.path.startswith(("/assets/", "/_dash-component-suites/")):
            return
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        kind = request.headers.get("content-type", "")
        after = time.perf_counter() - self._begun
        self.asked.append(Asked(after, request.method, target, request.post_data_buffer or b"", kind))


def replay(base: str, asked: list[Asked], clients: int = CLIENTS) -> list[Answered]:
    """All replies of all clients, which begin one after the other within the first second."""
    answered: list[Answered] = []
    lock = threading.Lock()

    def work(number: int) -> None:
        own = _one_client(base, asked, delay=number / clients)
        with lock:
            answered.extend(own)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answered


def _one_client(base: str, asked: list[Asked], delay: float) -> list[Answered]:
    host = urlsplit(base).netloc
    connection = http.client.HTTPConnection(host, timeout=60)
    begun = time.perf_counter() + delay - asked[0].after
    found = []
    for each in asked:
        time.sleep(max(0.0, begun + each.after - time.perf_counter()))
        headers = {"Origin": base} | ({"Content-Type": each.kind} if each.kind else {})
        sent = time.perf_counter()
        connection.request(each.method, each.target, body=each.body or None, headers=headers)
        reply = connection.getresponse()
        size = len(reply.read())
        found.append(Answered(each.target, reply.status, size, time.perf_counter() - sent))
    connection.close()
    return found
