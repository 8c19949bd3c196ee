"""What a request from elsewhere, or with a made-up address, gets from the viewer."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from tests.reports import write_tiny
from webapp.base.library import Library
from webapp.shell.app import create_app
from webapp.shell.security import HostPolicy, host_names

PORT = 8123


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> tuple[FlaskClient, str, Path]:
    folder = tmp_path_factory.mktemp("security")
    write_tiny(folder / "reports" / "tiny")
    (folder / "secret.txt").write_text("not for you")
    library = Library([folder / "reports"])
    key = next(entry.key for entry in library.entries() if not entry.is_sample)
    app = create_app(library, HostPolicy(port=PORT, allowed=host_names(["profiler.example"])))
    return app.server.test_client(), key, folder


def status(client: FlaskClient, path: str, **headers: str) -> int:
    return client.get(path, headers={"Host": f"localhost:{PORT}", **headers}).status_code


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        (f"localhost:{PORT}", 200),
        (f"LOCALHOST:{PORT}", 200),
        (f"127.0.0.1:{PORT}", 200),
        (f"[::1]:{PORT}", 200),
        ("profiler.example", 200),
        ("profiler.example:8443", 200),
        ("localhost", 403),
        (f"localhost:{PORT + 1}", 403),
        (f"evil.example:{PORT}", 403),
        (f"localhost.evil.example:{PORT}", 403),
        (f"localhost:{PORT}@evil.example", 403),
        ("", 403),
    ],
)
def test_only_own_names_are_answered(opened: tuple[FlaskClient, str, Path], host: str, expected: int) -> None:
    client, _, _ = opened
    assert status(client, "/", Host=host) == expected


def test_a_refusal_names_the_host_and_the_fix(opened: tuple[FlaskClient, str, Path]) -> None:
    client, _, _ = opened
    text = client.get("/", headers={"Host": "evil.example"}).text
    assert "'evil.example'" in text
    assert "--allow-host" in text


def test_every_route_is_guarded(opened: tuple[FlaskClient, str, Path]) -> None:
    client, key, _ = opened
    for path in ("/_dash-layout", "/assets/shared/tokens.css", f"/data/{key}/program_tree/tree?root=0"):
        assert status(client, path) == 200
        assert status(client, path, Host="evil.example") == 403


def test_posts_from_other_origins_are_refused(opened: tuple[FlaskClient, str, Path]) -> None:
    client, _, _ = opened
    own = {"Host": f"localhost:{PORT}"}
    for bad in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://localhost:{PORT + 1}"},
        {"Sec-Fetch-Site": "cross-site"},
    ):
        assert client.post("/_dash-update-component", json={}, headers=own | bad).status_code == 403


def test_pages_forbid_everything_from_elsewhere(opened: tuple[FlaskClient, str, Path]) -> None:
    client, _, _ = opened
    answer = client.get("/", headers={"Host": f"localhost:{PORT}"})
    policy = dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == "'self'"
    assert "unsafe" not in policy["script-src"]
    assert policy["frame-ancestors"] == "'none'"
    assert not any("http:" in value or "https:" in value or "*" in value for value in policy.values())
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "http://" not in answer.text.replace("http://www.w3.org", "")
    assert "https://" not in answer.text


@pytest.mark.parametrize(
    "key",
    ["..", "../..", "%2e%2e", "..%2f..%2fsecret.txt", "tiny", "/etc/passwd", "tiny-000000000000", "a" * 5000, "\u2025"],
)
def test_a_key_is_never_a_path(opened: tuple[FlaskClient, str, Path], key: str) -> None:
    client, _, folder = opened
    for path in (f"/data/{key}/program_tree/tree?root=0", f"/data/{key}/program_tree/rows?ids=0", f"/assets/{key}"):
        answer = client.get(path, headers={"Host": f"localhost:{PORT}"})
        assert "not for you" not in answer.text
        assert str(folder) not in answer.text
        assert answer.status_code in (404, 308) or "react-entry-point" in answer.text  # the empty frame


def test_assets_do_not_reach_outside(opened: tuple[FlaskClient, str, Path]) -> None:
    client, _, folder = opened
    for path in ("/assets/../app.py", "/assets/%2e%2e/app.py", f"/assets/{folder}/secret.txt", "/assets/..%2fserve.py"):
        answer = client.get(path, headers={"Host": f"localhost:{PORT}"})
        assert "create_app" not in answer.text
        assert "not for you" not in answer.text


@pytest.mark.parametrize("root", ["", "-1", "x", "99", "1e3", "9" * 400, "\u0663"])
def test_bad_numbers_get_one_sentence(opened: tuple[FlaskClient, str, Path], root: str) -> None:
    client, key, _ = opened
    answer = client.get(f"/data/{key}/program_tree/tree?root={root}", headers={"Host": f"localhost:{PORT}"})
    assert answer.status_code == 400
    assert "Traceback" not in answer.text
    assert "\n" not in answer.text.strip()


@pytest.mark.parametrize("name", ["*", "http://x", "x:80", "", "a b"])
def test_allowed_hosts_are_plain_names(name: str) -> None:
    with pytest.raises(ValueError, match="is not a host name"):
        host_names([name])
