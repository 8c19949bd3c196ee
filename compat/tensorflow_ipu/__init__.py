"""`tensorflow.python.ipu` beside a stock TensorFlow; names only."""

import importlib
from importlib.util import find_spec

from simulator.frontends.tensorflow import datasets

datasets.install()
if find_spec("tensorflow.python.client") is not None:  # sessions that are made from here on know the IPU
    from simulator.frontends.tensorflow.graph_programs import install

    install()


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
        raise AttributeError(f"module '{__name__}' has no '{name}' here; docs/tensorflow.md lists its names") from None
