"""A few small reports in the shared viewer."""

from __future__ import annotations

import dataclasses
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from popvision.formats.debug_info import DebugInfo, write_debug_info
from popvision.formats.profile.writer import ProfileWriter
from tests.browser.frame import open_page, until_quiet
from tests.browser.shared_viewer import SharedViewer
from tests.reports import tiny_compilation, tiny_run, write_tiny

#: A name that would run a script, load a picture or leave its attribute if any page pasted it as HTML.
HOSTILE = '</script><script>window.bad=1</script><img src=x onerror="window.bad=1">\'"><b>{{7*7}}%s'


class Viewer:
    """The shared viewer on a folder. `keys` has the address of each report by its folder's name; `problems` fills, see
    `noted_problems`."""

    def __init__(self, shared: SharedViewer, folder: Path, *, uploads: bool = False) -> None:
        self.base, self.library, self.problems = shared.base, shared.library, shared.problems
        self.keys = shared.show(folder, uploads=uploads)
        self.page: Page = shared.visit()

    def go(self, path: str) -> Page:
        open_page(self.page, self.base, path)
        self.page.wait_for_selector("#page > *", state="attached")
        until_quiet(self.page)
        return self.page

    def open(self, report: str, view: str, query: str = "") -> Page:
        return self.go(f"/r/{self.keys[report]}/{view}" + (f"?{query}" if query else ""))


def write_reports(folder: Path) -> None:
    """tiny: the report of tests.reports with debug information; hostile: the same with HTML in every name."""
    profile = write_tiny(folder / "tiny")
    contexts = [DebugInfo(1, (), "user", "loop"), DebugInfo(2, (1,), "poplibs", "matMul", {"k": 4}, {}, "a.py", 12)]
    write_debug_info(profile.parent, contexts, "tiny-run")
    write_hostile(folder / "hostile")
    (folder / "broken").mkdir()
    (folder / "broken" / "profile.pop").write_bytes(profile.read_bytes()[:90])


def write_hostile(folder: Path) -> None:
    folder.mkdir()
    found = tiny_compilation()
    compilation = dataclasses.replace(
        found,
        programs=dataclasses.replace(found.programs, name=[HOSTILE] * 4),
        compute_sets=dataclasses.replace(found.compute_sets, name=[HOSTILE]),
        vertex_types=dataclasses.replace(found.vertex_types, name=[HOSTILE]),
        variables=None if found.variables is None else dataclasses.replace(found.variables, name=[HOSTILE] * 3),
        lowered_names=[HOSTILE] * 3,
        meta=found.meta | {"engineName": HOSTILE, "engineOptions": {HOSTILE: HOSTILE}, "poplarVersion": HOSTILE},
    )
    with ProfileWriter(folder / "profile.pop") as writer:
        writer.write_compilation(compilation)
        writer.append_run(dataclasses.replace(tiny_run(), name=HOSTILE))
    context = DebugInfo(2, (), HOSTILE, HOSTILE, {HOSTILE: HOSTILE}, {HOSTILE: HOSTILE}, HOSTILE, 3)
    write_debug_info(folder, [context], "tiny-run")


def sql(folder: Path, query: str) -> tuple[Any, ...]:
    """The first row of a query over a report's profile.pop."""
    with closing(sqlite3.connect(folder / "profile.pop")) as db:
        row: tuple[Any, ...] = db.execute(query).fetchone()
        return row
