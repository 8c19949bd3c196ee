"""The number of threads of the BLAS that NumPy brings along.

NumPy has no function for it, so the two functions of OpenBLAS are called through ctypes. They count for the process."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

#: (prefix, suffix) of OpenBLAS's functions: in NumPy's wheels, and in older ones
_SYMBOLS = (("scipy_", "64_"), ("", "64_"), ("scipy_", ""), ("", ""))
#: of the shared libraries, beside NumPy's package or in it
_FOLDERS = ("../numpy.libs", ".dylibs", ".libs")


class ThreadFunctions(NamedTuple):
    """OpenBLAS's functions that read and set the number of threads."""

    get: Callable[[], int]
    set: Callable[[int], Any]


class _Users:
    """Those who want one thread: how many there are, and the number of threads to restore after the last."""

    lock = Lock()
    count = 0
    before = 1


@cache
def thread_functions() -> ThreadFunctions | None:
    """The functions of the OpenBLAS that NumPy has loaded; None where it has another BLAS."""
    package = Path(np.__file__).parent
    for path in (file for folder in _FOLDERS for file in sorted((package / folder).glob("*openblas*"))):
        try:
            library = ctypes.CDLL(str(path))
        except OSError:
            continue
        for prefix, suffix in _SYMBOLS:
            get = getattr(library, f"{prefix}openblas_get_num_threads{suffix}", None)
            set_ = getattr(library, f"{prefix}openblas_set_num_threads{suffix}", None)
            if get is not None and set_ is not None:
                set_.argtypes, set_.restype, get.restype = [ctypes.c_int], None, ctypes.c_int
                return ThreadFunctions(get, set_)
    return None


def can_be_set() -> bool:
    """Whether NumPy's BLAS takes a number of threads from here."""
    return thread_functions() is not None


@contextmanager
def in_one_thread() -> Iterator[None]:
    """BLAS computes in the calling thread meanwhile, if `can_be_set`. Several threads may do so at once."""
    functions = thread_functions()
    if functions is None:
        yield
        return
    with _Users.lock:
        if _Users.count == 0:
            _Users.before = functions.get()
            functions.set(1)
        _Users.count += 1
    try:
        yield
    finally:
        with _Users.lock:
            _Users.count -= 1
            if _Users.count == 0:
                functions.set(_Users.before)
