"""libpva's names for a graph profile or a host trace.

import popvision.pva as pva
report = pva.openReport("profile.pop")
report.execution.totalCycles.total
"""

from popvision.pva import pva_core
from popvision.pva.pva_core import *  # noqa: F403

__all__ = [*pva_core.__all__, "pva_core"]
