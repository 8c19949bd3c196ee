"""torchvision's name: a torchvision that is installed and imports, else the stand-in for transforms, models, MNIST."""

import importlib
import importlib.machinery
import importlib.util
import sys
from pathlib import Path


def _installed():
    """The installed torchvision, imported; None where there is none or its import fails."""
    own = Path(__file__).resolve().parents[1]
    elsewhere = [entry for entry in sys.path if Path(entry or ".").resolve() != own]
    spec = importlib.machinery.PathFinder.find_spec("torchvision", elsewhere)
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    stand_in = sys.modules[__name__]
    sys.modules[__name__] = module
    try:
        spec.loader.exec_module(module)
    except Exception:
        # A wheel for another build of PyTorch fails with RuntimeError: operator torchvision::nms does not exist.
        for name in [name for name in sys.modules if name == __name__ or name.startswith(__name__ + ".")]:
            del sys.modules[name]
        sys.modules[__name__] = stand_in
        return None
    return module


if _installed() is None:
    for _name in ("datasets", "models", "transforms"):
        _module = importlib.import_module(f"simulator.frontends.torchvision.{_name}")
        sys.modules[f"{__name__}.{_name}"] = _module
        globals()[_name] = _module

    __version__ = "0.0.0+stand.in"

    def __getattr__(name):
        raise AttributeError(
            f"torchvision's stand-in has no {name!r}: it has transforms, datasets.MNIST, FashionMNIST and some models. "
            "Install the torchvision that belongs to your PyTorch."
        )
