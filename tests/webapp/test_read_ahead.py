"""The address of a page starts the reading once; nothing of it shows, whatever happens."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from popvision.formats.generate import Size, generate
from popvision.formats.pvti.generate import generate_trace
from webapp.base.library import Library
from webapp.base.view import View, ViewContext, open_context
from webapp.base.views import all_views
from webapp.shell import read_ahead
from webapp.shell.app import create_app


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder: Path = tmp_path_factory.mktemp("ahead")
    generate(folder / "profile.pop", Size(2e4, "distinct", 16, 2, layers=4))
    generate_trace(folder / "host.pvti", 1000, threads=2)
    return Library([folder])


def _key(library: Library, kind: str = "report") -> str:
    return next(entry.key for entry in library.entries() if entry.kind == kind and not entry.is_sample)


@pytest.mark.parametrize("view", all_views(), ids=lambda view: view.id)
def test_every_view_can_be_read_ahead(library: Library, view: View) -> None:
    read_ahead.read_ahead(open_context(library, view.kind, _key(library, view.kind), {}, "light"), view)


@pytest.mark.parametrize(("kind", "place", "page"), [("report", "r", "exchange"), ("trace", "t", "timeline")])
def test_the_address_of_a_page_begins_it_once(
    library: Library, monkeypatch: pytest.MonkeyPatch, kind: str, place: str, page: str
) -> None:
    key, seen, called = _key(library, kind), [], threading.Event()

    def note(context: ViewContext, view: View) -> None:
        seen.append((context.key, view.id))
        called.set()
        raise RuntimeError("nobody hears of this")

    library.forget(key)
    monkeypatch.setattr(read_ahead, "read_ahead", note)
    client = create_app(library).server.test_client()
    before = set(threading.enumerate())
    for path in (f"{key}/{page}", f"{key}/{page}", f"{key}/nothing", f"unknown/{page}"):
        assert client.get(f"/{place}/{path}").status_code == 200
        for thread in set(threading.enumerate()) - before:
            thread.join(10)
    assert client.get("/").status_code == 200
    assert called.wait(10)
    assert seen == [(key, page)]


def test_a_trace_is_open_when_its_page_asks_for_it(library: Library) -> None:
    key = _key(library, "trace")
    library.forget(key)
    before = set(threading.enumerate())
    create_app(library).server.test_client().get(f"/t/{key}")
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
    opened: list[object] = []
    library.trace(key).kept.once(("read ahead", "timeline"), lambda: opened.append("late"))
    assert not opened


def test_a_request_from_elsewhere_begins_nothing(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(read_ahead, "_read", lambda _library, key, _view: begun.append(key))
    client = create_app(library).server.test_client()
    reply = client.get(f"/r/{_key(library)}/exchange", headers={"Host": "elsewhere.example"})
    assert reply.status_code == 403
    assert begun == []
