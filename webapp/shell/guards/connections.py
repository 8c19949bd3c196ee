"""The web server with limits on its connections: a client that opens many and sends nothing silences nobody.

A new connection costs one look at the open ones. An address may hold MOST_OF_ONE, all together MOST: beyond that the
connection that has been quiet longest, and has no request in service, is closed for the new one, so that a request is
always accepted. Viewers listen on loopback by default, where every client has the same address: refusing the newest
would shut out the user.
"""

from __future__ import annotations

import logging
import socket
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from waitress import create_server
from waitress.channel import HTTPChannel

#: Connections of one address; a browser opens about six to a viewer.
MOST_OF_ONE = 64
MOST = 256
#: Seconds without a byte after which a connection without a request in service is closed.
QUIET_SECONDS = 30
#: Waitress stops accepting here; its own sockets count. Only requests in service can come close.
_NO_MORE = 2 * MOST
_THREADS = 8


class _Connection(HTTPChannel):  # type: ignore[misc]
    """A connection that makes room for itself."""

    def __init__(self, server: Any, sock: socket.socket, addr: Any, adj: Any, map: Any = None) -> None:
        _make_room(server.active_channels.values(), addr[0])
        super().__init__(server, sock, addr, adj, map=map)


def _make_room(channels: Iterable[HTTPChannel], address: str) -> None:
    """Close a quiet connection where one more from `address` is beyond a limit."""
    staying = [channel for channel in channels if not channel.will_close]
    held = Counter(channel.addr[0] for channel in staying)
    if held[address] < MOST_OF_ONE:
        if len(staying) < MOST:
            return
        address = max(held, key=held.__getitem__)
    quiet = [channel for channel in staying if channel.addr[0] == address and not channel.requests]
    if quiet:
        min(quiet, key=lambda channel: channel.last_activity).will_close = True


def server_on(application: Callable[..., Any], bound: socket.socket) -> Any:
    """A server of a WSGI application on a bound socket; `run()` serves until `close()`."""
    # A page requests many files at once; this logger would report that as overload.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    server = create_server(
        application,
        sockets=[bound],
        threads=_THREADS,
        ident="popvision",
        connection_limit=_NO_MORE,
        channel_timeout=QUIET_SECONDS,
        cleanup_interval=QUIET_SECONDS // 3,
        asyncore_use_poll=True,  # select() takes no file number above 1,023, and reports are open files, too
    )
    server.channel_class = _Connection
    return server
