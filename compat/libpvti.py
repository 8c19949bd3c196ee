"""libpvti's names, from `popvision.pvti`."""

from popvision.pvti import *
from popvision.pvti import __all__ as __all__
