"""The name `pva` for existing scripts: popvision.pva."""

import sys

from popvision.pva import *
from popvision.pva import pva_core

sys.modules[__name__ + ".pva_core"] = pva_core
