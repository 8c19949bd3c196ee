"""Serve the viewer: `serve(folders)` binds a port, prints the address last and runs until interrupted."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from webapp.base.access import KEY, Access, is_loopback, own_names
from webapp.base.joint_key import MOST_FILES, joint_key
from webapp.shell.security import LOOPBACK_NAMES

if TYPE_CHECKING:
    from webapp.base.library import Library
    from webapp.watched.program import WatchedProgram

DEFAULT_PORT = 8050
_PORTS_TRIED = 100
_M_ARENA_MAX = -8  #: of mallopt in glibc


class ServeError(RuntimeError):
    """The server cannot start; the message is one sentence with the fix."""


def serve(
    folders: Sequence[str | Path] = (),
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    allowed_hosts: Iterable[str] = (),
    open_browser: bool = False,
    uploads: bool = True,
    compare: bool = False,
    follow: bool = False,
    watched: WatchedProgram | None = None,
    out: TextIO | None = None,
) -> None:
    """Serve reports below `folders` (none = the packaged samples) until Ctrl-C.

    `port` None = the first free port from 8050; a given port must be free. A `host` other than a loopback name makes
    the viewer reachable from other machines: they need the token in the printed address and must use an address of
    this machine or a name in `allowed_hosts`. `compare` also prints the addresses of `print_addresses`. With `follow`
    open timelines show what is added to their files. `watched` is shown at /watch, which then is the printed address.
    Raises ServeError.
    """
    from webapp.base.library import Library

    bound = bind(host, port)
    try:
        library = Library(folders, follows=follow)
        _serve_on(bound, library, host, allowed_hosts, open_browser, uploads, compare, watched, out or sys.stdout)
    finally:
        bound.close()


def _serve_on(
    bound: socket.socket,
    library: Library,
    host: str,
    allowed_hosts: Iterable[str],
    open_browser: bool,
    uploads: bool,
    compare: bool,
    watched: WatchedProgram | None,
    out: TextIO,
) -> None:
    from webapp.shell.app import create_app
    from webapp.shell.guards.connections import server_on
    from webapp.shell.security import HostPolicy, host_names
    from webapp.shell.uploads import Uploads

    try:
        names = host_names(allowed_hosts)
    except ValueError as problem:
        raise ServeError(str(problem)) from None
    number = bound.getsockname()[1]
    access = None if is_loopback(host) else Access(number)
    own = frozenset(own_names(host)) if access else frozenset()
    policy = HostPolicy(port=number, allowed=names, own=own)
    app = create_app(library, policy, access=access, uploads=Uploads(library) if uploads else None, watched=watched)
    _share_freed_memory()
    server = server_on(app.server, bound)
    for note in library.notes if watched is None else ():
        print(note, file=out)
    url = f"http://{_shown_host(host)}:{number}/{'' if watched is None else 'watch'}"
    if access is not None:
        url += f"?{KEY}={access.token}"
        print("Other machines can reach this viewer with the token in its address.", file=out)
    if compare:
        print_addresses(library, url, out)
    if open_browser and has_display():
        threading.Timer(0.3, webbrowser.open, [url]).start()
    print(f"Serving on {url}", file=out, flush=True)
    try:
        server.run()
    except KeyboardInterrupt:
        pass
    finally:
        server.close()


def _share_freed_memory() -> None:
    """Have all threads free memory to two places. By default glibc gives each thread of the server one of its own, and
    a large report takes tens of megabytes more than it needs. Nothing happens with another C library."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)


def bind(host: str, port: int | None) -> socket.socket:
    """A socket bound to `port`, or to the first free port from DEFAULT_PORT. Raises ServeError without one."""
    if port is not None and not 0 <= port <= 65_535:
        raise ServeError(f"port {port} is not between 0 and 65535")
    numbers = [port] if port is not None else list(range(DEFAULT_PORT, DEFAULT_PORT + _PORTS_TRIED))
    for number in numbers:
        try:
            return _bind_one(host, number)
        except socket.gaierror as problem:
            raise ServeError(f"host {host!r} is not an address of this machine: {problem.strerror}") from None
        except OSError as problem:
            reason = problem.strerror or str(problem)
    if port is None:
        raise ServeError(f"no free port from {DEFAULT_PORT} to {DEFAULT_PORT + _PORTS_TRIED - 1} on {host}: {reason}")
    raise ServeError(f"port {port} on {host} cannot be used ({reason}): choose another one, or omit the port")


def _bind_one(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    bound = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except BaseException:
        bound.close()
        raise
    return bound


def has_display() -> bool:
    """Whether this machine can show a browser window."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def print_addresses(library: Library, url: str, out: TextIO) -> None:
    """Print the addresses below `url` that compare the first two reports, and that show the traces which are given
    folders of the library in one timeline and compare the first two; nothing for fewer."""
    base, mark, token = url.partition("?")
    tail = f"&{token}" if mark else ""
    keys = [entry.key for entry in library.entries() if entry.kind == "report" and not entry.is_sample]
    if len(keys) > 1:
        print(f"Compare at {base}r/{keys[0]}/summary?vs={keys[1]}{tail}", file=out)
    named = [entry.key for entry in library.entries() if entry.kind == "trace" and entry.path in library.folders]
    if len(named) > 1:
        print(f"Traces in one timeline at {base}t/{joint_key(named[:MOST_FILES])}/timeline{mark}{token}", file=out)
        print(f"Compare traces at {base}t/{named[0]}/timeline?tl_tab=difference&vs={named[1]}{tail}", file=out)


def _shown_host(host: str) -> str:
    if host in ("0.0.0.0", "::"):
        return next(iter(own_names(host)), "localhost")
    return f"[{host}]" if ":" in host and host not in LOOPBACK_NAMES else host
