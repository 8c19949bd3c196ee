"""Routes of the help: a document as HTML, a search, and the pictures of the documents."""

from __future__ import annotations

from flask import Flask, Response, abort, jsonify, request, send_from_directory

from webapp.help.manual import MOST_FOUND, manual

#: Characters of a search.
_LONGEST = 200


def register(server: Flask) -> None:
    @server.get("/data/help/document/<name>")
    def help_document(name: str) -> Response:
        try:
            return Response(manual().html_of(name), mimetype="text/html")
        except KeyError:
            abort(404)

    @server.get("/data/help/find")
    def help_find() -> Response:
        found = manual().search(request.args.get("words", "")[:_LONGEST])
        rows = [
            {
                "href": f"/help/{each.document.name}#{each.section.slug}",
                "title": each.document.title,
                "heading": each.section.heading,
                "excerpt": each.excerpt,
            }
            for each in found
        ]
        return jsonify({"rows": rows, "most": MOST_FOUND})

    @server.get("/data/help/images/<name>")
    def help_picture(name: str) -> Response:
        if name not in manual().pictures:
            abort(404)
        return send_from_directory(manual().folder / "images", name)
