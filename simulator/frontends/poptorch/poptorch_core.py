"""poptorch.poptorch_core: the exceptions that programs import from PopTorch's C++ part."""

from simulator.frontends.poptorch.errors import Error, RecoverableError, UnrecoverableError

__all__ = ["Error", "RecoverableError", "UnrecoverableError"]
