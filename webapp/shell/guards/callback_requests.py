"""Checks requests of callbacks before Dash reads them: Dash takes their shape for granted and fails on any other.

A request names a callback of this server and holds, in the order of its declaration, an item for each input and state;
the check costs some microseconds. What the values mean is the callback's business.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dash import Dash
from dash.exceptions import DependencyException, InvalidResourceError
from flask import Flask, Response, request

_PATH = "/_dash-update-component"
_ALL = (["ALL"], ["ALLSMALLER"])
_WILDCARDS = (*_ALL, ["MATCH"])
_HALF = b"\\u"  #: begins every character that JSON has by its number, which surrogates are


def check_callback_requests(app: Dash) -> None:
    """Answer what is no request of a callback with 404 or 400 and one sentence."""

    server: Flask = app.server

    @server.before_request
    def check() -> Response | None:
        if request.path != _PATH or request.method != "POST":
            return None
        try:
            body = request.get_json(silent=True)
        except RecursionError:
            body = None
        if _HALF in request.get_data() and not _is_text(body):
            return _refusal("The request holds half of a character: a surrogate without its other one.", 400)
        if not isinstance(body, dict) or not isinstance(body.get("output"), str):
            return _refusal("A request of a callback is a JSON object that names its output.", 400)
        callback = app.callback_map.get(body["output"])
        if callback is None or "callback" not in callback:
            return _refusal("This viewer has no such callback.", 404)
        if not is_request_of(callback, body):
            return _refusal("The request does not have the inputs and outputs of its callback.", 400)
        return None

    for kind in (DependencyException, InvalidResourceError):
        server.register_error_handler(kind, lambda _problem: _refusal("This viewer has no such script.", 404))


def _is_text(body: Any) -> bool:
    """Whether all texts of a body can be sent back. A callback may answer with what it was asked."""
    try:
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def is_request_of(callback: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    """Whether the body of a request has the shape that a callback of `Dash.callback_map` declares."""
    changed = body.get("changedPropIds", [])
    if not isinstance(changed, list) or not all(isinstance(name, str) for name in changed):
        return False
    if not _has_outputs(body["output"], body.get("outputs")):
        return False
    return all(_are_items_of(callback[part], body.get(part, [])) for part in ("inputs", "state"))


def _has_outputs(output: str, given: Any) -> bool:
    if not output.startswith(".."):
        return _is_item_of(_declared(output), given)
    return _are_items_of([_declared(part) for part in output[2:-2].split("...")], given)


def _declared(output: str) -> dict[str, str]:
    """Id and property of "id.property" or, of an output that several callbacks share, "id.property@hash"."""
    name, _, prop = output.rpartition(".")
    return {"id": name, "property": prop}


def _are_items_of(declared: Sequence[Mapping[str, Any]], given: Any) -> bool:
    if not isinstance(given, list) or len(given) != len(declared):
        return False
    return all(map(_is_item_of, declared, given))


def _is_item_of(declared: Mapping[str, Any], given: Any) -> bool:
    """Whether `given` is the item of a declaration, or a list of items where it stands for all of a pattern."""
    name = declared["id"]
    pattern = json.loads(name) if name.startswith("{") else None
    if pattern is not None and any(value in _ALL for value in pattern.values()):
        return isinstance(given, list) and all(_is_one(declared, pattern, item) for item in given)
    return _is_one(declared, pattern, given)


def _is_one(declared: Mapping[str, Any], pattern: Mapping[str, Any] | None, item: Any) -> bool:
    if not isinstance(item, dict) or not isinstance(item.get("property"), str):
        return False
    if item["property"].partition("@")[0] != declared["property"].partition("@")[0]:
        return False
    name = item.get("id")
    if pattern is None:
        return bool(name == declared["id"])
    if not isinstance(name, dict) or name.keys() != pattern.keys():
        return False
    return all(
        isinstance(name[key], str | int | float) if value in _WILDCARDS else name[key] == value
        for key, value in pattern.items()
    )


def _refusal(sentence: str, status: int) -> Response:
    return Response(sentence, status=status, mimetype="text/plain")
