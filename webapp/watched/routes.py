"""Routes of the watched program:

GET  /data/watch/state?known=TURN&file=PATH   JSON: {"turn"}, or the state with `key` and `pinned_key` of its reports
POST /data/watch/pin?on=1                     pin the version shown, on=0 unpins
POST /data/watch/run                          run it again
"""

from __future__ import annotations

from typing import Any

import orjson
from flask import Flask, Response, request

from webapp.base.library import Library
from webapp.base.query import number_of
from webapp.watched.program import WatchedProgram

#: A header that pages of other sites cannot send without a CORS preflight.
HEADER = "X-Popvision"

#: Lines of one file that the page shows, and characters of each.
MOST_LINES, MOST_CHARACTERS = 20_000, 400


def register(server: Flask, library: Library, program: WatchedProgram) -> None:
    """Add the routes."""

    @server.get("/data/watch/state")
    def watch_state() -> Response:
        try:
            known = number_of(request.args, "known", default=0)
        except ValueError as problem:
            return Response(str(problem), status=400, mimetype="text/plain")
        answer = Response(orjson.dumps(_state(library, program, known)), mimetype="application/json")
        answer.headers["Cache-Control"] = "no-store"
        return answer

    @server.post("/data/watch/<action>")
    def watch_action(action: str) -> Response:
        if request.headers.get(HEADER) != "watch":
            return Response(f"This needs the header {HEADER}: watch.", status=403, mimetype="text/plain")
        if action == "pin":
            program.pin(request.args.get("on") == "1")
        elif action == "run":
            program.run_again()
        else:
            return Response("A watched program has the actions pin and run.", status=404, mimetype="text/plain")
        return Response(status=204)


def _state(library: Library, program: WatchedProgram, known: int) -> dict[str, Any]:
    state = program.state(known, request.args.get("file", "")[:4000])
    if len(state) == 1:
        return state
    state["cut"] = max(0, len(state["text"]) - MOST_LINES)
    state["text"] = [_shown(each) for each in state["text"][:MOST_LINES]]
    for name, version in (("key", state["version"]), ("pinned_key", state["pinned"])):
        state[name] = _key_of(library, version["report"]) if version is not None else ""
    return state


def _key_of(library: Library, report: str) -> str:
    """The key of a report in the library, which is searched when the report is newer; "" when it has gone again."""
    for _ in range(2):
        key = next((each.key for each in library.entries() if str(each.path) == report), "")
        if key:
            return key
        library.scan()
    return ""


def _shown(text: str) -> str:
    text = text.expandtabs(4)
    cut = f"{text[:MOST_CHARACTERS]} … ({len(text):,} characters)" if len(text) > MOST_CHARACTERS else text
    return cut.encode("utf-8", "replace").decode()
