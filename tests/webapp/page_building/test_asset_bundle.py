"""One script and one style sheet: everything in them, in order, kept by browsers, changed when a file changes."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from flask.testing import FlaskClient

from webapp.base.library import Library
from webapp.shell.app import create_app
from webapp.shell.asset_bundle import PLOT_SCRIPT, joined_assets

ASSETS = Path(__file__).parents[3] / "webapp" / "assets"


@pytest.fixture(scope="module")
def client() -> FlaskClient:
    return create_app(Library()).server.test_client()


def test_a_script_runs_after_those_that_it_imports_and_styles_stand_in_the_order_of_folders(tmp_path: Path) -> None:
    files = {
        "main.js": 'import "./bar/z.js";\nimport "./shell/c.js";\nmark("main.js");\n',
        "bar/z.js": 'import { a } from "../shared/a.js";\nmark("bar/z.js", a);\n',
        "shared/a.js": 'mark("shared/a.js");\nconst a = 1;\n\nexport { a };\n',
        "shell/c.js": 'import { a } from "../shared/a.js";\nmark("shell/c.js", a);\n',
        "shell/boot.js": 'mark("shell/boot.js");\n',
        "bar/b.css": 'mark("bar/b.css")\n',
        "shared/bar/a.css": 'mark("shared/bar/a.css")\n',
        "shared/a.css": 'mark("shared/a.css")\n',
        "shell/z.css": 'mark("shell/z.css")\n',
        "b.css": 'mark("b.css")\n',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    script, style = joined_assets(tmp_path)
    marks = re.compile(r'mark\("(.*?)"')
    assert marks.findall(script.text.decode()) == ["shared/a.js", "bar/z.js", "shell/c.js", "main.js"]
    assert marks.findall(style.text.decode()) == [
        "b.css",
        "shell/z.css",
        "shared/a.css",
        "shared/bar/a.css",
        "bar/b.css",
    ]


def test_an_address_changes_with_any_file(tmp_path: Path) -> None:
    (tmp_path / "main.js").write_text('import "./a.js";\n')
    (tmp_path / "a.js").write_text("one();")
    before = joined_assets(tmp_path)
    (tmp_path / "a.js").write_text("two();")
    after = joined_assets(tmp_path)
    assert before[0].path != after[0].path
    assert before[1].path == after[1].path


def test_the_page_names_both_and_nothing_else_of_ours(client: FlaskClient) -> None:
    page = client.get("/").text
    script, style = joined_assets(ASSETS)
    ours = re.findall(r'(?:src|href)="(/assets/[^"]+)"', page)
    assert sorted(ours) == sorted(["/assets/icons/logo.svg", "/assets/shell/boot.js", style.path, script.path])
    assert page.index(script.path) < page.index("dash_renderer")


def test_both_are_compressed_for_who_takes_it_and_kept_for_good(client: FlaskClient) -> None:
    for joined in joined_assets(ASSETS):
        plain = client.get(joined.path)
        packed = client.get(joined.path, headers={"Accept-Encoding": "gzip, br"})
        assert plain.data == joined.text
        assert "Content-Encoding" not in plain.headers
        assert packed.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(packed.data) == joined.text
        for reply in (plain, packed):
            assert "immutable" in reply.headers["Cache-Control"]
            assert reply.headers["Vary"] == "Accept-Encoding"
            assert reply.headers["X-Content-Type-Options"] == "nosniff"


def test_every_icon_stands_in_the_style_sheet() -> None:
    style = joined_assets(ASSETS)[1].text.decode()
    pictures = {unquote(each) for each in re.findall(r'url\("data:image/svg\+xml,(.*?)"\)', style)}
    named = re.findall(r'url\("([\w-]+\.svg)"\)', (ASSETS / "icons" / "icons.css").read_text())
    assert pictures == {(ASSETS / "icons" / name).read_text().strip() for name in named}
    assert '.svg")' not in style


def test_every_script_asks_for_type_checks_and_the_lock_names_no_registry() -> None:
    """`make check` runs tsc over the assets with the tools that jscheck/package-lock.json pins."""
    scripts = sorted(ASSETS.rglob("*.js"))
    assert [path.name for path in scripts if not path.read_text("utf-8").startswith("// @ts-check\n")] == []
    lock = (ASSETS.parents[1] / "jscheck" / "package-lock.json").read_text("utf-8")
    assert "://" not in lock
    assert '"resolved"' not in lock


def test_plots_come_from_the_small_bundle_and_are_asked_for_once(client: FlaskClient) -> None:
    plain = client.get(PLOT_SCRIPT)
    packed = client.get(PLOT_SCRIPT, headers={"Accept-Encoding": "gzip"})
    assert b"plotly.js (cartesian - minified)" in plain.data[:200]
    assert gzip.decompress(packed.data) == plain.data
    assert packed.headers["ETag"] != plain.headers["ETag"]
    again = client.get(PLOT_SCRIPT, headers={"Accept-Encoding": "gzip", "If-None-Match": packed.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
