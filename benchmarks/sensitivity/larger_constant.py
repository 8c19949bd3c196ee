"""The sample programs with one constant of the simulator 10 % larger: `python -m benchmarks.sensitivity.larger_constant
MODULE NAME` prints their figures as JSON.

The source is changed as it is imported, so everything derived from the constant changes too.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
from collections.abc import Sequence as Names
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

MORE = 1.1


def more(value: float) -> float:
    """10 % more; for a whole number at least 1 more."""
    return max(value + 1, round(value * MORE)) if isinstance(value, int) else value * MORE


class Larger(ast.NodeTransformer):
    """Replaces the number assigned to `name`; `before` lists the replaced numbers."""

    def __init__(self, name: str) -> None:
        self.owner, _, key = name.replace("[", ".").rstrip("]").partition(".")
        self.key = key
        self.before: list[float] = []

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        names = [getattr(n, "id", "") for t in node.targets for n in (t.elts if isinstance(t, ast.Tuple) else [t])]
        if self.owner not in names:
            return node
        if isinstance(node.value, ast.Tuple):
            at = names.index(self.owner)
            node.value.elts[at] = self._more(node.value.elts[at])
        elif isinstance(node.value, ast.Call):
            for keyword in node.value.keywords:
                if keyword.arg == self.key:
                    keyword.value = self._more(keyword.value)
        elif not self.key:
            node.value = self._more(node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        if isinstance(node.value, ast.Dict) and getattr(node.target, "id", "") == self.owner:
            keys = [getattr(key, "value", None) for key in node.value.keys]
            node.value.values[keys.index(self.key)] = self._more(node.value.values[keys.index(self.key)])
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        for part in node.body if node.name == self.owner else ():
            if isinstance(part, ast.AnnAssign) and getattr(part.target, "id", "") == self.key and part.value:
                part.value = self._more(part.value)
        return node

    def _more(self, node: ast.expr) -> ast.Constant:
        value = ast.literal_eval(node)
        self.before.append(value)
        return ast.copy_location(ast.Constant(more(value)), node)


class _Loader(SourceFileLoader):
    change: Larger

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        tree = ast.fix_missing_locations(self.change.visit(ast.parse(self.get_data(path))))
        return compile(tree, path, "exec")


class _Finder(MetaPathFinder):
    def __init__(self, module: str, change: Larger) -> None:
        self.module, self.change = module, change

    def find_spec(self, fullname: str, path: Names[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != self.module:
            return None
        spec = PathFinder.find_spec(fullname, path)
        assert spec is not None
        assert spec.origin is not None
        loader = _Loader(fullname, spec.origin)
        loader.change = self.change
        return importlib.util.spec_from_loader(fullname, loader, origin=spec.origin)


def main() -> None:
    """Change the constant, if one is named, and print {"before": [value], "figures": {sample: columns of Figures}}."""
    from benchmarks.sensitivity.samples import figures

    before: list[float] = []
    if len(sys.argv) > 1:
        change = Larger(sys.argv[2])
        sys.meta_path.insert(0, _Finder(f"simulator.{sys.argv[1]}", change))
        importlib.import_module(f"simulator.{sys.argv[1]}")
        before = change.before
        if len(before) != 1:
            raise SystemExit(f"simulator.{sys.argv[1]} has {len(before)} numbers named {sys.argv[2]}, not one.")
    print(json.dumps({"before": before, "figures": figures()}))


if __name__ == "__main__":
    main()
