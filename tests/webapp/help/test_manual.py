"""The help is the documents of docs/: every page has its chapter, links lead somewhere, text stays text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from popvision.package_data import package_folder
from webapp.base.library import Library
from webapp.base.views import all_views
from webapp.components.static_html import static_html
from webapp.help.link import CHAPTERS, chapter_address
from webapp.help.manual import LEADING, Manual, excerpt, manual
from webapp.help.markdown import components, parsed, slug_of


def _html(text: str) -> str:
    return static_html(components(parsed(text), frozenset({"memory", "pva"})))


def _sections(name: str) -> set[str]:
    return {each.slug for each in manual().documents[name].sections}


@pytest.mark.parametrize(
    "title", [*(view.title for view in all_views()), "First page", "Catalogue", "What if", "Watch"]
)
def test_every_page_has_a_chapter(title: str) -> None:
    document, _, section = chapter_address(title).removeprefix("/help/").partition("#")
    assert document == CHAPTERS
    assert section in _sections(CHAPTERS)


def test_the_documents_are_those_of_the_folder() -> None:
    names = {path.stem for path in package_folder("docs").rglob("*.md")}
    assert set(manual().documents) == names
    assert set(LEADING) < names
    assert manual().documents["glossary"].title == "Glossary"


def test_every_link_of_the_help_leads_to_a_section() -> None:
    for name in manual().documents:
        for document, section in re.findall(
            r'href="(?:/help/([\w-]+))?(?:#([^"]*))?" data-help-link', manual().html_of(name)
        ):
            assert not section or section in _sections(document or name), f"{name} links to {document}#{section}"


def test_every_picture_of_the_help_is_served() -> None:
    for name in manual().documents:
        assert set(re.findall(r'src="/data/help/images/([^"]*)"', manual().html_of(name))) <= manual().pictures


def test_text_stays_text() -> None:
    hostile = "# <img src=x onerror=alert(1)>\n\n<script>bad()</script> & `<b>`\n\n```\n<i>\n```\n"
    text = _html(hostile)
    assert not re.search(r"<(img|script|b|i)\b", text)
    assert "&lt;script&gt;bad()&lt;/script&gt; &amp; <code>&lt;b&gt;</code>" in text
    assert 'href="javascript' not in _html("[x](javascript:alert(1))")


def test_links_lead_within_the_help_or_say_where_they_lead() -> None:
    assert '<a href="/help/memory#gaps" data-help-link="">m</a>' in _html("[m](memory.md#gaps)")
    assert '<a href="#gaps" data-help-link="">m</a>' in _html("[m](#gaps)")
    assert '<span title="../tests/x.py, in the source">t</span>' in _html("[t](../tests/x.py)")
    assert '<span title="absent.md, in the source">t</span>' in _html("[t](absent.md)")
    assert 'rel="noreferrer" target="_blank"' in _html("[o](https://example.org/)")


def test_tables_lists_and_code_are_kept() -> None:
    text = _html("| a | b |\n| --- | --- |\n| 1 | **2** |\n\n- x\n- y\n\n1. z\n")
    assert "<th>a</th><th>b</th>" in text
    assert "<td>1</td><td><strong>2</strong></td>" in text
    assert text.count("<li>") == 3


def test_anchors_are_those_of_the_documents() -> None:
    assert slug_of("Addresses (`compiler/memory/layout.py`)") == "addresses-compilermemorylayoutpy"


def test_a_search_finds_sections_with_all_words(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Tiles\n\nA tile has a balance.\n\n## Gaps\n\nOther words: gap.\n")
    (tmp_path / "glossary.md").write_text("# Words\n\n| tile balance | mean over maximum |\n| --- | --- |\n")
    (tmp_path / "b.md").write_text("# Balance of a tile\n\nText.\n")
    found = Manual(tmp_path).search("Tile balance")
    assert [each.document.name for each in found] == ["b", "glossary", "a"]
    assert [each.section.slug for each in Manual(tmp_path).search("gap")] == ["gaps"]
    assert Manual(tmp_path).search("  ") == []
    assert Manual(tmp_path).search("tile nothing") == []


def test_an_excerpt_is_about_the_words() -> None:
    text = "begin " * 50 + "needle" + " end" * 50
    assert "needle" in excerpt(text, ["absent phrase", "needle"])
    assert excerpt("short", ["absent"]) == "short"


def test_routes(tmp_path: Path) -> None:
    from webapp.shell.app import create_app

    client = create_app(Library([tmp_path])).server.test_client()
    assert b"data-section" in client.get("/data/help/document/glossary").data
    assert client.get("/data/help/document/absent").status_code == 404
    assert client.get("/data/help/images/memory.png").mimetype == "image/png"
    assert client.get("/data/help/images/absent.png").status_code == 404
    rows = client.get("/data/help/find?words=tile+balance").get_json()["rows"]
    assert rows
    assert set(rows[0]) == {"href", "title", "heading", "excerpt"}
