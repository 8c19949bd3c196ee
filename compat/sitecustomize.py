"""Runs at the start of Python: `tensorflow.python.ipu` becomes importable beside a stock TensorFlow.

A finder on `sys.meta_path` answers for that package, and for `tensorflow.python.keras.datasets`, which Graphcore's
TensorFlow has and later ones have not; it says by one sentence that the operators of its driver are not there.
TensorFlow is imported by the user's program alone. Then the next sitecustomize on `sys.path` runs, which this file
hides.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = "tensorflow.python.ipu"
_DRIVER = "tensorflow.compiler.plugin"
#: folders beside this file by the package that they are
_FOLDERS = {_PACKAGE: "tensorflow_ipu", "tensorflow.python.keras.datasets": "tensorflow_keras_datasets"}


class IpuPackageFinder:
    """Finds the two packages beside this file, unless TensorFlow has them."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == _DRIVER and importlib.machinery.PathFinder.find_spec(name, path) is None:
            raise ModuleNotFoundError(
                f"{_DRIVER}.poplar, the operators of Graphcore's driver, is not there; {_PACKAGE} has what works "
                "(docs/tensorflow.md): outside_compilation_scope and IPUOutfeedQueue in place of ipu_send_to_host.",
                name=name,
            )
        if name not in _FOLDERS:
            return None
        if importlib.machinery.PathFinder.find_spec(name, path) is not None:
            if name == _PACKAGE:
                print(f"popvision: this TensorFlow has its own {_PACKAGE}; it is left as it is.", file=sys.stderr)
            return None
        folder = os.path.join(_HERE, _FOLDERS[name])
        return importlib.util.spec_from_file_location(
            name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )


def _install_finder():
    if "tensorflow" in sys.modules:
        print(f"popvision: TensorFlow was imported before; {_PACKAGE} is not added to it.", file=sys.stderr)
        return
    sys.meta_path.insert(0, IpuPackageFinder)


def _run_next_sitecustomize():
    """The one that this file hides stands later on sys.path; another copy of this file looks behind itself, too."""
    entries = [os.path.abspath(entry) for entry in sys.path]
    begin = entries.index(_HERE) if _HERE in entries else len(entries)
    others = [entry for entry in entries[begin:] if entry != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


_install_finder()
_run_next_sitecustomize()
