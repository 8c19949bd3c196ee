"""Connections that send nothing silence nobody: a request is answered beside any number of them."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from webapp.shell.guards import connections
from webapp.shell.guards.connections import server_on
from webapp.shell.serve import bind

REQUEST = b"GET / HTTP/1.0\r\n\r\n"


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    """Where a server answers `hello`."""

    def hello(_: dict[str, str], start: Callable[..., object]) -> list[bytes]:
        start("200 OK", [("Content-Length", "5")])
        return [b"hello"]

    with bind("127.0.0.1", 0) as bound:
        server = server_on(hello, bound)
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            yield bound.getsockname()
        finally:
            server.trigger.pull_trigger(server.close)
            thread.join(10)
            server.task_dispatcher.shutdown()


def answer(address: tuple[str, int]) -> bytes:
    with socket.create_connection(address, timeout=10) as client:
        client.sendall(REQUEST)
        return b"".join(iter(lambda: client.recv(4096), b""))


def is_open(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return client.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: "], ids=["silent", "half a request"])
def test_a_request_is_answered_beside_many_half_open_connections(address: tuple[str, int], sent: bytes) -> None:
    with contextlib.ExitStack() as stack:
        quiet = []
        for _ in range(5 * connections.MOST_OF_ONE):
            client = stack.enter_context(socket.create_connection(address, timeout=10))
            client.sendall(sent)
            quiet.append(client)
        assert answer(address).endswith(b"hello")
        assert answer(address).endswith(b"hello")
        assert sum(map(is_open, quiet)) < connections.MOST_OF_ONE
        assert is_open(quiet[-1])


class Channel:
    """What a limit looks at."""

    def __init__(self, address: str, quiet_since: float, serves: bool = False) -> None:
        self.addr, self.last_activity, self.requests = (address, 1), quiet_since, ["request"] if serves else []
        self.will_close = False


def closed_for(channels: list[Channel], address: str) -> list[int]:
    connections._make_room(channels, address)
    return [number for number, channel in enumerate(channels) if channel.will_close]


def test_the_quietest_of_the_address_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_OF_ONE", 2)
    channels = [Channel("a", 3), Channel("b", 0), Channel("a", 1, serves=True)]
    assert closed_for(channels, "b") == []
    assert closed_for(channels, "a") == [0]
    busy = [Channel("a", 0, serves=True), Channel("a", 1, serves=True)]
    assert closed_for(busy, "a") == []


def test_beyond_all_the_address_with_most_loses_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST", 4)
    channels = [Channel("a", 0), Channel("b", 5), Channel("b", 4), Channel("b", 6)]
    assert closed_for(channels, "c") == [2]
    assert closed_for(channels, "c") == [2]
