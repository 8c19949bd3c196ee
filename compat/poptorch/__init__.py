"""PopTorch's names on the simulated IPU, from `simulator.frontends.poptorch`; docs/poptorch.md says what each does."""

import sys

from simulator.frontends import poptorch as _poptorch
from simulator.frontends.poptorch import *
from simulator.frontends.poptorch import __all__ as __all__
from simulator.frontends.poptorch import poptorch_core as poptorch_core

__version__ = "3.4.0"

for _name in ("enums", "optim", "options", "poptorch_core", "profiling"):
    _module = getattr(_poptorch, _name)
    sys.modules[f"{__name__}.{_name}"] = _module
    globals()[_name] = _module
