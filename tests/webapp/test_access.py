"""The token of a viewer that other machines can reach."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from tests.reports import write_tiny
from webapp.base.access import Access, is_loopback, own_names
from webapp.base.library import Library
from webapp.shell.app import create_app
from webapp.shell.security import HostPolicy

#: A job in the background of a script inherits that Ctrl-C is ignored; the viewer of these tests does not.
INTERRUPTED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "

PORT = 8125
HOST = {"Host": f"localhost:{PORT}"}

Guarded = tuple[FlaskClient, Access, str]


@pytest.fixture
def guarded(tmp_path: Path) -> Guarded:
    write_tiny(tmp_path / "tiny")
    library, access = Library([tmp_path]), Access(PORT)
    app = create_app(library, HostPolicy(port=PORT), access=access)
    return app.server.test_client(), access, next(each.key for each in library.entries() if not each.is_sample)


def test_without_the_token_nothing_is_served(guarded: Guarded) -> None:
    client, access, key = guarded
    paths = (
        "/",
        "/assets/shared/tokens.css",
        "/_dash-layout",
        f"/r/{key}/summary",
        f"/data/{key}/program_tree/tree?root=0",
    )
    for path in (*paths, "/?token=", "/?token=wrong", f"/?token={access.token[:-1]}", "/?token=%E2%98%83"):
        answer = client.get(path, headers=HOST)
        assert answer.status_code == 401
        assert "Set-Cookie" not in answer.headers
        assert access.token not in answer.text
        assert answer.text.count("\n") == 1
    for path in ("/_dash-update-component", f"/_dash-update-component?token={access.token}"):
        assert client.post(path, json={}, headers=HOST).status_code == 401


def test_the_first_visit_sets_a_strict_cookie_and_drops_the_token(guarded: Guarded) -> None:
    client, access, key = guarded
    answer = client.get(f"/r/{key}/memory?tiles=3&token={access.token}", headers=HOST)
    assert answer.status_code == 200
    assert {"HttpOnly", "SameSite=Strict"} <= set(answer.headers["Set-Cookie"].split("; "))
    assert access.token not in answer.text
    assert f'url=/r/{key}/memory?tiles=3"' in answer.text
    assert client.get("/_dash-layout", headers=HOST).status_code == 200
    assert client.get("/_dash-layout", headers={"Host": "evil.example"}).status_code == 403


def test_the_first_visit_leads_nowhere_else(guarded: Guarded) -> None:
    client, access, _ = guarded
    answer = client.get(f"http://localhost:{PORT}//evil.example/%22><script>?token={access.token}", headers=HOST)
    assert "<script>" not in answer.text
    assert "url=//" not in answer.text


@pytest.mark.parametrize(
    ("host", "alone"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("0.0.0.0", False), ("::", False), ("x.example", False)],
)
def test_who_can_reach_an_address(host: str, alone: bool) -> None:
    assert is_loopback(host) is alone
    assert own_names("192.0.2.7") == ["192.0.2.7"]


def test_a_viewer_on_all_addresses_prints_the_token(tmp_path: Path) -> None:
    write_tiny(tmp_path / "a")
    code = f"{INTERRUPTED}from webapp.shell.serve import serve; serve([{str(tmp_path)!r}], host='0.0.0.0', port=0)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline(), child.stdout.readline()]
        found = re.fullmatch(r"Serving on http://([^/]+):(\d+)/\?token=([\w-]{30,})\n", lines[1])
        assert found, lines
        base = f"http://127.0.0.1:{found[2]}/"
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(base, timeout=20)
        assert refused.value.code == 401
        with urllib.request.urlopen(f"{base}?token={found[3]}", timeout=20) as answer:
            assert answer.status == 200
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=20)
