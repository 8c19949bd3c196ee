"""Routes of the frame: the list of reports for the command palette, and the state of a report that may grow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flask import jsonify, request

from popvision.analysis.report.not_recorded import FormatError
from webapp.base.library import UnknownKeyError

if TYPE_CHECKING:
    from flask import Flask, Response

    from webapp.base.library import Entry, Library

#: Reports in the palette; the first page lists all.
MOST_REPORTS = 1_500

#: Characters of a name or path that are sent, so that a few thousand reports stay below 500 kB.
_LONGEST_NAME = 120


def register(server: Flask, library: Library) -> None:
    @server.get("/data/reports")
    def reports() -> Response:
        return jsonify([_listed(library, entry) for entry in library.entries()[:MOST_REPORTS]])

    @server.get("/data/reports/look")
    def look() -> Response:
        """What a list of reports that follows its folders asks for."""
        answer = jsonify({"seen": library.look() if library.follows else ""})
        answer.headers["Cache-Control"] = "no-store"
        return answer

    @server.get("/data/<key>/state")
    def state(key: str) -> Response:
        answer = jsonify(report_state(library, key, request.args.get("stamp", "")))
        answer.headers["Cache-Control"] = "no-store"
        return answer


def report_state(library: Library, key: str, known: str = "") -> dict[str, Any]:
    """{"stamp"} when the files are unchanged since the stamp `known`; else also "generation", the number of commits
    (None for a trace) with "identity", or "problem": one sentence why the file can no longer be shown."""
    try:
        entry = library.entry(key)
        # A report says by its generation whether it has grown; a trace does by this text alone.
        stamp = library.stamp(key) if entry.kind == "report" else library.written(key)
        if stamp == known:
            return {"stamp": stamp}
        if not entry.path.exists():
            return {"stamp": stamp, "problem": "The files of this report are missing. The page shows data read before."}
        if entry.kind == "trace":
            return {"stamp": stamp, "generation": None, "identity": stamp}
        source = library.report(key)
        return {"stamp": stamp, "generation": source.generation, "identity": source.report_id}
    except UnknownKeyError:
        return {"stamp": "", "problem": "This report is no longer in the given folders."}
    except FormatError as problem:
        return {"stamp": stamp, "problem": library.without_paths(str(problem))}


def _listed(library: Library, entry: Entry) -> dict[str, str]:
    return {
        "key": entry.key,
        "kind": entry.kind,
        "name": library.card(entry).label[:_LONGEST_NAME],
        "place": "sample" if entry.is_sample else str(entry.path)[-_LONGEST_NAME:],
    }
