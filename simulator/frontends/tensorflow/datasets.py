"""Keras' MNIST: the user's mnist.npz, or else synthetic images of the same form. Nothing is downloaded.

POPVISION_SYNTHETIC_IMAGES=train,test changes how many synthetic images there are (60000,10000).
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from simulator.frontends.synthetic_images import DIGITS, image_counts, synthetic_images

_MODULE = "keras.src.datasets.mnist"
#: modules that have taken the function from there, if they were imported before
_OTHERS = ("keras.datasets.mnist", "keras._tf_keras.keras.datasets.mnist")
_NAMES = ("x_train", "y_train", "x_test", "y_test")
_said: set[Path] = set()


def load_data(path: str = "mnist.npz") -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """`keras.datasets.mnist.load_data`: (images, labels) to train with and to test with, bytes. Images are of shape
    (count, 28, 28). A relative path is one in the folder `datasets` of Keras' home.

    Raises RuntimeError for a file that has not these arrays."""
    from keras.src.backend import config

    file = Path(config.keras_home()) / "datasets" / path
    if file.exists():
        return _read(file)
    if file not in _said:
        _said.add(file)
        print(f"popvision: there is no {file}; synthetic images of MNIST's form take its place.", file=sys.stderr)
    parts = [synthetic_images(DIGITS, count, seed) for seed, count in enumerate(image_counts())]
    (train, labels), (test, expected) = parts
    return (train, labels.astype(np.uint8)), (test, expected.astype(np.uint8))


@functools.cache
def install() -> None:
    """Put `load_data` in the place of Keras', now or when Keras is imported."""
    module = sys.modules.get(_MODULE)
    if module is None:
        sys.meta_path.insert(0, _Finder())
        return
    for one in (module, *(sys.modules[name] for name in _OTHERS if name in sys.modules)):
        one.load_data = load_data  # type: ignore[attr-defined]


class _Finder(importlib.abc.MetaPathFinder):
    """Finds Keras' module where it is, and replaces its function after it has run."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != _MODULE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        return importlib.util.spec_from_loader(name, _Loader(spec.loader), origin=spec.origin)


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        module.load_data = load_data  # type: ignore[attr-defined]


def _read(file: Path) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    try:
        with np.load(file, allow_pickle=False) as stored:
            images, labels, test, expected = (stored[name] for name in _NAMES)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise RuntimeError(
            f"{file} is no NumPy archive with the arrays {', '.join(_NAMES)} ({error}); replace it, or remove it to "
            "train on synthetic images."
        ) from error
    return (images, labels), (test, expected)
