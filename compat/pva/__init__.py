"""libpva's names for a graph profile or a host trace, under the name of existing scripts: popvision.pva.

import pva
report = pva.openReport("profile.pop", "debug.cbor")
report.execution.totalCycles.total

Every name is described in docs/pva.md.
"""

import sys

from popvision.pva import *
from popvision.pva import __all__ as __all__
from popvision.pva import pva_core

sys.modules[__name__ + ".pva_core"] = pva_core
