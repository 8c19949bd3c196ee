"""The address of a page starts the reading once; nothing of it shows, whatever happens."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from popvision.formats.generate import Size, generate
from webapp import read_ahead
from webapp.app import create_app
from webapp.library import Library
from webapp.view import View
from webapp.views import views_of


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder: Path = tmp_path_factory.mktemp("ahead")
    generate(folder / "profile.pop", Size(2e4, "distinct", 16, 2, layers=4))
    return Library([folder])


def _key(library: Library) -> str:
    return next(entry.key for entry in library.entries() if not entry.is_sample)


@pytest.mark.parametrize("view", views_of("report"), ids=lambda view: view.id)
def test_every_view_can_be_read_ahead(library: Library, view: View) -> None:
    key = _key(library)
    read_ahead.read_ahead(library.report(key), key, view)


def test_the_address_of_a_page_begins_it_once(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    key, seen, called = _key(library), [], threading.Event()

    def note(_source: object, of: str, view: View) -> None:
        seen.append((of, view.id))
        called.set()
        raise RuntimeError("nobody hears of this")

    library.forget(key)
    monkeypatch.setattr(read_ahead, "read_ahead", note)
    client = create_app(library).server.test_client()
    before = set(threading.enumerate())
    for path in (f"/r/{key}/exchange", f"/r/{key}/exchange", f"/r/{key}/nothing", "/r/unknown/exchange", "/"):
        assert client.get(path).status_code == 200
        for thread in set(threading.enumerate()) - before:
            thread.join(10)
    assert called.wait(10)
    assert seen == [(key, "exchange")]


def test_a_request_from_elsewhere_begins_nothing(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(read_ahead, "_read", lambda _library, key, _view: begun.append(key))
    client = create_app(library).server.test_client()
    reply = client.get(f"/r/{_key(library)}/exchange", headers={"Host": "elsewhere.example"})
    assert reply.status_code == 403
    assert begun == []
