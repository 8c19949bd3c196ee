"""Processor time of each reply of a visit: `python -m benchmarks.reply_cpu FOLDER [--views ID ...] [--profile]`.

For each page a new library and app serve a headless browser that opens the page and works on it like
`benchmarks.report_pages`. One thread of this process answers, so the time of a reply is that thread's processor time,
which other load on the machine does not change. Prints replies above `--slow` ms; `--profile` adds the functions that
took the time.
"""

from __future__ import annotations

import argparse
import cProfile
import io
import logging
import pstats
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from waitress import create_server

from benchmarks.page_clock import PageClock
from benchmarks.report_pages import ACTIONS
from benchmarks.viewer import page_of
from webapp.base.library import Library
from webapp.base.views import views_of
from webapp.shell.app import create_app

_LINES = 22


@dataclass(frozen=True)
class Reply:
    """`cpu` in ms of the thread that answered, `size` in bytes before compression."""

    name: str
    cpu: float
    size: int
    profile: cProfile.Profile | None


class Clocked:
    """A WSGI application that records the processor time of its replies."""

    def __init__(self, answer: Callable[..., Iterable[bytes]], profiling: bool) -> None:
        self._answer, self._profiling = answer, profiling
        self.replies: list[Reply] = []

    def __call__(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        profile = cProfile.Profile() if self._profiling else None
        name = environ["PATH_INFO"].removeprefix("/data/") + "?" + environ.get("QUERY_STRING", "")
        if environ["PATH_INFO"] == "/_dash-update-component":
            length = int(environ["CONTENT_LENGTH"])
            body = environ["wsgi.input"].read(length)
            name = "callback " + body.decode().partition('"output":"')[2].partition('"')[0]
            environ["wsgi.input"] = io.BytesIO(body)
        began = time.thread_time()
        if profile:
            profile.enable()
        data = b"".join(self._answer(environ, start))
        if profile:
            profile.disable()
        if not environ["PATH_INFO"].startswith(("/assets", "/_dash-component", "/_favicon")):
            self.replies.append(Reply(name, (time.thread_time() - began) * 1000, len(data), profile))
        return [data]


def main() -> int:
    """Visit the pages, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--views", nargs="*", default=[view.id for view in views_of("report")])
    parser.add_argument("--slow", type=float, default=50)
    parser.add_argument("--vs", type=Path, help="compare with this report")
    parser.add_argument("--profile", action="store_true")
    arguments = parser.parse_args()
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    for view in arguments.views:
        replies, opened = visit(arguments.folder, view, arguments.vs, arguments.profile)
        print(
            f"{view}: opening {sum(each.cpu for each in replies[:opened]):.0f} ms in {opened} replies,"
            f" worst later {max([each.cpu for each in replies[opened:]], default=0):.0f} ms,"
            f" largest {max(each.size for each in replies) / 1000:.0f} kB"
        )
        for row, each in enumerate(replies):
            if each.cpu > arguments.slow:
                when = "opening" if row < opened else "later"
                print(f"  {each.cpu:6.0f} ms {each.size / 1000:6.0f} kB {when:8} {each.name[:150]}")
                if each.profile:
                    pstats.Stats(each.profile, stream=sys.stdout).sort_stats("cumulative").print_stats(_LINES)
        sys.stdout.flush()
    return 0


def visit(folder: Path, view: str, target: Path | None, profiling: bool) -> tuple[list[Reply], int]:
    """The replies of a visit in order, and the number of those that open the page."""
    library = Library([folder] if target is None else [folder, target])
    keys = {Path(entry.path): entry.key for entry in library.entries() if not entry.is_sample}
    key = next(key for path, key in keys.items() if folder in (path, path.parent))
    vs = "" if target is None else "?vs=" + next(key for path, key in keys.items() if target in (path, path.parent))
    clocked = Clocked(create_app(library).server, profiling)
    with socket.create_server(("127.0.0.1", 0)) as bound:
        server = create_server(clocked, sockets=[bound], threads=1)
        threading.Thread(target=server.run, daemon=True).start()
        with page_of() as page:
            clock = PageClock(page)
            clock.open(f"http://127.0.0.1:{bound.getsockname()[1]}/r/{key}/{view}{vs}")
            opened = len(clocked.replies)
            for patch in ACTIONS.get(view, []):
                clock.act(f"popvision.select({patch!r})")
        server.close()
    return clocked.replies, opened


if __name__ == "__main__":
    sys.exit(main())
