"""The POPTORCH_* variables, POPVISION_CHECK and POPVISION_INDICES. Read where they are used: a script may set them
after the import."""

from __future__ import annotations

import os

#: variable -> meaning
VARIABLES = {
    "POPTORCH_CACHE_DIR": "folder of the executable cache, as Options.enableExecutableCaching",
    "POPTORCH_DEFAULT_OPTIONS": "JSON object of options that every Options starts with",
    "POPTORCH_IPU_MODEL": "1: the IPU Model where Options.useIpuModel does not say",
    "POPTORCH_IPU_MODEL_VERSION": "ipu1, ipu2 or ipu21: what the IPU Model is a model of (ipu2)",
    "POPTORCH_LOG_LEVEL": "TRACE, TRACE_ALL, DEBUG, DEBUG_IR, INFO, WARN, ERR or OFF (WARN)",
    "POPTORCH_SMALL_IPU_MODEL": "1: the IPU Model with 4 tiles per IPU",
    "POPTORCH_WAIT_FOR_IPU": "1: wait for a device where none is free, looking every 15 seconds",
    "POPVISION_CHECK": "torch: compare the first step with eager torch; fail: end the program where they differ",
    "POPVISION_INDICES": "raise: an index beyond its tensor is an error; say: one line tells of it (say)",
}

_VERSIONS = ("ipu1", "ipu2", "ipu21")
_FALSE = ("", "0", "false", "off", "no")


def cache_folder() -> str:
    """POPTORCH_CACHE_DIR; "" where it is not set."""
    return os.environ.get("POPTORCH_CACHE_DIR", "")


def default_options() -> str:
    """POPTORCH_DEFAULT_OPTIONS, a JSON object; "" where it is not set."""
    return os.environ.get("POPTORCH_DEFAULT_OPTIONS", "")


def log_level() -> str:
    """POPTORCH_LOG_LEVEL, in capitals."""
    return os.environ.get("POPTORCH_LOG_LEVEL", "WARN").upper()


def uses_ipu_model() -> bool:
    """Whether programs run on the IPU Model unless they say otherwise."""
    return _is_true("POPTORCH_IPU_MODEL") or uses_small_ipu_model()


def uses_small_ipu_model() -> bool:
    """Whether the IPU Model has 4 tiles per IPU."""
    return _is_true("POPTORCH_SMALL_IPU_MODEL")


def waits_for_ipu() -> bool:
    """Whether a model without a free device waits for one."""
    return _is_true("POPTORCH_WAIT_FOR_IPU")


def check_of_first_step() -> str:
    """POPVISION_CHECK: "torch", "fail", or "" for no check. Raises ValueError for another value."""
    chosen = os.environ.get("POPVISION_CHECK", "")
    if chosen not in ("", "torch", "fail"):
        raise ValueError(f"POPVISION_CHECK is {chosen!r}; it is torch or fail.")
    return chosen


def raises_for_indices() -> bool:
    """Whether an index out of range is an error. Raises ValueError for an unknown value of POPVISION_INDICES."""
    chosen = os.environ.get("POPVISION_INDICES", "say")
    if chosen not in ("say", "raise"):
        raise ValueError(f"POPVISION_INDICES is {chosen!r}; it is say or raise.")
    return chosen == "raise"


def ipu_model_version() -> str:
    """The IPU that the IPU Model is a model of. Raises ValueError for an unknown one."""
    version = os.environ.get("POPTORCH_IPU_MODEL_VERSION", "ipu2")
    if version not in _VERSIONS:
        raise ValueError(f"POPTORCH_IPU_MODEL_VERSION is {version!r}; it is one of {', '.join(_VERSIONS)}.")
    return version


def _is_true(name: str) -> bool:
    return os.environ.get(name, "").strip().lower() not in _FALSE
