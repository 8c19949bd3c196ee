"""Rooms and layers: folders stay small, and imports run one way, for typing and inside functions too.

Reads the layers from pyproject.toml and the imports from syntax trees, apart from import-linter."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from syntax_trees import syntax_tree

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("popvision", "simulator", "webapp")
MOST_MODULES = 30
MODULE_SUFFIXES = (".py", ".js")

# What one distribution may import of another. "__version__" is the name in popvision/__init__.py.
ACROSS = {
    ("simulator", "popvision"): {"analysis", "arrays", "formats", "pva", "pvti", "__version__"},
    ("webapp", "popvision"): {
        "analysis",
        "catalogue",
        "export",
        "kept",
        "package_data",
        "query",
        "questions",
        "zip_table",
    },
}
#: what does not fit is read from its report, and simulator.profile gives what `popvision.open` gives; this module alone
#: of the simulator opens a report
REPORT_OPENER = ("simulator.frontends.fitting", "popvision")
VIEWER_COMMANDS = {"popvision.cli.view", "popvision.cli.html", "popvision.cli.watch"}


class Import(NamedTuple):
    """One import: `module` imports `target` in line `line`."""

    module: str
    target: str
    line: int


def crowded_folders(root: Path, names: tuple[str, ...]) -> dict[str, int]:
    """Folders below root/names that hold more than MOST_MODULES modules, `__init__` not counted."""
    counts: dict[str, int] = {}
    for name in names:
        for path in (root / name).rglob("*"):
            if path.suffix in MODULE_SUFFIXES and path.name != "__init__.py":
                folder = str(path.parent.relative_to(root))
                counts[folder] = counts.get(folder, 0) + 1
    return {folder: count for folder, count in counts.items() if count > MOST_MODULES}


def module_name(root: Path, path: Path) -> str:
    """The dotted name of a Python file below `root`."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports(root: Path, package: str) -> list[Import]:
    """Every import of `package`'s modules of any of PACKAGES: at the top, under TYPE_CHECKING, inside functions, and by
    `import_module` with a literal name. Read once: a dozen contracts ask for them."""
    found = []
    for path in sorted((root / package).rglob("*.py")):
        module = module_name(root, path)
        base = module if path.name == "__init__.py" else module.rpartition(".")[0]
        for node in ast.walk(syntax_tree(path)):
            for target in targets(node, base):
                if target.split(".")[0] in PACKAGES:
                    found.append(Import(module, target, node.lineno))  # type: ignore[attr-defined]
    return found


def targets(node: ast.AST, base: str) -> list[str]:
    """The dotted names that a statement or call imports; `base` is the package that relative imports start from."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=source, names=names, level=level):
            if level:
                start = base.split(".")[: len(base.split(".")) - level + 1]
                source = ".".join([*start, source] if source else start)
            return [f"{source}.{alias.name}" for alias in names]
        case ast.Call(
            func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
            args=[ast.Constant(value=str(name)), *_],
        ):
            return [name]
    return []


class Layers(NamedTuple):
    """A layers contract: the package whose rooms it orders, the rank of each room (0 on top), rooms that may not import
    those of the same rank, rooms that have to exist, and whether it names every room."""

    container: str
    rank: dict[str, int]
    apart: dict[str, int]
    needed: frozenset[str]
    complete: bool

    def room(self, dotted: str) -> str:
        """The room of a module: `graph` of `simulator.graph.store`, "" of modules elsewhere."""
        prefix = f"{self.container}."
        return dotted[len(prefix) :].split(".")[0] if dotted.startswith(prefix) else ""


def layers_contracts(root: Path) -> list[Layers]:
    """The layers contracts of root/pyproject.toml. They exempt no import."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    found = []
    for contract in settings["contracts"]:
        if contract["type"] != "layers":
            continue
        assert "ignore_imports" not in contract, f"{contract['name']!r} exempts imports"
        rank: dict[str, int] = {}
        apart: dict[str, int] = {}
        for depth, layer in enumerate(contract["layers"]):
            for name in layer.replace("|", " ").replace(":", " ").split():
                rank[name.strip("()")] = depth
                if "|" in layer:
                    apart[name.strip("()")] = depth
        (container,) = contract["containers"]
        needed = frozenset(rank) - set(re.findall(r"\((\w+)\)", " ".join(contract["layers"])))
        found.append(Layers(container, rank, apart, needed, contract.get("exhaustive", False)))
    return found


def upward_imports(root: Path, layers: Layers) -> list[str]:
    """Sentences on imports within a container that run upwards, or sideways where the contract forbids it."""
    wrong = []
    for module, target, line in imports(root, layers.container.split(".")[0]):
        here, there = layers.room(module), layers.room(target)
        if here == there or not {here, there} <= layers.rank.keys():
            continue
        sideways = here in layers.apart and layers.apart[here] == layers.apart.get(there)
        if layers.rank[there] < layers.rank[here] or sideways:
            wrong.append(f"{module}, line {line}, imports {target}: {here} lies below or beside {there}")
    return wrong


def misplaced_rooms(root: Path, layers: Layers) -> set[str]:
    """Rooms that a contract does not place, though it is to name all, and placed ones that are gone."""
    paths = (root / layers.container.replace(".", "/")).rglob("*.py")
    rooms = {layers.room(module_name(root, path)) for path in paths} - {""}
    return (rooms - layers.rank.keys() if layers.complete else set()) | (layers.needed - rooms)


def foreign_imports(root: Path, package: str) -> list[str]:
    """Sentences on imports of `package` from another package's rooms that it may not use."""
    wrong = []
    for module, target, line in imports(root, package):
        other, _, inside = target.partition(".")
        if other == package or inside.split(".")[0] in ACROSS.get((package, other), ()):
            continue
        if other == "webapp" and module in VIEWER_COMMANDS:
            continue
        if (module, target) == REPORT_OPENER:
            continue
        wrong.append(f"{module}, line {line}, imports {target}")
    return wrong


def test_no_folder_holds_over_thirty_modules() -> None:
    assert crowded_folders(ROOT, (*PACKAGES, "tests", "benchmarks")) == {}


def test_every_package_has_layers() -> None:
    complete = {layers.container for layers in layers_contracts(ROOT) if layers.complete}
    assert complete >= set(PACKAGES)


@pytest.mark.parametrize("layers", layers_contracts(ROOT), ids=lambda layers: layers.container)
def test_no_module_imports_upwards(layers: Layers) -> None:
    assert upward_imports(ROOT, layers) == []
    assert misplaced_rooms(ROOT, layers) == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_import_only_the_public_rooms_of_others(package: str) -> None:
    assert foreign_imports(ROOT, package) == []


CONTRACT = """
[[tool.importlinter.contracts]]
name = "layers"
type = "layers"
containers = ["simulator"]
exhaustive = true
layers = ["engine", "graph | codelets", "(base)"]
"""


def plant(root: Path, files: dict[str, str]) -> Path:
    """A small tree of packages below `root`, with CONTRACT as its layers."""
    (root / "pyproject.toml").write_text(CONTRACT, encoding="utf-8")
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize(
    "planted",
    [
        "import simulator.engine.run\n",
        "from simulator.engine import run\n",
        "from simulator import engine\n",
        "from ..engine import run\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from simulator.engine.run import Run\n",
        "def call():\n    from simulator.engine.run import run\n    run()\n",
        "from importlib import import_module\nimport_module('simulator.engine.run')\n",
        "from simulator.codelets.vertex import Vertex\n",
    ],
)
def test_a_planted_upward_import_is_found(tmp_path: Path, planted: str) -> None:
    root = plant(tmp_path, {"simulator/graph/store.py": planted, "simulator/engine/run.py": "import simulator.graph\n"})
    (sentence,) = upward_imports(root, layers_contracts(root)[0])
    assert sentence.startswith("simulator.graph.store, line ")


def test_a_room_without_a_layer_and_one_that_is_gone_are_found(tmp_path: Path) -> None:
    root = plant(
        tmp_path, {"simulator/graph/store.py": "", "simulator/attic/old.py": "", "simulator/engine/run.py": ""}
    )
    assert misplaced_rooms(root, layers_contracts(root)[0]) == {"attic", "codelets"}


def test_an_exempted_import_is_refused(tmp_path: Path) -> None:
    root = plant(tmp_path, {})
    (root / "pyproject.toml").write_text(CONTRACT + "ignore_imports = ['simulator.graph.* -> simulator.engine.*']\n")
    with pytest.raises(AssertionError, match="'layers' exempts imports"):
        layers_contracts(root)


def test_a_planted_import_of_another_package_is_found(tmp_path: Path) -> None:
    files = {
        "webapp/shell/app.py": "from popvision.formats import errors\n",
        "simulator/graph/store.py": "from popvision.export import cells\nfrom popvision.formats import errors\n",
        "popvision/cli/view.py": "def command():\n    from webapp.shell.serve import serve\n",
        "popvision/cli/run.py": "def command():\n    import simulator\n",
    }
    root = plant(tmp_path, files)
    assert foreign_imports(root, "webapp") == ["webapp.shell.app, line 1, imports popvision.formats.errors"]
    assert foreign_imports(root, "simulator") == ["simulator.graph.store, line 1, imports popvision.export.cells"]
    assert foreign_imports(root, "popvision") == ["popvision.cli.run, line 2, imports simulator"]


def test_a_crowded_folder_is_found(tmp_path: Path) -> None:
    files = {f"webapp/assets/part_{number}.js": "" for number in range(MOST_MODULES)}
    assert crowded_folders(plant(tmp_path, files), ("webapp",)) == {}
    assert crowded_folders(plant(tmp_path, {"webapp/assets/more.js": ""}), ("webapp",)) == {"webapp/assets": 31}


def test_no_two_modules_of_tests_share_a_name() -> None:
    """pytest imports them by their name alone, so that two of one name cannot run together."""
    names = sorted(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, other in pairwise(names) if name == other] == []
