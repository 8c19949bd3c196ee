"""Keeps Python codelets from hiding floating-point errors that their program stops at.

Tiles have no counterpart of `np.errstate`: an invalid operation stops them wherever it is. While a codelet runs under
flags that stop, its own `np.errstate` and `np.seterr` therefore have no say about these errors. NumPy's functions keep
theirs (np.isclose subtracts infinities on purpose), and so do this package's kernels.

All three forms, the decorator included, make their settings in one function of NumPy, which is replaced by one that
asks first. NumPy has no public hook for it.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from simulator.codelets.float_state import FloatState, current

_thread = threading.local()

#: Packages whose code may ignore errors.
_EXEMPT = ("numpy", "simulator")

_MODULE, _FUNCTION = "numpy._core._ufunc_config", "_make_extobj"


@contextmanager
def codelet_running() -> Iterator[None]:
    """Around the code of a codelet. Costs a look at three flags where no error stops the program."""
    state = current()
    if not state.stops():
        yield
        return
    _install()
    _thread.state = state
    try:
        yield
    finally:
        _thread.state = None
        state.apply()  # a codelet may have changed the other errors with np.seterr


@functools.cache
def _install() -> None:
    """Once per process, when a codelet first runs under flags that stop."""
    module: Any = importlib.import_module(_MODULE)
    make = getattr(module, _FUNCTION)

    @functools.wraps(make)
    def make_settings(**settings: Any) -> Any:
        state: FloatState | None = getattr(_thread, "state", None)
        if state is not None and not _asked_by_exempt_code(sys._getframe(1)):
            settings |= state.stops()
        return make(**settings)

    setattr(module, _FUNCTION, make_settings)


def _asked_by_exempt_code(frame: FrameType | None) -> bool:
    """Whether the code that uses np.errstate or np.seterr, the first outside NumPy's module of them, is exempt."""
    while frame is not None and frame.f_globals.get("__name__") == _MODULE:
        frame = frame.f_back
    return frame is None or str(frame.f_globals.get("__name__")).split(".")[0] in _EXEMPT
