"""A defect in a route: its answer is one line, since scripts show the text of an answer that is not ok."""

from __future__ import annotations

from webapp.base.library import Library
from webapp.shell.app import create_app


def test_a_route_that_raises_answers_one_line_of_text() -> None:
    server = create_app(Library([])).server

    def fail() -> str:
        raise OverflowError("619 out of bounds <b>")

    server.add_url_rule("/data/defect", "defect", fail)
    answer = server.test_client().get("/data/defect")
    assert answer.status_code == 500
    assert answer.mimetype == "text/plain"
    assert answer.text == "The viewer failed: OverflowError: 619 out of bounds <b>"
